"""Reductions that see where open windows cut snapshots: `area(~x[since ~c : t])`.

Random queries against the interpreter, with every way to run them; by hand, by key, and
in streams.
"""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import Setting, random_setting, run_compiled
from tests.random.cut_windows import random_cut_case
from tests.random.held_rows import with_held_rows
from tests.random.queries import Case
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 8, 8, 380


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_cuts(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_cut_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            if seed % 4 == 1:
                case = with_held_rows(case, seed)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


HEAD = """
reduction held(v: f64, start, end) { init = 0 acc = state + end - start result = state }
reduction newest(v: f64, start, end) { init = i64(φ) acc = start result = state }
~c[t] = ~x[t] > 2
"""
ROWS = [Event(0, 1, 1.0), Event(2, 5, 3.0), Event(5, 7, 2.0)]
BY_HAND = {
    "held(~x[-∞ : t])": [
        (0, 2, 1), (2, 3, 2), (3, 4, 3), (4, 5, 4), (5, 6, 5), (6, 8, 6)
    ],
    "held(~x[since ~c : t])": [(2, 3, 1), (3, 4, 2), (4, 5, 3), (5, 6, 4), (6, 8, 5)],
    "held(~x[after ~c : t])": [(5, 6, 1), (6, 8, 2)],
    "held(~x[last 1 : t])": [
        (0, 2, 1), (2, 3, 1), (3, 4, 2), (4, 5, 3), (5, 6, 1), (6, 8, 2)
    ],
    "held(~x[since ~c : t within 2])": [
        (2, 3, 1), (3, 4, 2), (4, 5, 2), (5, 6, 2), (6, 7, 2), (7, 8, 1)
    ],
    "newest(~x[since ~c : t])": [(2, 3, 2), (3, 4, 2), (4, 5, 2), (5, 6, 5), (6, 8, 5)],
}  # fmt: skip
"""An edge that cuts another piece off makes another snapshot."""


@pytest.mark.parametrize("text", BY_HAND)
def test_cuts_by_hand(text: str) -> None:
    query = parse(f"input x : f64 interval{HEAD}~o[t] = {text}\noutput ~o")
    case = Case(query, {"x": ROWS}, 0, 8)
    for setting in (Setting(optimize=False), Setting(chunk=3, optimize=False)):
        (found,) = run_compiled(case, setting).values()
        assert found == [Snapshot(*row) for row in BY_HAND[text]]


WINDOWS = (
    "~x[-∞ : t]", "~x[since ~c : t]", "~x[after ~c : t within 30]", "~x[last 9 : t]",
)  # fmt: skip


def shifts(rows: int) -> pa.Table:
    """Intervals of four keys, none over another."""
    random = np.random.default_rng(5)
    starts = np.cumsum(random.integers(1, 5, rows))
    ends = np.append(np.minimum(starts[:-1] + 3, starts[1:]), starts[-1] + 2)
    values = random.integers(-9, 9, rows) / 4
    keys = random.integers(0, 4, rows)
    return pa.table({"start": starts, "end": ends, "k": keys, "x": values})


def query_of(window: str, by: str = "") -> tilt.CompiledQuery:
    fields = f"held({window}), n = newest({window})"
    body = f"~o[t] = ~x[t] != φ ? {{ h = {fields} }} : φ"
    return tilt.parse(f"input x{by} : f64 interval{HEAD}{body}\noutput ~o")


@pytest.mark.parametrize("window", WINDOWS)
def test_by_key_and_in_streams_as_in_runs(window: str) -> None:
    table = shifts(400)
    keyed, alone = query_of(window, " by k"), query_of(window)
    found = keyed.run(x=table, check_reductions=True).to_arrow()
    for key in range(4):
        of_key = table.filter(pa.array(np.array(table["k"]) == key))
        rows = found.filter(pa.array(np.array(found["k"]) == key)).drop(["k"])
        assert rows.to_pylist() == alone.run(x=of_key).to_arrow().to_pylist()
    batches = (table.slice(start, 40) for start in range(0, 400, 40))
    streamed = [part.to_arrow() for part in alone.stream(x=batches, memory="32kB")]
    assert pa.concat_tables(streamed).equals(alone.run(x=table).to_arrow())


def test_streams_by_key_refuse_all_the_past() -> None:
    """No state of each key stands for rows that an end may cut."""
    query = query_of("~x[-∞ : t]", " by k")
    with pytest.raises(tilt.QueryError, match="held sees where it cuts rows") as caught:
        next(iter(query.stream(x=iter([shifts(9)]))))
    assert caught.value.code == "E0305"


def test_explain_says_what_is_folded_anew() -> None:
    for window, says in (
        ("~x[-∞ : t]", "folds on, and anew the rows that its end cuts"),
        ("~x[last 9 : t]", "folds its rows anew: reductions see where its edges cut"),
    ):
        assert f"~o: held of ~x {says}" in query_of(window).explain()


def test_ages_of_any_length() -> None:
    query = parse("input x : f64 interval\n~o[t] = age(~x)\noutput ~o")
    found = run_compiled(Case(query, {"x": ROWS}, 0, 9), Setting(optimize=False))["o"]
    ages = {t: s.value for s in found for t in range(s.start + 1, s.end + 1)}
    assert [ages[t] for t in range(1, 10)] == [0, 1, 0, 0, 0, 0, 0, 1, 2]
