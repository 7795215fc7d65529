"""Formulas say of a batch of calls what its extents do."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_table import CallTable, list_numbers, list_sizes
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.keyed.call_formulas import CallFormulas, CoverageByFormulas, Rows
from tiltpy.runtime.keyed.sweep_calls import AllCells, SweepBatch

X, ROWS = "input x by k : f64 time ts point\n", 400
TWO = "input x by k : f64 time ts point\ninput y : f64 time ts until_next\n"
QUERIES = {
    "own times": X + "~o[t] = mean(~x[t-50 : t])\noutput ~o",
    "times of rows": X + "~o[t] = ~x[t] * 2.0\noutput ~o",
    "nulls": X + "~o[t] = { a = ~x[t], b = ~x[t] > 0.5 ? ~x[t-5] : φ }\noutput ~o",
    "grid": X + "g = TDom(-inf, inf, 20)\n~o[g] = max(~x[g-40 : g])\noutput ~o",
    "each cell": X + "~o[t] = ~x[t] + f64(t)\noutput ~o",
    "scratch": X + "~s[t] = sum(~x[t-30 : t])\n~o[t] = max(~s[t-30 : t])\noutput ~o",
    "two": X + "~o[t] = sum(~x[t-9 : t])\n~p[t] = ~x[t] + 1.0\noutput ~o, ~p",
    "rows": X + "e = Rows(~x)\n~o[e] = ~x[e] - sum(~x[e-20 : e])\noutput ~o",
    "intervals": "input x by k : f64 time ts duration 25\n~o[t] = max(~x[t-1 : t])\n"
    "output ~o",
    "all the past": X + "~o[t] = max(~x[-inf : t])\noutput ~o",
    "an input without keys": TWO + "~o[t] = ~x[t] - ~y[t]\noutput ~o",
    "a window of it": TWO + "~o[t] = ~x[t] - sum(~y[t-30 : t])\noutput ~o",
}
WITHOUT_FORMULAS = {"all the past"}
"""Queries whose extents depend on all rows."""


def frames_of(name: str) -> list[dict[str, pa.Table]]:
    """Make the frames of the inputs of a query, push by push."""
    random = np.random.default_rng(len(name))
    stamps = np.cumsum(random.integers(1, 4, ROWS))
    keys, values = random.integers(0, 6, ROWS), random.integers(0, 9, ROWS) / 8
    table = pa.table({"ts": stamps, "k": keys, "x": values})
    frames = [{"x": table.slice(first, 8)} for first in range(0, ROWS, 8)]
    if QUERIES[name].startswith(TWO):
        for each in frames:
            rows = each["x"]
            each["y"] = pa.table({"ts": rows["ts"], "y": rows["x"]})
    return frames


@pytest.mark.parametrize("name", QUERIES)
def test_formulas_say_what_the_extents_do(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots that they fill, and sizes, are those of a batch; results of a run."""
    prepare, prepared = CallFormulas.prepare, 0

    def check(
        formulas: CallFormulas,
        rows: Rows,
        cells: AllCells,
        keys: I64Array,
        scratch: ScratchArrays,
        *,
        every: bool,
    ) -> tuple[CallTable, CoverageByFormulas]:
        nonlocal prepared
        prepared += 1
        table, covered = prepare(formulas, rows, cells, keys, scratch, every=every)
        signature = table.kernel.signature
        batch = SweepBatch.of_keys(signature, rows, cells, keys, Request(), NO_STRINGS)
        for slot, number in list_numbers(table.map, batch.coverage):
            assert (table.slots[:, slot] == number).all()
        for slot, size in list_sizes(table.map, batch.coverage):
            if slot in table.needs:
                assert table.needs[slot].size == np.max(size)
        for output in table.map.outputs:
            if output.key in table.arrays:
                most = np.sum(batch.coverage.room(output))
                assert len(table.arrays[output.key].array) >= most
        for loop in signature.loops:
            if loop.name in cells:
                extents = covered.extents[loop.name]
                assert np.array_equal(extents, batch.coverage.extents[loop.name])
            if loop.name in cells and loop.implicit_times:
                found = covered.row_range(loop)
                assert np.array_equal(found, batch.coverage.row_range(loop))
        return table, covered

    monkeypatch.setattr(CallFormulas, "prepare", check)
    query, frames = tilt.parse(QUERIES[name]), frames_of(name)
    live = query.live()
    updates = [live.push(**each) for each in frames]
    updates.append(live.finish())
    assert (prepared == 0) if name in WITHOUT_FORMULAS else (prepared > 20)
    whole = {n: pa.concat_tables([each[n] for each in frames]) for n in frames[0]}
    for output in query.outputs:
        through = updates[-1][output].through
        assert isinstance(through, int)
        run = query.run(**whole, end=through)
        final = pa.concat_tables([each[output].final.to_arrow() for each in updates])
        order = [("k", "ascending"), ("start", "ascending")]
        assert final.sort_by(order).equals(run[output].to_arrow().combine_chunks())
