"""Times near ±2^62 ticks, offsets, windows and precisions near 2^59: nothing wraps."""

import signal
from collections.abc import Iterator
from functools import cache

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import NO_STRATEGIES
from tests.plain import held, listed, steps
from tests.random.sparse_oracle import Case, Events, Point, Stretch, snapshots
from tiltpy.types import TDom

FAR, LONG = 2**62, 2**59


def maximum(values: list[int]) -> int | None:
    return max(values, default=None)


def total(values: list[int]) -> int | None:
    return sum(values) if values else None


def cases(precision: int) -> list[Case]:
    """References as far as a precision lets them look."""
    ahead = LONG - precision
    found = [
        Case("~x[t]", Point(0), total),
        Case("~x[t] * 2", Point(0), lambda v: 2 * v[0] if v else None),
        Case("exists(~x[t-3]) ? 1 : 0", Point(-3), len),
        Case(f"~x[t - {LONG}]", Point(-LONG), total),
        Case("count(~x[t-2:t])", Stretch(-2, 0), len),
        Case(f"max(~x[t - {LONG} : t])", Stretch(-LONG, 0), maximum),
    ]
    if ahead > 1:
        window = f"sum(~x[t - {LONG} : t + {ahead}])"
        found += [
            Case(f"~x[t + {ahead}]", Point(ahead), total),
            Case(window, Stretch(-LONG, ahead), total),
            Case(f"max(~x[t + 1 : t + {ahead}])", Stretch(1, ahead), maximum),
        ]
    return found


STREAMS: dict[str, Events] = {
    "none": [],
    "one": [(5, 9, 1)],
    "late": [(FAR - 9, FAR - 5, 1)],
    "gaps": [(-FAR, -FAR + 5, 1), (-FAR + 5, 0, 2), (3, 9, 3), (FAR - 7, FAR, 4)],
    "contiguous": [(-FAR, -5, 1), (-5, 0, 2), (0, FAR - 3, 3), (FAR - 3, FAR, 4)],
    "overlapping": [
        (-FAR, FAR, 1), (-FAR + 3, 5, 2), (-2, FAR - 2, 3), (FAR - 5, FAR, 4)
    ],
}  # fmt: skip
GRIDS = [
    (1, 0), (2, 0), (3, 1), (5, 2), (13, 10), (12345678901234567, 6172839450617283),
    (LONG // 2 - 1, 0), (LONG - 1, 12345), (LONG, 0), (LONG, 7),
]  # fmt: skip
"""Of 5 and 13 the whole domain is longer than the largest integer."""
DOMAINS = [(None, None), (-FAR, FAR), (-FAR, 0), (0, FAR), (FAR - 20, FAR)]


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A loop that wraps goes on for ever, and holds on to the process: end that."""
    signal.alarm(120)
    yield
    signal.alarm(0)


@cache
def parsed(text: str, options: tilt.CompileOptions) -> tilt.CompiledQuery:
    """Make the same query for all streams."""
    return tilt.parse(text, options=options)


@pytest.mark.covering(1)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("precision", "offset"), GRIDS)
def test_times_at_the_ends_of_time(stream: str, precision: int, offset: int) -> None:
    events, tdom = STREAMS[stream], TDom(None, None, precision, offset)
    domain = f"t = TDom(-∞, ∞, {precision}, offset={offset})"
    options = [
        tilt.CompileOptions(),
        tilt.CompileOptions(disabled_strategies=NO_STRATEGIES),
    ]
    for case in cases(precision):
        text = f"input x : i64\n{domain}\n~o[t] = {case.text}"
        for option, chunk in zip(options, (None, 2**61 - 12345), strict=True):
            query = parsed(text, option)
            for start, end in DOMAINS:
                frame = held(events, "i64")
                found = query.run(x=frame, start=start, end=end, chunk=chunk)
                expected = snapshots(case, events, tdom, start, end)
                assert listed(found) == expected, (case.text, start, end)


def test_samples_at_the_ends_of_time() -> None:
    period = FAR // 4
    rows = [(-FAR + i * period, -FAR + (i + 1) * period, i) for i in range(8)]
    query = tilt.parse("input x : i64\n~o[t] = ~x[t]")
    assert listed(query.run(x=held(rows, "i64"))) == rows
    coarse = f"input x : i64\nt = TDom(-∞, ∞, {LONG})\n~o[t] = ~x[t]"
    assert listed(tilt.parse(coarse).run(x=held(rows, "i64"))) == rows
    short = [(FAR - 8 + i, FAR - 7 + i, i) for i in range(8)]
    window = tilt.parse("input x : i64\n~o[t] = sum(~x[t-3:t])")
    sums = [0, 1, 3, 6, 9, 12, 15, 18]
    expected = [(s, e, v) for (s, e, _), v in zip(short, sums, strict=True)]
    assert listed(window.run(x=held(short, "i64"), chunk=3)) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": FAR + 1}, r"start=\d+ of ~o lies beyond ±2\*\*62 ticks"),
        ({"end": -FAR - 1}, r"end=-\d+ of ~o lies beyond ±2\*\*62 ticks"),
        ({"start": 10**30}, r"start=10+ of ~o lies beyond"),
        ({"end": 10**30}, r"end=10+ of ~o lies beyond"),
        ({"start": 3, "end": 2}, "start=3 is later than end=2"),
    ],
)
@pytest.mark.parametrize("lifetime", ["point", "until_next"])
def test_domains_beyond_time(
    arguments: dict[str, int], message: str, lifetime: str
) -> None:
    query = tilt.parse(f"input x : i64 time time {lifetime}\n~o[t] = ~x[t]")
    frame = pa.table({"time": [1, 2], "x": [1, 2]})
    with pytest.raises(tilt.DataError, match=message):
        query.run(x=frame, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lifetime", "stamp"),
    [
        ("point", -FAR), ("duration 10", FAR), ("sampled 10", -FAR + 5),
        ("until_next max 5", FAR + 1), ("point", FAR + 1), ("point", 2**63 - 1),
        ("point", -(2**63)),
    ],
)  # fmt: skip
def test_stamps_beyond_time_name_the_row(lifetime: str, stamp: int) -> None:
    query = tilt.parse(f"input x : i64 time time {lifetime}\n~o[t] = ~x[t]")
    stamps = sorted([0, stamp])
    frame = pa.table({"time": pa.array(stamps, pa.int64()), "x": [1, 2]})
    with pytest.raises(tilt.DataError, match="too far from 0") as caught:
        query.run(x=frame)
    error = caught.value
    place = error.input, error.column, error.row
    assert place == ("x", "time", stamps.index(stamp))


@pytest.mark.parametrize(
    "text",
    [
        f"~o[t] = ~x[t - {LONG + 1}]",
        f"~o[t] = sum(~x[t - {LONG + 1} : t])",
        f"t = TDom(-∞, ∞, {LONG + 1})\n~o[t] = ~x[t]",
        f"t = TDom(0, {FAR + 1}, 1)\n~o[t] = ~x[t]",
        f"~a[t] = ~x[t - {LONG - 5}]\n~o[t] = ~a[t-6]",
    ],
)
def test_queries_that_look_beyond_time(text: str) -> None:
    with pytest.raises(tilt.QueryError) as caught:
        tilt.parse(f"input x : i64\n{text}").run(x=steps([1], "i64"))
    assert caught.value.code == "E0302"
