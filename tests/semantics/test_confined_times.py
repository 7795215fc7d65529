"""Objects that use the time as a number where a condition holds, and are φ elsewhere.

A loop over them follows the condition, not the span: rows may be years apart.
"""

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import Setting, random_setting, run_compiled
from tests.engines.test_out_of_core import run_streamed
from tests.random.confined_times import STEP, random_confined_case, spread
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.passes.check_windows import check_windows

CASES, BATCH, DEEPER = 4, 4, 750
FAR = 1_000_000 * STEP


def check(seed: int) -> bool:
    """Tell whether it is a query: a window must have a beginning."""
    case = random_confined_case(seed)
    assert parse(format_query(case.query)) == case.query
    try:
        check_windows(case.query)
    except tilt.QueryError:
        return False
    expected = interpret(case.query, case.events)
    random = Random(seed)  # noqa: S311 - tests, not secrets
    setting = random_setting(random, span=80)
    for found in (run_compiled(case, setting), run_streamed(case, setting, random)):
        try:
            assert_same(found, expected, case.query, exact=True)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {setting}\n{error}") from None
    setting = replace(setting, chunk=None, nulls=None)
    near, far = (
        run_compiled(spread(case, seed, step), setting) for step in (STEP, FAR)
    )
    moved = {name: list(map(_nearer, found)) for name, found in far.items()}
    assert moved == near, f"seed {seed}, {setting}\n{format_query(case.query)}"
    return True


def _nearer(snapshot: Snapshot) -> Snapshot:
    start, end, value = snapshot
    start, end = (time - round(time / FAR) * (FAR - STEP) for time in (start, end))
    return Snapshot(start, end, value)


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_queries(batch: int, *, deep: bool) -> None:
    checked = 0
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        checked += sum(map(check, range(first, first + BATCH)))
    assert checked > BATCH // 2


HEAD = "unit s\ninput x : f64 time time point\n"
BEGINS = "~begin[t] = ~first[t] ? t : φ\n"
SESSIONS = "~first[t] = exists(~x[t]) && !exists(~x[last : <t within 9])\n"
STAMPS = [1, 2, 4, 10**9, 10**9 + 3, 7 * 10**10]
STARTS = [0, 10**9 - 1, 7 * 10**10 - 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("last(~begin[-∞ : t])", [1, 10**9, 7 * 10**10]),
        ("~begin[last : t]", [1, 10**9, 7 * 10**10]),
        ("max(~begin[t-5 : t])", [1, 10**9, 7 * 10**10]),
        ("count(~begin[-∞ : t])", [0, 1, 2, 3]),
    ],
)
def test_starts_of_sessions_years_apart(text: str, expected: list[int]) -> None:
    query = tilt.parse(f"{HEAD}{SESSIONS}{BEGINS}~o[t] = {text}\noutput ~o\n")
    table = pa.table({"time": pa.array(STAMPS, pa.timestamp("s")), "x": [1.0] * 6})
    found = query.run(x=table)["o"].to_arrow()
    batches = iter([table.slice(row, 1) for row in range(len(STAMPS))])
    parts = [part["o"].to_arrow() for part in query.stream(x=batches)]
    assert pa.concat_tables(parts).equals(found.combine_chunks())
    assert found["o"].to_pylist() == expected[-found.num_rows :]
    assert found["start"].cast("int64").to_pylist()[-3:] == STARTS


@pytest.mark.parametrize("chunk", [1, 3, None])
def test_what_is_not_true_has_a_start(chunk: int | None) -> None:
    """A bool is false beyond the last row, too, and so there since some time."""
    query = parse(
        "input m : f64\ndistinct ~s[t] = ~m[t+1] != φ\n~o[t] = t - start(~s[t])"
    )
    events = [Event(0, 4, 1.0), Event(9, 12, 2.0)]
    case = Case(query, {"m": events}, None, None)
    expected = interpret(query, case.events)
    for special in (True, False):
        setting = Setting(chunk=chunk, special_shapes=special)
        found = run_compiled(case, setting)
        assert_same(found, expected, query, exact=True)


def test_a_condition_that_holds_long_makes_a_snapshot_a_tick() -> None:
    text = "~first[t] = ~x[last : t] > 0\n"
    query = tilt.parse(f"{HEAD}{text}{BEGINS}~o[t] = last(~begin[-∞ : t])\noutput ~o\n")
    table = pa.table({"time": pa.array(STAMPS, pa.timestamp("s")), "x": [1.0] * 6})
    with pytest.raises(tilt.DataError, match="coarser precision"):
        query.run(x=table)
