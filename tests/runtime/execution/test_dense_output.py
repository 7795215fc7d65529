"""Full outputs of vector kernels: chunks write side by side, into one column."""

import gc
from collections.abc import Mapping

import numpy as np
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import snapshots, table_of
from tests.runtime.execution.fake_vector_kernel import FakeKernels
from tiltpy.abi.layouts import Layout
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import Costs, RunCosts
from tiltpy.engines.local import run
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.runtime.arrays.pool import POOL, ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Domain, Request
from tiltpy.runtime.execution.vector_calls import VectorChunks, call_over
from tiltpy.runtime.execution.vector_range import (
    VectorRange,
    find_sampling_grid,
    find_vector_range,
)
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import ingest

SAMPLES = [Event(i, i + 1, i % 5 - 1.0) for i in range(-3, 900)]


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "text",
    [
        "~o[t] = ~x[t] + 1.0",
        "t = TDom(-∞, ∞, 4)\n~o[t] = ~x[t] * 2.0",
        "~o[t] = { a = ~x[t], b = count(~x[t-8:t]) }",
        "t = TDom(-∞, ∞, 4)\ns = TDom(-∞, ∞, 12)\n"
        "~o[t] = ~x[t] + 1.0\n~p[s] = count(~x[s-12:s])\noutput o, p",
    ],
)
@pytest.mark.parametrize("chunk", [None, 7, 64, 192, 1000])
@pytest.mark.parametrize("workers", [1, 2])
def test_seams_leave_every_cell_as_it_was(
    text: str, chunk: int | None, workers: int
) -> None:
    """The fakes write noise behind the last cell, up to a whole vector."""
    costs = Costs(run=RunCosts(least_chunk_work=16, baseline_rows=0))
    query = parse("input x : f64 sampled 1\n" + text)
    made: list[FakeKernels] = []

    def kernels(layouts: Mapping[str, Layout]) -> FakeKernels:
        made.append(FakeKernels(query, layouts, covered=False, implicit=True))
        return made[0]

    (declared,) = query.inputs
    frame = table_of(declared, SAMPLES).drop_columns(["start"])
    inputs = {
        "x": ingest(declared, InputBinding(frame, time="end", column="x"), unit=None)
    }
    options = RunOptions(workers, chunk, vector=True, costs=costs)
    result = run(OutputGroup(query, kernels), inputs, Request(), options)
    meant = interpret(query, {"x": SAMPLES})
    for name in query.outputs:
        found = snapshots(result[name])
        difference = first_difference(found, meant[name], query, name, exact=True)
        assert difference is None
    if chunk is None:
        assert (made[0].fake.runs > 3) == (workers > 1)
        for output in result.values():
            # The sweep kernel has the edges; the longest range is in one piece.
            lengths = [len(c) for c in output.to_arrow().column(2).chunks]
            assert len(lengths) <= 4
            assert max(lengths) > output.num_rows * 3 // 4


@pytest.mark.parametrize("workers", [1, 2])
def test_a_column_in_one_piece(workers: int) -> None:
    values = np.arange(300_000) % 1000 - 500.0
    text = "~o[t] = {a = ~x[t] + 1, b = ~x[t] > 0, c = ~x[t-1] > 9 ? ~x[t] : φ}"
    query = tilt.parse("input x : f64 sampled 1\n" + text)
    table = query.run(x=tilt.sampled(values, 0, 1), workers=workers).to_arrow()
    assert table["a"].to_numpy().tolist() == (values + 1).tolist()
    assert table["b"].to_numpy().tolist() == (values > 0).tolist()
    before = np.concatenate([[0], values[:-1]])
    assert table["c"].is_valid().to_numpy().tolist() == (before > 9).tolist()
    plain = tilt.parse("input x : f64 sampled 1\n~o[t] = ~x[t] + 1")
    chunks = plain.run(x=tilt.sampled(values, 0, 1)).to_arrow()["o"].chunks
    assert len(chunks) <= 4
    assert sum(len(chunk) for chunk in chunks) == len(values)


def smoothed(
    values: np.ndarray[tuple[int], np.dtype[np.float32]],
) -> tuple[VectorRange, dict[str, SnapshotBuffer]]:
    """A vector kernel that needs scratch, and the rows it is for."""
    query = parse(
        "input x : f32 sampled 1\nt = TDom(-∞, ∞, 100)\n"
        "~m[t] = mean(~x[t-100:t])\ns = TDom(-∞, ∞, 1)\n~o[s] = ~x[s] - ~m[s]"
    )
    rows = {"x": make_sampled(0, 1, len(values), (Column(values),))}
    layouts = {"x": rows["x"].abi_layout()}
    sampling_grid = find_sampling_grid(rows["x"], Costs())
    assert sampling_grid is not None
    kernel: Kernel | None = (
        Compiler(query).compile_for(layouts).vector({"x": sampling_grid})
    )
    assert kernel is not None
    grid = find_vector_range(kernel, rows, {"o": Domain(0, len(values))})
    assert grid is not None
    return grid, rows


def test_calls_keep_their_scratch_and_results() -> None:
    """Scratch that grows, or whose owner goes, is still that of earlier calls."""
    values = (np.arange(400_000) % 37).astype(np.float32)
    grid, rows = smoothed(values)
    before = POOL.in_use
    scratch = ScratchArrays()
    multiple = grid.aligned_range.multiple
    places = [(grid.low + k * multiple, k + 1) for k in (0, 5, 50, 500, 1500)]
    low, many = np.array(places, np.int64).T
    over = call_over(grid.kernel, rows, low, low + many * multiple)
    batch = VectorChunks(grid.kernel, over)
    table = batch.table()
    calls = CallQueue([table], [scratch])
    del scratch
    gc.collect()
    assert len(calls.places) == len(places)
    for at_once in (True, False):
        if at_once:
            calls.run()
        for place in () if at_once else calls.places:
            grid.kernel.code.code().call(int(place), stop_flag().address)
        ends = zip(low.tolist(), over.high.tolist(), strict=True)
        results = batch.results(table)
        for (first, last), (_, pieces, _) in zip(ends, results, strict=True):
            piece = pieces["o"]
            found = piece.columns[0].values[: piece.n]
            window = values[:last].reshape(-1, 1)[first:, 0]
            means = np.repeat(window.reshape(-1, 100).mean(1), 100)
            assert piece.n == last - first
            assert np.allclose(found, window - means, atol=1e-4)
            found[:] = 0
    del batch, over, table, calls, results, pieces, piece, found
    gc.collect()
    assert POOL.in_use == before
