"""Windows without a fixed length: all the past, last rows, restarts, as-of looks."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import Setting, random_setting, run_compiled, snapshots
from tests.random.events import random_event_case, random_event_setting
from tests.random.open_windows import open_windows, random_open_case
from tests.random.queries import Case
from tests.random.row_queries import random_row_case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.print.query import format_query

CASES = 8
BATCH = 8
DEEPER = 360


Draw = Callable[[int], Case | None]
open_setting = partial(random_setting, span=80)


def check(
    seed: int,
    draw: Draw = random_open_case,
    draw_setting: Callable[[Random], Setting] = open_setting,
) -> bool:
    case = draw(seed)
    if case is None:
        return False
    text = format_query(case.query)
    assert parse(text) == case.query, text
    expected = interpret(
        case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
    )
    setting = draw_setting(Random(seed))  # noqa: S311
    results = run_compiled(case, setting)
    for name in case.query.outputs:
        difference = first_difference(
            results[name], expected[name], case.query, name, exact=True
        )
        said = f"open seed {seed}, {setting}\n{difference}\n{text}"
        assert difference is None, said
    return True


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_queries_with_open_windows(batch: int, *, deep: bool) -> None:
    checked = 0
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        checked += sum(map(check, range(first, first + BATCH)))
    assert checked > BATCH // 5


def random_open_row_case(seed: int) -> Case | None:
    return open_windows(random_row_case(seed, exact=True), seed)


def test_random_queries_over_rows_with_open_windows(*, deep: bool) -> None:
    seeds = range(CASES * DEEPER if deep else CASES // 2)
    assert sum(check(seed, random_open_row_case) for seed in seeds) > len(seeds) // 8


def random_open_event_case(seed: int) -> Case | None:
    return open_windows(random_event_case(seed, exact=True), seed)


def check_events(seed: int) -> bool:
    return check(seed, random_open_event_case, random_event_setting)


def test_random_queries_at_events_with_open_windows(*, deep: bool) -> None:
    seeds = range(CASES * DEEPER if deep else CASES // 2)
    assert sum(map(check_events, seeds)) > len(seeds) // 8


ROWS = {1: 4.0, 3: 1.0, 4: 6.0, 9: 2.0, 10: 5.0}
HEAD = "unit s\ninput x : f64 point\n"
EXPECTED: dict[str, list[tuple[int, int, object]]] = {
    "~o[t] = start(~x[last : t])": [
        (0, 2, 0), (2, 3, 2), (3, 8, 3), (8, 9, 8), (9, 10, 9)
    ],
    "~o[t] = ~x[t] - ~x[last : <t]": [
        (2, 3, -3.0), (3, 4, 5.0), (8, 9, -4.0), (9, 10, 3.0)
    ],
    "~o[t] = ~x[t : next within 2]": [
        (0, 1, 4.0), (1, 3, 1.0), (3, 4, 6.0), (6, 9, 2.0), (9, 10, 5.0)
    ],
    "~o[t] = ~x[nearest t within 2]": [
        (0, 2, 4.0), (2, 3, 1.0), (3, 6, 6.0), (6, 9, 2.0), (9, 10, 5.0)
    ],
    "~o[t] = ~x[t] != φ ? sum(~x[-∞ : t]) : φ": [
        (0, 1, 4.0), (2, 3, 5.0), (3, 4, 11.0), (8, 9, 13.0), (9, 10, 18.0)
    ],
    "~o[t] = ~x[t] != φ ? mean(~x[last 2 : t]) : φ": [
        (0, 1, 4.0), (2, 3, 2.5), (3, 4, 3.5), (8, 9, 4.0), (9, 10, 3.5)
    ],
    "~c[t] = ~x[t] > 5\n~o[t] = ~x[t] != φ ? count(~x[since ~c : t]) : φ": [
        (0, 1, 0), (2, 3, 0), (3, 4, 1), (8, 9, 2), (9, 10, 3)
    ],
    "~c[t] = ~x[t] > 5\n~o[t] = ~x[t] != φ ? sum(~x[after ~c : t]) : φ": [
        (8, 9, 2.0), (9, 10, 7.0)
    ],
    "~c[t] = ~x[t] > 99\n~o[t] = ~x[t] != φ ? count(~x[since ~c : t]) : φ": [
        (0, 1, 0), (2, 3, 0), (3, 4, 0), (8, 9, 0), (9, 10, 0)
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", EXPECTED)
def test_open_windows_by_hand(text: str) -> None:
    query = tilt.parse(f"{HEAD}{text}\noutput ~o\n")
    table = pa.table({"time": pa.array(ROWS, pa.timestamp("s")), "x": ROWS.values()})
    result = query.run(x=table).to_arrow()
    columns = [result["start"].cast("int64"), result["end"].cast("int64"), result["o"]]
    got = list(zip(*(column.to_pylist() for column in columns), strict=True))
    assert got == EXPECTED[text]


def test_all_the_past_of_a_count_has_no_beginning() -> None:
    text = "~n[t] = count(~x[t-5 : t])\n~o[t] = sum(~n[-∞ : t])\noutput ~o\n"
    query = tilt.parse(HEAD + text)
    table = pa.table({"time": pa.array(ROWS, pa.timestamp("s")), "x": ROWS.values()})
    with pytest.raises(tilt.QueryError, match="before the first row") as caught:
        query.run(x=table)
    assert caught.value.code == "E0109"


def test_open_windows_in_python() -> None:
    x, t = tilt.source("x", tilt.f64, tilt.point()), tilt.TDom(precision="1s")
    big = tilt.define("big", t, x[t] > 5)
    values = {
        "a": tilt.sum(x[:t]),
        "b": tilt.mean(x[tilt.last_rows(3) : t - "2s"]),
        "c": tilt.sum(x[tilt.since(big) : t]),
        "d": tilt.count(x[tilt.after(big) : t : "5s"]),
        "e": x["last":t],
        "f": x[t:"next":"5m"],
        "g": x["last" : tilt.strict(t)],
        "h": tilt.start(x["last":t]),
        "i": x["nearest":t],
        "j": x["nearest" : t - "1s" : "5s"],
        "k": tilt.sum(x[-float("inf") : t - "1s"]),
    }
    objects = [tilt.define(name, t, value) for name, value in values.items()]
    text = """unit s
        input x : f64 point
        ~big[t] = ~x[t] > 5
        ~a[t] = sum(~x[-∞ : t])
        ~b[t] = mean(~x[last 3 : t-2s])
        ~c[t] = sum(~x[since ~big : t])
        ~d[t] = count(~x[after ~big : t within 5s])
        ~e[t] = ~x[last : t]
        ~f[t] = ~x[t : next within 5m]
        ~g[t] = ~x[last : <t]
        ~h[t] = start(~x[last : t])
        ~i[t] = ~x[nearest t]
        ~j[t] = ~x[nearest t-1s within 5s]
        ~k[t] = sum(~x[-∞ : t-1s])
        output ~a, ~b, ~c, ~d, ~e, ~f, ~g, ~h, ~i, ~j, ~k"""
    made, parsed = tilt.compile(*objects).query, tilt.parse(text).query
    assert set(made.definitions) == set(parsed.definitions)


def test_since_takes_an_object_in_python() -> None:
    x, t = tilt.source("x", tilt.f64), tilt.TDom()
    with pytest.raises(tilt.QueryError, match="temporal object of bools"):
        tilt.sum(x[tilt.since(x[t] > 5) : t])  # type: ignore[arg-type]


LOOKS = (
    "~x[last : t]", "~x[last : <t].n", "~x[t : next within 3].s", "~x[nearest t]",
    "~d[last : t within 2]", "~d[t : next].k",
)  # fmt: skip


@pytest.mark.parametrize("over", ["t", "e"])
@pytest.mark.parametrize("look", LOOKS)
def test_looks_at_structs(look: str, over: str) -> None:
    seen = re.sub(r"\bt\b", over, look)
    query = tilt.parse(
        "input x : { n: f64, s: string } time time point\n"
        "~d[t] = ~x[t] != φ ? { m = ~x[t].n * 2.0, k = ~x[t].s } : φ\n"
        "e = Rows(~x)\n"
        f"~o[{over}] = {seen}\n"
        "output ~o\n"
    )
    stamps, numbers, words = [1, 3, 7, 7], [1.0, None, 3.0, 4.0], ["a", "b", None, "d"]
    rows = zip(stamps, numbers, words, strict=True)
    events = [Event(t - 1, t, {"n": n, "s": s}) for t, n, s in rows]
    table = pa.table({"time": stamps, "n": numbers, "s": words})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilt.TiltWarning)  # of rows that are hidden
        found = query.run(x=table)["o"]
    assert snapshots(found) == interpret(query.query, {"x": events})["o"]
