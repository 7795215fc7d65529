"""Windows at the events of a point stream: one visit an event.

Against the interpreter, over more events than a loop looks ahead, in chunks and whole.
"""

from functools import partial
from random import Random

import pytest

from tests.compiled import Setting
from tests.lowering.sweep.test_tumbling_rows import STREAMS, points
from tests.plain import check_engines
from tests.plan.shapes import Census
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.aggregates.central_moments import ORDERS
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.frontend.parse import parse
from tiltpy.ops import REDUCTIONS

QUERIES = {
    "sum": "~o[t] = ~x[t] != φ ? sum(~x[t-30 : t]) : φ",
    "largest": "~o[t] = ~x[t] - max(~x[t-7 : t])",
    "of the past": "~o[t] = ~x[t] - mean(~x[t-31 : t-1])",
    "of the future": "~o[t] = ~x[t] - mean(~x[t+1 : t+20])",
    "at another time": "~o[t] = ~x[t-4] * count(~x[t-30 : t])",
    "some": "~o[t] = ~x[t] + sum(v for v in ~x[t-50 : t] if v > 1)",
    "how many": "~o[t] = ~x[t] != φ ? count(v for v in ~x[t-9 : t] if v < 0) : φ",
    "two": "~o[t] = ~x[t] != φ ? mean(~x[t-20 : t]) > mean(~x[t-50 : t]) : φ",
    "ends": "~o[t] = ~x[t] - first(~x[t-30 : t]) + last(~x[t-30 : t-10])",
    "kept": "~o[t] = ~x[t] > mean(~x[t-25 : t]) ? ~x[t] : φ",
    "another stream": "~o[t] = ~x[t] + last(~y[t-40 : t])",
    "both": "~o[t] = ~x[t] + sum(~x[t-40 : t]) * count(~y[t-10 : t+5])",
}
WAYS = (
    Setting(points=True, vector=False),
    Setting(points=True, vector=False, chunk=70, workers=2),
    Setting(points=True),
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("other", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_at_events(query: str, other: str) -> None:
    random = Random(f"{query} {other}")  # noqa: S311
    text = f"input x : f64\ninput y : f64\n{QUERIES[query]}\noutput ~o"
    for count, others in ((1, 0), (5, 4), (9, 90), (100, 60)):
        y = STREAMS[other](random, others)
        check_engines(text, {"x": points(random, count), "y": y}, settings=WAYS)


STAMPS = {
    "the first": "~o[t] = ~x[t] != φ ? t - first(~time[t-30 : t]) : φ",
    "restarts": "~o[t] = ~x[t] != φ ? first(~time[since ~up : t]) : φ",
    "counted": "~o[t] = ~x[t] != φ ? count(~time[t-50 : t]) : φ",
    "seen from another": "~o[t] = ~y[t] != φ ? max(~time[t-40 : t-2]) : φ",
    "beside values": "~o[t] = ~x[t] + sum(v % 7 for v in ~time[t-20 : t])",
    "where it was": "~o[t] = ~x[t] - ~time[t-3]",
}


@pytest.mark.parametrize("also", ["", "output ~time"])
@pytest.mark.parametrize("query", STAMPS)
def test_times_of_events_are_not_written_to_be_read(query: str, also: str) -> None:
    random = Random(f"{query} {also}")  # noqa: S311
    text = f"""input x : f64
input y : f64
~time[t] = ~x[t] != φ ? t : φ
~up[t] = ~x[t] > 1
{STAMPS[query]}
output ~o
{also}
"""
    for count, others in ((1, 0), (9, 90), (100, 60)):
        y = STREAMS["points"](random, others)
        check_engines(text, {"x": points(random, count), "y": y}, settings=WAYS)


NAMES = [
    rule.name
    for rule in REDUCTIONS.values()
    if not (rule.whole or rule.picks_row or rule.result == "bool")
]


def short_query(random: Random) -> str:
    """Reductions of windows of a few ticks, which end at the event or before.

    What rounds is folded in lanes up to the event, moments of fewer rows.
    """

    def window(name: str) -> str:
        exact = name in ("count", "min", "max", "any", "all")
        end = random.choice((0, 0, 1, 2, 5)) if exact else 0
        most = DEFAULT_COSTS.event_moments if name in ORDERS else 16 - end
        return f"~x[t-{end + random.randint(1, most)} : t-{end}]"

    def reduction() -> str:
        name = random.choice(NAMES)
        of = random.choice(("", "", "abs(v) for v in ", "v * 2 for v in "))
        some = of and random.choice(("", " if v > 0"))
        return f"{name}({of}{window(name)}{some})"

    body = random.choice(
        (
            "~x[t] != φ ? {} : φ",
            "~x[t] - {}",
            "~x[t] > {} ? ~x[t] : φ",
            "~x[t] > {} + 2 * {}",
            "~x[t] != φ ? {{ a = {}, b = {}, x = ~x[t] }} : φ",
        )
    )
    filled = body.format(reduction(), reduction())
    scalar = random.choice(("f32", "f64", "i32"))
    return f"input x : {scalar}\n~o[t] = {filled}\noutput ~o"


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(16))
def test_short_windows_in_lanes(seed: int) -> None:
    """Sixteen events at once, but for the first of a chunk and the last."""
    random = Random(seed)  # noqa: S311
    text = short_query(random)
    integral = "i32" in text
    census = Census()
    for count in (35, 120):
        rows = points(random, count)
        x = [(s, e, int(v * 8) if integral else v) for s, e, v in rows]
        census.run(partial(check_engines, text, {"x": x}, settings=WAYS))
    assert census.counts["sweep: events in lanes"] == 2


def test_strings_and_flags_at_events_in_lanes() -> None:
    text = """\
input x : { name: string, price: f32, sold: bool }
~o[t] = ~x[t].name == "a" ? { name = ~x[t].name,
    sold = sum(v.sold for v in ~x[t-9 : t]), dear = max(~x[t-9 : t-1].price) } : φ
output ~o"""
    random = Random(1)  # noqa: S311
    rows = [
        (s, e, {"name": random.choice("abc"), "price": v, "sold": v > 0})
        for s, e, v in points(random, 150)
    ]
    census = Census()
    census.run(partial(check_engines, text, {"x": rows}, settings=WAYS))
    assert census.counts["sweep: events in lanes"]


POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)


@pytest.mark.parametrize(
    ("body", "apart", "grid"),
    [
        ("~o[t] = ~x[t] - sum(~x[t-500 : t])", 1, False),
        ("~o[t] = ~x[t] - sum(~x[t-500 : t])", 0, True),
        ("~o[t] = ~x[t] - sum(~x[t-20 : t])", 1, False),
        ("~o[t] = ~x[t] - sum(~x[t-20 : t])", 0, True),
        ("~o[t] = ~x[t] - sum(~x[t-50 : t])", 1, False),
        ("~o[t] = ~x[t] - first(~x[t-5 : t])", 1, False),
        ("~o[t] = ~x[t] - std(~x[t-20 : t])", 1, False),
        ("~o[t] = ~x[t] - sum(~x[t-20 : t]) - max(~x[t-50 : t])", 1, True),
        ("~o[t] = ~x[t] - sum(~x[t-20 : t]) - max(~x[t-50 : t])", 2, False),
        ("~o[t] = max(~x[t-500 : t])", 1, False),
        ("~o[t] = max(~x[t-50 : t])", 1, True),
    ],
)
def test_which_are_swept(body: str, apart: int, *, grid: bool) -> None:
    """Points that are some ticks apart, and windows that are long."""
    found = QueryKernels(
        parse(f"input x : f32\n{body}"), {"x": POINTS}, CompileOptions()
    )
    sampling_grids = {"x": SamplingGrid(1, 0, apart=apart)}
    assert (found.vector_code(sampling_grids) is not None) == grid
