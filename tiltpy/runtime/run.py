"""A run: bind the data, cut time into chunks, a worker for each, stitch, Arrow out.

Section 6.2 of the paper. What a chunk computes depends on its cells and on the rows
near them only, so the result is the same whatever the number of workers.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Protocol

from tiltpy.abi import Layout, Shape
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.runtime.bind import Binding
from tiltpy.runtime.buffers import SnapshotBuffer
from tiltpy.runtime.domain import (
    Cells,
    Domain,
    Request,
    cells_of,
    check_request,
    cut_chunks,
    output_domain,
)
from tiltpy.runtime.execute import Chunk, Kernel, Memory
from tiltpy.runtime.ingest import Ingested, ingest
from tiltpy.runtime.result import OutputTable, Result
from tiltpy.runtime.stamps import output_stamp
from tiltpy.runtime.stitch import Stitcher

CHUNK_ROWS = 1 << 19
"""Rows of all inputs in a chunk, where the caller gives no interval: large enough that
starting a chunk costs nothing, small enough for all workers to share the work."""

Progress = Callable[[int, int], None]


class Kernels(Protocol):
    """Kernels for the layouts of a run, compiled when first asked for."""

    query: Query
    """The optimised query, with its boundaries."""

    def general(self) -> Kernel:
        """The kernel for any rows."""

    def samples(self) -> Kernel | None:
        """The kernel for stretches that are sampled without a gap, if there is one."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: nothing here changes results.

    `workers`: threads, by default one per CPU. `chunk`: the chunk interval in ticks.
    `allow_sort`: whether rows out of time order are sorted. `progress` is called with
    the chunks done and their number.
    """

    workers: int | None = None
    chunk: int | None = None
    allow_sort: bool = True
    progress: Progress | None = None


def bind_inputs(
    query: Query, bindings: Mapping[str, Binding], request: Request, *, allow_sort: bool
) -> dict[str, Ingested]:
    """Read every input of a query."""
    for name in bindings:
        if query.input(name) is None:
            known = ", ".join(declared.name for declared in query.inputs)
            raise DataError(f"the query has no such input; it has {known}", input=name)
    missing = [i.name for i in query.inputs if i.name not in bindings]
    if missing:
        raise DataError(
            "nothing is bound to it; give it as run(name=frame)", input=missing[0]
        )
    return {
        declared.name: ingest(
            declared,
            bindings[declared.name],
            unit=query.unit,
            domain_end=request.end,
            allow_sort=allow_sort,
        )
        for declared in query.inputs
    }


def run(
    query: Query,
    inputs: Mapping[str, Ingested],
    compile_for: Callable[[Mapping[str, Layout]], Kernels],
    request: Request,
    options: RunOptions,
) -> Result:
    """Compute the outputs of a query over its bound inputs."""
    check_request(query, request)
    stamp = output_stamp({n: i.stamps for n, i in inputs.items()}, query.unit)
    rows = {name: one.buffer for name, one in inputs.items()}
    layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
    kernels = compile_for(layouts)
    stitched = _Job(kernels, rows, request, options).run()
    tables = []
    for name in query.outputs:
        definition = query.definition(name)
        assert definition is not None
        pieces = stitched.get(name, [])
        tables.append(OutputTable(name, definition.type, pieces, stamp))
    return Result(tables)


class _Job:
    """One run over buffers."""

    def __init__(
        self,
        kernels: Kernels,
        rows: Mapping[str, SnapshotBuffer],
        request: Request,
        options: RunOptions,
    ) -> None:
        self.kernels = kernels
        self.rows = rows
        self.request = request
        self.options = options
        self.outputs = {name: self._definition(name) for name in kernels.query.outputs}
        reaches = dict(kernels.query.boundaries)
        self.reach = {name: dict(reaches[name]) for name in self.outputs}
        self.domains = {
            name: output_domain(
                definition.tdom,
                [rows[one] for one in self.reach[name]],
                request,
            )
            for name, definition in self.outputs.items()
        }
        self.memory = local()

    def _definition(self, name: str) -> TemporalExpr:
        definition = self.kernels.query.definition(name)
        assert definition is not None
        return definition

    def run(self) -> dict[str, list[SnapshotBuffer]]:
        """All outputs' pieces."""
        wanted = {n: d for n, d in self.domains.items() if not d.is_empty}
        if not wanted:
            return {}
        stitchers = {
            name: Stitcher(self.outputs[name].tdom, domain)
            for name, domain in wanted.items()
        }
        chunks = list(self._chunks(wanted))
        for done, (cells, kernel, pieces) in enumerate(self._results(chunks)):
            for name, piece in pieces.items():
                trim = any(
                    loop.name == name and loop.shape is Shape.SWEEP
                    for loop in kernel.signature.loops
                )
                stitchers[name].add(piece, cells[name], trim=trim)
            if self.options.progress is not None:
                self.options.progress(done + 1, len(chunks))
        return {name: stitcher.finish() for name, stitcher in stitchers.items()}

    def _chunks(self, wanted: Mapping[str, Domain]) -> Iterator[dict[str, Cells]]:
        low = min(domain.start for domain in wanted.values())
        high = max(self.outputs[n].tdom.ceil(d.end) for n, d in wanted.items())
        interval = self.options.chunk or self._interval(low, high)
        cuts = cut_chunks(low, high, interval, self._edges(), self.rows)
        for start, end in cuts:
            cells = {
                name: own
                for name, domain in wanted.items()
                if (own := cells_of(self.outputs[name].tdom, domain, start, end))
            }
            if cells:
                yield cells

    def _interval(self, low: int, high: int) -> int | None:
        """An interval that holds `CHUNK_ROWS` rows, on the average."""
        total = sum(buffer.n for buffer in self.rows.values())
        if any(loop.every_cell for loop in self.kernels.general().signature.loops):
            total = max(
                total,
                *((high - low) // d.tdom.precision for d in self.outputs.values()),
            )
        chunks = total // CHUNK_ROWS
        return None if chunks < 2 else max(1, (high - low) // chunks)

    def _edges(self) -> list[int]:
        """Where sampled inputs start and stop being there wherever an output looks.

        Between them the kernel for samples serves, beside them the general one.
        """
        if self.kernels.samples() is None:
            return []
        starts, ends = [], []
        for name, reach in self.reach.items():
            precision = self.outputs[name].tdom.precision
            for one, boundary in reach.items():
                span = self.rows[one].bounds()
                if span is not None:
                    starts.append(span[0] + boundary.back.ticks + precision)
                    ends.append(span[1] - boundary.ahead.ticks - precision)
        return [max(starts), min(ends)] if starts and max(starts) < min(ends) else []

    def _results(
        self, chunks: list[dict[str, Cells]]
    ) -> Iterator[tuple[dict[str, Cells], Kernel, dict[str, SnapshotBuffer]]]:
        workers = self.options.workers or len(os.sched_getaffinity(0))
        workers = min(workers, len(chunks))
        if workers <= 1:
            yield from map(self._one, chunks)
            return
        with ThreadPoolExecutor(workers, "tiltpy") as pool:
            try:
                yield from pool.map(self._one, chunks)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _one(
        self, cells: dict[str, Cells]
    ) -> tuple[dict[str, Cells], Kernel, dict[str, SnapshotBuffer]]:
        """Compute one chunk, with the kernel for samples if it is one."""
        if not hasattr(self.memory, "scratch"):
            self.memory.scratch = Memory()
        kernel = self.kernels.samples()
        if kernel is not None:
            chunk = Chunk(kernel.signature, self.rows, cells, self.request)
            if chunk.covered():
                return cells, kernel, chunk.run(kernel.code, self.memory.scratch)
        kernel = self.kernels.general()
        chunk = Chunk(kernel.signature, self.rows, cells, self.request)
        return cells, kernel, chunk.run(kernel.code, self.memory.scratch)
