"""The engine over inputs that are read batch by batch, in bounded memory.

The run computes one span of time after the other. In memory are the rows of each input
in the span and its halo (the lookback and lookahead of outputs); a span is computed
like a whole run, by chunks. Its end is a seam as between chunks: the last snapshot
before it is carried into the next span, which may extend it.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tiltpy.engines.cell_part import CellPart
from tiltpy.engines.engine import Evaluation
from tiltpy.engines.keyed_engine import KeyedEvaluation
from tiltpy.engines.stream_parts import StreamPart, UnkeyedPart, make_part
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.ir.reductions import adds_floats
from tiltpy.memory_sizes import format_size
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.pool import POOL
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, rows_of
from tiltpy.runtime.arrow.timestamps import OutputStamp, output_stamp
from tiltpy.runtime.concurrency.offload import allow_threads, offload
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.time_domain import (
    Domain,
    OutputRange,
    Request,
    output_domain,
)
from tiltpy.runtime.execution.vector_range import VectorRange, last_seam
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.event_source import Reading
from tiltpy.runtime.incremental.open_source import open_source
from tiltpy.runtime.incremental.state import (
    InputBuffer,
    InputSource,
    KeyedInputBuffer,
    OutputProgress,
    UnreadBuffer,
    find_horizon,
    input_bytes,
    list_readers,
    row_bytes,
    start_outputs,
)
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.results.result import Result
from tiltpy.runtime.results.table import format_of
from tiltpy.runtime.results.windows import Grid, IntervalGrid
from tiltpy.types import ENDLESS, TDom

if TYPE_CHECKING:
    from tiltpy.runtime.preaggregation.run import FoldKernels


def stream(
    query: Query,
    groups: "Sequence[OutputGroup[FoldKernels]]",
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    memory: int,
    span: int | None = None,
    stamp: OutputStamp | None = None,
    hidden: HiddenRows | None = None,
) -> Generator[Result]:
    """The outputs of a query, with its boundaries, over its inputs, span by span.

    Windows by key over files are folded as the rows come, if their states are few:
    there is one result then.

    `groups` are its outputs that have the same keys. One result at least. `memory`
    bounds what is held (bytes); where rows that are needed at once do not fit, it is a
    `DataError`. `span`, the bytes of rows in a span, follows from it where it is not
    given. `stamp` is as in `run`, `hidden` as in `run_parts`.
    """
    run = _Stream(
        query, groups, bindings, request, options, memory, span, stamp, hidden
    )
    if len(groups) > 1 or not groups[0].is_keyed or span is not None:
        return run.results()
    return _fold_or_go(run, groups[0], bindings, options)


def _fold_or_go(
    run: "_Stream",
    group: "OutputGroup[FoldKernels]",
    bindings: Mapping[str, InputBinding],
    options: RunOptions,
) -> Generator[Result]:
    """Fold the only outputs of a run, or go through it span by span."""
    folded = _fold(run, group, bindings, options)
    if folded is None:
        yield from run.results()
    else:
        yield folded


def _fold(
    run: "_Stream",
    group: "OutputGroup[FoldKernels]",
    bindings: Mapping[str, InputBinding],
    options: RunOptions,
) -> Result | None:
    """Fold the only outputs of a run while files are read; None where it cannot be.

    Nor is it done where floats of several panes would be added up in another order than
    those of grouped rows. How much memory the run has decides nothing: it must change
    no bit.
    """
    from tiltpy.engines import folded_tables  # noqa: PLC0415 - late

    workers = options.workers or default_workers()
    with allow_threads(workers):
        folded = folded_tables.fold_file(
            group,
            bindings,
            run.request,
            options,
            run.costs.fold_bytes,
            several_panes=not adds_floats(group.query),
        )
    if folded is None:
        return None
    tables = list(folded.tables(run.stamp, "key", workers))
    for table in tables:
        table.grid = _find_grid(group.outputs[table.name].tdom)
    return Result(tables)


def _look(hidden: HiddenRows | None, name: str, rows: InputRows) -> None:
    if hidden is not None:
        hidden.add(name, rows.buffer, rows.groups)


def _select(
    outputs: StreamPart, ranges: Mapping[str, OutputRange]
) -> dict[str, OutputRange]:
    names = outputs.group.query.outputs
    return {name: range_ for name, range_ in ranges.items() if name in names}


class _Stream:
    """The state of a streamed run."""

    def __init__(
        self,
        query: Query,
        groups: "Sequence[OutputGroup[FoldKernels]]",
        bindings: Mapping[str, InputBinding],
        request: Request,
        options: RunOptions,
        memory: int,
        span: int | None,
        stamp: OutputStamp | None,
        hidden: HiddenRows | None,
    ) -> None:
        self.query = query
        self.request = request
        self.progress = options.progress
        self.costs = costs = options.costs.spans
        self.memory = memory
        self.outputs = start_outputs(resolve_boundaries(query, "counted"))
        self.parts = [
            make_part(
                group,
                bindings,
                request,
                replace(options, progress=None),
                Announcement(group.query, options.costs.run),
            )
            for group in groups
        ]
        self.part_of = {
            name: part for part in self.parts for name in part.group.query.outputs
        }
        files = any(isinstance(b.frame, ParquetScan) for b in bindings.values())
        short = files and not query.is_keyed  # a long span touches each key less often
        self.most_bytes = costs.most_file_bytes if short else costs.most_bytes
        """Bytes of rows of a span, at most, where few are held."""
        widest = max((input_bytes(declared) for declared in query.inputs), default=1)
        # Rows of several inputs wait for one another.
        share = costs.row_copies * (2 if len(query.inputs) == 1 else 8)
        most = min(costs.batch_rows, memory // (share * widest))
        batch = max(1, min(most, self.most_bytes // widest) if short else most)
        self.inputs: dict[str, InputSource] = {}
        for declared in query.inputs:
            low = self._low(declared.name)
            grid = self._grid(declared.name) if declared.keys else None
            unread = self._reads_cells(declared.name)
            reading = Reading(batch, query.unit, low, grid, unread)
            feed = open_source(declared, bindings[declared.name], reading)
            look = partial(_look, hidden, declared.name)
            keyed = UnreadBuffer if unread else KeyedInputBuffer
            buffer = keyed if declared.keys else InputBuffer
            self.inputs[declared.name] = buffer(declared, feed, look)
        for part in self.parts:
            part.open(self.inputs)
        self.rows = 0
        """How many rows there are to read, of inputs that know."""
        if self.progress is not None:
            self.rows = sum(
                rows_of(bindings[declared.name].frame) for declared in query.inputs
            )
        stamps = {name: held.feed.nothing.stamps for name, held in self.inputs.items()}
        self.stamp = stamp or output_stamp(stamps, query.unit)
        self.fixed_span = span
        copies = costs.row_copies + costs.snapshot_copies
        self.span = span or min(costs.first_bytes, memory // copies)
        """Bytes of rows to read for a span."""
        self.fresh = 0
        """Bytes of rows that were read since the last span."""
        self.expected = False
        """The first span has told whether a vector kernel computes any of it."""
        self.vector: VectorRange | None = None
        self.every_cell: int | None = None
        """The precision of an object that has a snapshot in every cell, if any has."""

    def results(self) -> Generator[Result]:
        """The outputs' snapshots, in pieces."""
        self._open()
        any_yet = False
        while not all(output.finished for output in self.outputs.values()):
            limit, cut = self._limit()
            if not cut and not self._has_enough() and self._pull():
                self._tell()
                continue
            limit, cut = self._cut_broadcast(limit, cut=cut)
            ranges = self._ranges(limit)
            if ranges and self._expect_vector(ranges):
                continue
            if ranges:
                result = self._compute_span(ranges)
                self._go_on(result, read=not cut)
                if any(table.num_rows for table in result.values()):
                    any_yet = True
                    yield result
                del result  # its memory serves the next span
            else:
                pulled = self._pull()
                assert pulled, "cells that need no more rows are not wanted"
                for part in self.parts:
                    part.absorb()
                self._drop()
            self._tell()
        if not any_yet:
            yield self._result({})

    def _expect_vector(self, ranges: Mapping[str, OutputRange]) -> bool:
        """Find before the first span whether a vector kernel has a part in it."""
        if self.expected:
            return False
        self.expected = True
        for part in self.parts:
            several = _select(part, ranges)
            if isinstance(part, UnkeyedPart) and several:
                self.vector = part.find_vector(several) or self.vector
        return self.vector is not None

    # Reading

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(*self._read())

    def _read(self) -> tuple[int, int]:
        """Count the rows that were read, and all that there are, if that is known."""
        read = sum(held.read for held in self.inputs.values())
        return read, max(read, self.rows, 1)

    def _low(self, name: str) -> int | None:
        """A time by which all events that end are of no use; None: all are needed."""
        times = [ENDLESS]
        for output in self.outputs.values():
            if name in output.reach:
                start = output.fixed_start(self.request)
                if start is None or self.part_of[output.definition.name].needs_all_keys:
                    return None
                if output.count_last(name):
                    return None
                times.append(output.needs_from(name, start))
        return min(times)

    def _reads_cells(self, name: str) -> bool:
        """Tell whether rows of an input are read cell by cell."""
        return any(
            isinstance(part, CellPart) and name in part.group.inputs
            for part in self.parts
        )

    def _grid(self, name: str) -> TDom | None:
        """Find the cells, longer than a tick, of all outputs that see an input."""
        tdoms = {
            (output.definition.tdom.precision, output.definition.tdom.offset)
            for output in self.outputs.values()
            if name in output.reach
        }
        if len(tdoms) != 1:
            return None
        ((precision, offset),) = tdoms
        return TDom(precision=precision, offset=offset) if precision > 1 else None

    def _open(self) -> None:
        """Read until each input's first event, and so each domain's start, is known."""
        used = {name for output in self.outputs.values() for name in output.reach}
        for name in used:
            held = self.inputs[name]
            while held.bounds is None and not held.is_at_end:
                self.fresh += held.pull(self._share())
        for output in self.outputs.values():
            bounds = (self.inputs[name].bounds for name in output.reach)
            output.find_start(bounds, self.request)
        layouts = {name: held.layout() for name, held in self.inputs.items()}
        dense = [part.begin(layouts, self.outputs) for part in self.parts]
        self.every_cell = min((p for several in dense for p in several), default=None)

    def _open_frontiers(self) -> dict[str, int]:
        """For inputs with rows to come: up to when outputs have all that they need."""
        frontiers: dict[str, int] = {}
        for output in self.outputs.values():
            for name, boundary in () if output.finished else output.reach.items():
                held = self.inputs[name]
                if not held.is_at_end:
                    time = held.watermark - boundary.ahead.ticks
                    waits = boundary.ahead.rows and not held.feed.declared.keys
                    if boundary.ahead.is_unbounded or waits:
                        time = -ENDLESS
                    frontiers[name] = min(frontiers.get(name, time), time)
        return frontiers

    def _pull(self) -> bool:
        """Read on where the least is known; False if there is nothing to read."""
        frontiers = self._open_frontiers()
        if not frontiers:
            return False
        behind = min(frontiers, key=lambda name: frontiers[name])
        self.fresh += self.inputs[behind].pull(self._share())
        return True

    def _has_enough(self) -> bool:
        """Tell whether a span can begin: of a single input half is not worth a copy.

        Nor is a batch that is read by itself. Rows of several inputs come in turns, so
        that few wait.
        """
        if len(self.inputs) > 1:
            return self.fresh >= self.span
        (held,) = self.inputs.values()
        apart = self.costs.apart_rows * held.row_bytes
        return self.fresh >= min(self.span // 2, apart)

    def _share(self) -> int:
        """Choose how many bytes of an input to read at once: all that a span lacks.

        Of several inputs few: those of one wait for the others. So they do where a span
        has enough, and nothing can be computed yet.
        """
        few = self.memory // (8 * self.costs.row_copies)
        few = min(few, self.fixed_span or few)
        return few if len(self.inputs) > 1 else max(few, self.span - self.fresh)

    # Spans

    def _limit(self) -> tuple[int, bool]:
        """Up to when cells can be computed, and whether more of them could be."""
        low = min(
            output.done for output in self.outputs.values() if not output.finished
        )
        limit = min(self._open_frontiers().values(), default=ENDLESS)
        if limit < ENDLESS and self.vector is not None:
            limit = max(low, self._find_seam(self.vector, limit))
        if self.every_cell is not None:
            widths = (
                row_bytes(output.definition.type) * self.part_of[name].count_keys()
                for name, output in self.outputs.items()
            )
            cells = max(1, self.span // sum(widths))
            most = low + cells * self.every_cell
            if most < limit:
                return most, True
        return limit, any(held.has_more for held in self.inputs.values())

    def _find_seam(self, vector: VectorRange, limit: int) -> int:
        """Find the last time up to a limit at which a span suits the vector kernel.

        It serves up to there, and from there on: so it computes the cells that it
        computes in a run over all rows, and floats are added up alike.
        """
        for read in vector.aligned_range.reads:
            held = self.inputs[read.object]
            if not held.is_at_end:
                limit = min(limit, held.watermark - read.high)
        return last_seam(vector.aligned_range, limit)

    def _cut_broadcast(self, limit: int, *, cut: bool) -> tuple[int, bool]:
        """Find the limit up to which rows that every key sees make few snapshots."""
        copies = self.costs.row_copies + self.costs.snapshot_copies
        room = self.fixed_span or self.memory // copies
        for name, output in self.outputs.items():
            part = self.part_of[name]
            keys = part.count_keys()
            if output.finished or keys == 1:
                continue
            snapshots = room // (row_bytes(output.definition.type) * keys)
            most = part.find_broadcast(output, max(1, snapshots))
            most = max(most, output.done + output.definition.tdom.precision)
            limit, cut = (most, True) if most < limit else (limit, cut)
        return limit, cut

    def _ranges(self, limit: int) -> dict[str, OutputRange]:
        """Find the cells of each output up to a limit.

        While rows may come, a domain goes as far as the events so far, at least. A
        range may be final and empty: nothing follows the snapshot that is open.
        """
        ranges = {}
        for name, output in self.outputs.items():
            if output.finished:
                continue
            tdom = output.definition.tdom
            inputs = [self.inputs[source] for source in output.reach]
            domain = output_domain(tdom, (i.bounds for i in inputs), self.request)
            part, fixed = self.part_of[name], output.has_fixed_end(self.request)
            awaits = output.awaits_rows or name in part.awaits_ends
            fixed &= not (part.needs_all_keys or awaits)
            known = fixed or all(held.is_at_end for held in inputs)
            end = tdom.ceil(domain.end)
            # Of a cell that the limit is in, all that its grid point sees has come.
            most = min(limit if limit >= ENDLESS else tdom.ceil(limit), end)
            high = output.done if domain.is_empty else max(most, output.done)
            final = known and (domain.is_empty or high == end)
            if final or high > output.done:
                whole = domain if known else Domain(domain.start, ENDLESS)
                ranges[name] = OutputRange(whole, output.done, high, final)
        return ranges

    def _compute_span(self, ranges: Mapping[str, OutputRange]) -> Result:
        """Compute outputs over ranges: in this thread, where few bytes were read.

        Its steps are short then, and kernels that take long are handed over anyway.
        """
        if self.progress is None and self.fresh <= self.costs.most_bytes:
            return self._compute(ranges)
        return offload(partial(self._compute, ranges), self.progress, self._read())

    def _compute(self, ranges: Mapping[str, OutputRange]) -> Result:
        evaluations = {}
        for part in self.parts:
            several = _select(part, ranges)
            if several:
                evaluation = part.evaluate(several)
                evaluations.update(dict.fromkeys(part.group.query.outputs, evaluation))
                moved = any(not range_.is_empty for range_ in several.values())
                if isinstance(evaluation, Evaluation) and (evaluation.vector or moved):
                    self.vector = evaluation.vector
        for name, range_ in ranges.items():
            output = self.outputs[name]
            output.done, output.finished = range_.high, range_.final
        return self._result(evaluations)

    def _go_on(self, result: Result, *, read: bool) -> None:
        """After a span: forget what is done, and say how much to read for the next."""
        held_bytes = self._drop()
        if read:
            written = sum(
                table.num_rows * row_bytes(self.outputs[name].definition.type)
                for name, table in result.items()
            )
            costs = self.costs
            written_share = written / max(self.fresh, costs.least_bytes)
            copies = costs.row_copies + costs.snapshot_copies * written_share
            room = int((self.memory - costs.held_copies * held_bytes) / copies)
            longest = max(self.most_bytes, costs.held_share * held_bytes)
            most = max(costs.least_bytes, min(room, 4 * self.span, longest))
            self.span = self.fixed_span or most
            self.fresh = 0
        POOL.release(self.memory)

    def _drop(self) -> int:
        """Forget the rows that no output needs; the bytes of the others."""
        held_bytes = {}
        for name, held in self.inputs.items():
            outputs = list_readers(name, self.outputs.values())
            time, last_rows = find_horizon(name, outputs, self._find_done)
            if time is not None and self.vector is not None:
                time = min(time, self._halo_start(self.vector, name))
            held_bytes[name] = held.drop_before(time, last_rows)
        for part in self.parts:
            for name, rows in part.held_rows().items():
                held_bytes[name] += rows * self.inputs[name].row_bytes
        total = sum(held_bytes.values())
        needed = self.costs.held_copies * total
        if needed > self.memory:
            raise DataError(
                f"{format_size(total)} of rows must be held at once, for what looks "
                "back or ahead, or waits for another input; that takes some "
                f"{format_size(needed)} of memory, and {format_size(self.memory)} are "
                "allowed: give a larger memory=",
                input=max(held_bytes, key=lambda name: held_bytes[name]),
            )
        return total

    def _find_done(self, output: OutputProgress) -> int:
        return self.part_of[output.definition.name].find_done(output)

    def _halo_start(self, vector: VectorRange, name: str) -> int:
        """Find from when on a vector kernel reads an input for the next span."""
        reads = vector.aligned_range.reads
        lows = [read.low for read in reads if read.object == name]
        done = (each.done for each in self.outputs.values() if not each.finished)
        return min(done) + min(lows, default=ENDLESS)

    def _result(
        self, evaluations: Mapping[str, Evaluation | KeyedEvaluation]
    ) -> Result:
        tables = []
        for name, output in self.outputs.items():
            evaluation = evaluations.get(name) or self.part_of[name].nothing()
            form = format_of(name, output.definition.type, self.stamp)
            table = evaluation.table(form)
            tdom = output.definition.tdom
            if tdom.rows is None:
                table.grid = _find_grid(tdom)
            tables.append(table)
        return Result(tables)


def _find_grid(tdom: TDom) -> Grid:
    """Find the grid of an output, not one of rows, of which not all rows are known."""
    return Grid(tdom) if tdom.cells is None else IntervalGrid(tdom)
