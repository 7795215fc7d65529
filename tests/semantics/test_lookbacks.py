"""Lookbacks, lookaheads and grids far longer than the data: they cost what rows cost.

Nothing here looks at a clock. What a run may cost is bounded by the memory that it asks
for, and by the visits of its loops (`Coverage`, `AlignedRange.visits`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import SMALL_COSTS, random_setting, run_compiled, snapshots
from tests.costs import costing
from tests.random.lookbacks import random_far_case
from tiltpy.compiler.options import CompileOptions
from tiltpy.costs import RunCosts
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.execution.call_numbers import greatest, item
from tiltpy.runtime.execution.vector_calls import VectorCalls
from tiltpy.runtime.execution.visit_bounds import Coverage

FAR_CASES = 16
BATCH = 8
DEEPER = 375


@dataclass(slots=True)
class Cost:
    """The cost of runs: the largest array in bytes, the visits of all calls."""

    array: int = 0
    visits: int = 0


@contextmanager
def cost() -> Iterator[Cost]:
    """The cost of the runs inside."""
    found = Cost()
    cover, grid, fits = Coverage.__init__, VectorCalls.__init__, memory._would_fit

    def covered(self: Coverage[Any], *given: object, resumed: bool = False) -> None:
        cover(self, *given, resumed=resumed)  # type: ignore[arg-type]
        bounds = [self.work, *self.capacity.values()]
        found.visits = max(found.visits, *map(greatest, bounds))

    def gridded(self: VectorCalls[Any], *given: object) -> None:
        grid(self, *given)  # type: ignore[arg-type]
        ticks = (item(self.high - self.low, call) for call in range(self.count))
        each = sum(self.aligned_range.visits(one) for one in ticks)
        found.visits = max(found.visits, each)

    def would_fit(length: int) -> bool:
        found.array = max(found.array, length)
        return fits(length)

    with (
        patch.object(Coverage, "__init__", covered),
        patch.object(VectorCalls, "__init__", gridded),
        patch.object(memory, "_would_fit", would_fit),
    ):
        yield found


# -- random queries -------------------------------------------------------------------


def check(seed: int) -> None:
    far = random_far_case(seed)
    if far is None:
        return
    near, case = far.with_stride(far.small), far.with_stride(far.huge)
    expected = interpret(near.query, near.events, start=near.start, end=near.end)
    setting = random_setting(Random(seed), span=80)  # noqa: S311
    with cost() as found:
        results = run_compiled(case, setting)
    for name in case.query.outputs:
        difference = first_difference(
            results[name], expected[name], case.query, name, exact=True
        )
        text = f"far seed {seed}, {setting}\n{difference}\n{format_query(case.query)}"
        assert difference is None, text
    text = f"far seed {seed}, {setting}, {found}\n{format_query(case.query)}"
    assert found.array < 1 << 23, text
    assert found.visits < 1 << 18, text


@pytest.mark.parametrize("batch", range(FAR_CASES // BATCH))
def test_far_references_equal_near_ones_and_cost_rows(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, FAR_CASES * (DEEPER if deep else 1), FAR_CASES):
        for seed in range(first, first + BATCH):
            check(seed)


# -- shapes of data and queries -------------------------------------------------------

ROWS = 150
FAR = (10**7, 2**31, 2**40, 2**58)
POINT, UNTIL = "input x : f64 time t point", "input x : f64 time t until_next"
SAMPLED = "input x : f64 time t sampled 1"
INTERVAL = "input x : f64 interval (t, e)"
BY_KEY = "input x by k : f64 time t point"
GRID = "h = TDom(-∞, ∞, N)"
CASES = {
    "where it is": (POINT, "~o[t] = ~x[t] != φ ? sum(~x[t-N : t]) : φ"),
    "everywhere": (POINT, "~o[t] = sum(~x[t-N : t])"),
    "ahead": (POINT, "~o[t] = ~x[t] != φ ? max(~x[t : t+N]) : φ"),
    "both ways": (POINT, "~o[t] = ~x[t] - mean(~x[t-N : t+N])"),
    "deviation": (POINT, "~o[t] = std(~x[t-N : t])"),
    "whole window": (POINT, "~o[t] = ~x[t] - median(~x[t-N : t])"),
    "point": (POINT, "~o[t] = exists(~x[t-N]) ? 0.0 : ~x[t]"),
    "two": (POINT, "~o[t] = ~x[t] - mean(~x[t-N : t])\n~p[t] = sum(~x[t-20 : t])"),
    "of an object": (POINT, "~a[t] = ~x[t-1] + ~x[t]\n~o[t] = sum(~a[t-N : t])"),
    "of a window": (
        POINT,
        "~a[t] = ~x[t] - mean(~x[t-20 : t])\n~o[t] = ~x[t] - max(~a[t-N : t])",
    ),
    "of times": (
        POINT, "~a[t] = ~x[t] + f64(t)\n~o[t] = ~x[t] - mean(~a[t-N : t])"
    ),
    "hops": (POINT, "h = TDom(-∞, ∞, 10)\n~o[h] = sum(~x[h-N : h])"),
    "long cells": (POINT, f"{GRID}\n~o[h] = sum(~x[h-N : h])"),
    "long cells read": (
        POINT, f"{GRID}\n~a[h] = sum(~x[h-N : h])\n~o[t] = ~x[t] - ~a[t]"
    ),
    "held": (UNTIL, "~o[t] = sum(~x[t-N : t])"),
    "held object": (
        UNTIL, "~a[t] = ~x[t-1] + ~x[t]\n~o[t] = ~x[t] - mean(~a[t-N : t])"
    ),
    "samples": (SAMPLED, "~o[t] = ~x[t] - mean(~x[t-N : t])"),
    "of samples' windows": (
        SAMPLED,
        "~a[t] = ~x[t] - mean(~x[t-20 : t])\n~o[t] = ~x[t] - max(~a[t-N : t])",
    ),
    "times of samples": (
        SAMPLED, "~a[t] = ~x[t] + f64(t)\n~o[t] = ~x[t] - mean(~a[t-N : t])"
    ),
    "overlapping": (INTERVAL, "~o[t] = sum(~x[t-N : t])"),
    "greatest of overlapping": (INTERVAL, "~o[t] = max(~x[t-N : t])"),
    "by key": (BY_KEY, "~o[t] = ~x[t] != φ ? sum(~x[t-N : t]) : φ"),
    "by key, everywhere": (BY_KEY, "~o[t] = sum(~x[t-N : t])"),
    "by key, hops": (BY_KEY, "h = TDom(-∞, ∞, 10)\n~o[h] = sum(~x[h-N : h])"),
    "by key, long cells": (BY_KEY, f"{GRID}\n~o[h] = sum(~x[h-N : h])"),
    "by key, of times": (
        BY_KEY, "~a[t] = ~x[t] + f64(t)\n~o[t] = ~x[t] - mean(~a[t-N : t])"
    ),
}  # fmt: skip


def frame(kind: str) -> pa.Table:
    """Rows with gaps of 1 to 4 ticks; samples without."""
    random = np.random.default_rng(7)
    gaps = np.ones(ROWS, np.int64) if kind == SAMPLED else random.integers(1, 5, ROWS)
    stamps = gaps.cumsum()
    return pa.table(
        {
            "t": stamps,
            "e": stamps + random.integers(1, 9, ROWS),
            "k": random.integers(0, 3, ROWS),
            "x": random.integers(0, 99, ROWS) / 8,
        }
    )


def bound(kind: str) -> object:
    return tilt.bind(frame(kind), column="x")


@pytest.mark.few(12)
@pytest.mark.parametrize("name", CASES)
def test_windows_longer_than_the_data_cost_its_rows(name: str, *, deep: bool) -> None:
    """As if all data were in reach: a reach of 4,000 ticks is as good as any."""
    kind, text = CASES[name]
    query = f"{kind}\n{text}\n"
    known = run(query.replace("N", "4000"), kind, None)
    for far in FAR if deep else FAR[:: 3 if "long cells" in name else 4]:
        if "long cells" in name:  # which are no others for another chunk
            known = run(query.replace("N", str(far)), kind, None)
        for chunk in (None, 7):
            with cost() as found:
                tables = run(query.replace("N", str(far)), kind, chunk)
            for one, other in zip(tables, known, strict=True):
                same(one, other)
            assert found.array < 1 << 22, (far, chunk)
            assert found.visits < 1 << 17, (far, chunk)


def run(query: str, kind: str, chunk: int | None) -> list[pa.Table]:
    result = tilt.parse(query).run(x=bound(kind), chunk=chunk)
    return [one.to_arrow() for one in result.values()]


def same(one: pa.Table, other: pa.Table) -> None:
    """Check that rows are the same; a variance may round otherwise."""
    values = one.column_names[-1]
    assert one.drop_columns(values).equals(other.drop_columns(values))
    np.testing.assert_allclose(one[values], other[values], rtol=1e-12)


def test_streams_look_back_over_all_their_rows() -> None:
    query = f"{POINT}\n~o[t] = ~x[t] != φ ? sum(~x[t-N : t]) : φ\n"
    whole = frame(POINT).select(["t", "x"])
    expected = tilt.parse(query.replace("N", "4000")).run(x=whole).to_arrow()
    for far in FAR[::3]:
        parsed = tilt.parse(query.replace("N", str(far)))
        with cost() as found:
            parts = list(parsed.stream(x=whole.to_reader(max_chunksize=50)))
        tables = [part["o"].to_arrow() for part in parts]
        assert pa.concat_tables(tables).to_pydict() == expected.to_pydict()
        assert found.array < 1 << 22
        assert found.visits < 1 << 17


# -- chunks ---------------------------------------------------------------------------


def test_short_chunks_do_not_go_through_a_long_lookback_again_and_again() -> None:
    """100,000 rows in reach of 14,286 chunks of 7 ticks would be 10^9 visits."""
    rows = 100_000
    table = pa.table({"t": np.arange(rows), "x": np.ones(rows)})
    query = tilt.parse(f"{POINT}\n~o[t] = ~x[t] != φ ? sum(~x[t-{2**40} : t]) : φ\n")
    chunks: list[int] = []

    def progress(_done: int, total: int) -> None:
        chunks.append(total)

    result = query.run(x=table, chunk=7, progress=progress, workers=1)
    assert result["o"].to_arrow()["o"].to_pylist() == list(range(1, rows + 1))
    assert 100 < chunks[-1] * rows / 2 <= 2**27 + 4 * rows


def test_chunks_are_cut_where_rows_are() -> None:
    """A burst of all rows in a moment of the run is no single chunk."""
    rows = 2_000_000
    stamps = np.append(np.arange(rows) * 20, 2**50)
    table = pa.table({"t": stamps, "x": np.ones(rows + 1)})
    options = costing(run=RunCosts(chunk_work=1 << 16))
    query = tilt.parse(f"{POINT}\n~o[t] = sum(~x[t-50 : t])\n", options=options)
    chunks: list[int] = []
    query.run(x=table, progress=lambda _, total: chunks.append(total))
    assert chunks[-1] >= rows // (4 << 16)


@pytest.mark.parametrize("chunk", [None, 64])
@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_what_long_windows_see_last_holds_on_behind_the_rows(
    reduction: str, chunk: int | None
) -> None:
    """No row leaves them there: the last snapshot ends with the run, or where one does.

    A vector kernel computes it, whose cells have no ends of their own.
    """
    rows, ends = 150, (150, 151, 160, 222, 223, 400)
    table = pa.table(
        {
            "start": np.arange(rows),
            "end": np.arange(1, rows + 1),
            "x": np.arange(rows) % 7.0,
        }
    )
    query = tilt.parse(
        "input x : f64 interval (start, end)\n"
        f"~o[t] = {reduction}(~x[t-222 : t])\noutput ~o\n",
        options=CompileOptions(costs=SMALL_COSTS, cache=False),
    )
    events = [Event(n, n + 1, n % 7.0) for n in range(rows)]
    for end in ends:
        meant = interpret(query.query, {"x": events}, end=end)["o"]
        found = query.run(x=table, end=end, chunk=chunk)["o"]
        assert (
            first_difference(snapshots(found), meant, query.query, "o", exact=True)
            is None
        ), end
