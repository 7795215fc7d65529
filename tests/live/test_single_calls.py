"""Few rows are computed by one call, whose memory serves the next one."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.engines.known_call import KnownCall
from tiltpy.engines.prompt_engine import PromptEngine
from tiltpy.runtime.execution.call_table import CallTable, list_numbers
from tiltpy.runtime.execution.range_formulas import Ranges, Rows
from tiltpy.runtime.execution.single_run import RangeCall, SingleRun
from tiltpy.runtime.execution.sweep_calls import SweepOutput, list_outputs

ROWS = 240
X = "input x : f64 time ts point\n"
QUERIES = {
    "own times": X + "~o[t] = mean(~x[t-50 : t])\noutput ~o",
    "times of rows": X + "~o[t] = ~x[t] * 2.0\noutput ~o",
    "joined": X + "~o[t] = ~x[t] > 0.5 ? true : false\noutput ~o",
    "nulls": X + "~o[t] = { a = ~x[t], b = ~x[t] > 0.5 ? ~x[t-5] : φ }\noutput ~o",
    "grid": X + "g = TDom(-inf, inf, 20)\n~o[g] = max(~x[g-40 : g])\noutput ~o",
    "scratch": X + "~s[t] = sum(~x[t-30 : t])\n~o[t] = max(~s[t-30 : t])\noutput ~o",
    "two": X + "~o[t] = sum(~x[t-9 : t])\n~p[t] = ~x[t] + 1.0\noutput ~o, ~p",
    "all the past": X + "~o[t] = max(~x[-inf : t])\noutput ~o",
    "until next": "input x : f64 time ts until_next\n~o[t] = ~x[t-3]\noutput ~o",
    "own rows": X + "e = Rows(~x)\n~o[e] = ~x[e] * 2.0\noutput ~o",
    "some rows": X + "e = Rows(~x)\n~o[e] = ~x[e] > 0.5 ? ~x[e] : φ\noutput ~o",
    "overlapping": """
        input x : f64 time ts duration 25
        ~o[t] = max(~x[t-1 : t])
        output ~o
    """,
}


def frames_of(rows: int, least: int = 1) -> list[pa.Table]:
    """Make the frames of a session: so many rows each, `least` ticks apart."""
    random = np.random.default_rng(rows)
    stamps = np.cumsum(random.integers(least, 9, ROWS))
    values = random.random(ROWS)
    table = pa.table({"ts": stamps, "x": values})
    return [table.slice(first, rows) for first in range(0, ROWS, rows)]


@pytest.mark.parametrize("name", QUERIES)
def test_what_was_returned_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each update has its snapshots whatever the session has computed since.

    They are those of a run, and of pushes that all are too large for one call.
    """
    query = tilt.parse(QUERIES[name])
    chosen: list[bool] = []
    choose = PromptEngine.choose_run

    def choose_run(self: PromptEngine, *of: object) -> object:
        run = choose(self, *of)  # type: ignore[arg-type]
        chosen.append(isinstance(run, SingleRun))
        return run

    monkeypatch.setattr(PromptEngine, "choose_run", choose_run)
    live = query.live()
    updates = [live.push(x=frame) for frame in frames_of(5)]
    updates.append(live.finish())
    assert chosen
    assert all(chosen)
    whole = query.run(x=pa.concat_tables(frames_of(5)))
    for output in query.outputs:
        pieces = [update[output].final.to_arrow() for update in updates]
        assert pa.concat_tables(pieces).equals(whole[output].to_arrow())


@pytest.mark.parametrize("least", [1, 0], ids=["apart", "tied"])
@pytest.mark.parametrize("name", QUERIES)
def test_formulas_say_what_the_extents_do(
    name: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots that they fill, and outputs that they describe, are those of a call."""
    fill = RangeCall._fill_again
    filled = 0

    def check(call: RangeCall, table: CallTable, rows: Rows, ranges: Ranges) -> object:
        nonlocal filled
        numbers = fill(call, table, rows, ranges)
        if numbers is not None:
            assert call.formulas is not None
            outputs = call.formulas.describe(numbers)
            filled += 1
            coverage = call._cover(rows, ranges)
            for slot, number in list_numbers(table.map, coverage):
                assert table.slots[0, slot] == number
            assert list(map(show, outputs)) == list(map(show, list_outputs(coverage)))
        return numbers

    def show(each: SweepOutput) -> list[object]:
        numbers = each.cells.first, each.cells.last, each.cells.seam
        return [each.loop.name, each.may_have_others, *numbers, each.begin, each.stop]

    monkeypatch.setattr(RangeCall, "_fill_again", check)
    live = tilt.parse(QUERIES[name]).live()
    for frame in frames_of(5, least):
        live.push(x=frame)
    live.finish()
    assert filled > 20 or name == "all the past"  # its extents depend on all rows


@pytest.mark.parametrize("least", [1, 0], ids=["apart", "tied"])
@pytest.mark.parametrize("rows", [1, 5, 30])
@pytest.mark.parametrize("name", QUERIES)
def test_calls_of_a_known_form_give_what_any_call_does(
    name: str, rows: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Final snapshots and open ones have the same bits, push by push."""
    query = tilt.parse(QUERIES[name])
    evaluate, known = KnownCall.evaluate, 0

    def count(self: KnownCall, *of: object) -> object:
        nonlocal known
        known += 1
        return evaluate(self, *of)  # type: ignore[arg-type]

    def push_all() -> list[pa.Table]:
        live, tables = query.live(), []
        for number, frame in enumerate(frames_of(rows, least)):
            update = live.push(x=frame)
            for output in query.outputs:
                tables.append(update[output].final.to_arrow())
                if number % 3:
                    tables.append(update[output].open.to_arrow())
        update = live.finish()
        return [*tables, *(update[output].final.to_arrow() for output in query.outputs)]

    monkeypatch.setattr(KnownCall, "evaluate", count)
    found = push_all()
    assert known > 3 or name == "all the past"  # its extents depend on all rows
    monkeypatch.setattr(KnownCall, "fits", lambda *_: False)
    for left, right in zip(found, push_all(), strict=True):
        assert left.combine_chunks().equals(right.combine_chunks())
