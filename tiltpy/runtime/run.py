"""A run: bind the data, cut time into chunks, a worker for each, stitch, Arrow out.

Section 6.2 of the paper. What a chunk computes depends on its cells and on the rows
near them only, so the result is the same whatever the number of workers.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from threading import local
from typing import Protocol

from tiltpy.abi import Layout, Loop, Shape
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

CHUNK_ROWS = 1 << 21
"""Rows of all inputs in a chunk, where the caller gives no interval: large enough that
starting a chunk costs nothing, small enough for all workers to share the work."""

MAX_CELLS = 1 << 36
"""Cells of an object that is evaluated at every one of them: minutes of work."""

Progress = Callable[[int, int], None]
Done = tuple[dict[str, Cells], Kernel, dict[str, SnapshotBuffer]]
"""A chunk's cells, the kernel that computed them, and the outputs' pieces."""


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
        self.general = kernels.general()
        self.samples = self._fitting(kernels.samples())
        self.memory = local()

    def _fitting(self, kernel: Kernel | None) -> Kernel | None:
        """The kernel for samples, if the inputs' periods are its loops' precisions."""
        for loop in kernel.signature.loops if kernel is not None else ():
            for read in loop.reads:
                if self.rows[read.object].period != loop.tdom.precision:
                    return None
        return kernel

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
        # Closed at once when something goes wrong here, for no worker to go on.
        with closing(self._results(chunks)) as results:
            for done, (cells, kernel, pieces) in enumerate(results):
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
        cells = self._cells(low, high)
        interval = self.options.chunk or self._interval(low, high, cells)
        edges = self._edges()
        for start, end in cut_chunks(
            low, high, interval, edges, self.rows, every_cell=cells > 0
        ):
            owned = {
                name: own
                for name, domain in wanted.items()
                if (own := cells_of(self.outputs[name].tdom, domain, start, end))
            }
            if owned:
                yield owned

    def _cells(self, low: int, high: int) -> int:
        """How many cells the loops have that visit every one of them, at most."""
        most = 0
        for loop in self.general.signature.loops:
            if loop.every_cell:
                cells = self._cells_of(loop, low, high)
                if cells > MAX_CELLS:
                    raise DataError(
                        f"~{loop.name} uses t as a number and so has a snapshot in "
                        f"each of {cells:,} cells, more than 2**36; give it a coarser "
                        "precision, or cut the run with start= and end="
                    )
                most = max(most, cells)
        return most

    def _cells_of(self, loop: Loop, low: int, high: int) -> int:
        start = self.request.resolve(loop.tdom.start)
        end = self.request.resolve(loop.tdom.end)
        low = low if start is None else max(low, start)
        high = high if end is None else min(high, end)
        return max(0, high - low) // loop.tdom.precision

    def _interval(self, low: int, high: int, cells: int) -> int | None:
        """An interval that holds `CHUNK_ROWS` rows, or cells, on the average."""
        total = sum(buffer.n for buffer in self.rows.values())
        spans = [span for one in self.rows.values() if (span := one.bounds())]
        length = high - low
        if cells < total:
            first = min(span[0] for span in spans)
            last = max(span[1] for span in spans)
            length = min(high, last) - max(low, first)
        chunks = max(total, cells) // CHUNK_ROWS
        return None if chunks < 2 else max(1, length // chunks)

    def _edges(self) -> list[int]:
        """Where sampled inputs start and stop being there wherever an output looks.

        Between them the kernel for samples serves, beside them the general one.
        """
        if self.samples is None:
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

    def _results(self, chunks: list[dict[str, Cells]]) -> Generator[Done]:
        workers = min(self.options.workers or _processors(), len(chunks))
        if workers <= 1:
            yield from map(self._one, chunks)
            return
        with ThreadPoolExecutor(workers, "tiltpy") as pool:
            try:
                yield from pool.map(self._one, chunks)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, cells: dict[str, Cells]) -> Done:
        """Compute one chunk, with the kernel for samples if it is one."""
        if not hasattr(self.memory, "scratch"):
            self.memory.scratch = Memory()
        kernel = self.samples
        if kernel is not None:
            chunk = Chunk(kernel.signature, self.rows, cells, self.request)
            if chunk.covered():
                return cells, kernel, chunk.run(kernel.code, self.memory.scratch)
        kernel = self.general
        chunk = Chunk(kernel.signature, self.rows, cells, self.request)
        return cells, kernel, chunk.run(kernel.code, self.memory.scratch)


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
