"""Pre-aggregation of Parquet files that are read in parts, in order of time.

A part is folded like all rows of a run, while another thread decodes the next one: its
memory serves the parts after it, and the states alone are kept. The rows of its last
pane wait for the next part, so that each pane is folded from its first row to its last,
and no float is added up in another order. The keys of a part are numbered by its own
dictionary; once all parts are read the states are put in order of keys.

Whatever is not as usual is a `Misfit`: then all rows are read at once.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.ir.nodes import Input
from tiltpy.plan.nodes import Misfit, Refusal
from tiltpy.plan.pane_limits import PaneFacts, most_keys, refuse_size
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.parquet_scan import (
    ParquetScan,
    RowBatch,
    may_have_nulls,
    rows_of,
)
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.arrow.timestamps import StampType
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.preaggregation.finalize import PaneAggregate
from tiltpy.runtime.preaggregation.pane_states import CodedKeys, Panes
from tiltpy.runtime.preaggregation.part_states import OutputStates
from tiltpy.runtime.preaggregation.run import (
    Fold,
    FoldKernels,
    PreaggregatedRun,
    ReadyFold,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import (
    TimeOrderedRows,
    read_in_time_order,
)
from tiltpy.types import U8, columns

_VALUE_BYTES = 8
"""The bytes of a value in memory, about."""


def fold_in_parts(
    group: OutputGroup[FoldKernels],
    binding: InputBinding,
    request: Request,
    options: RunOptions,
    memory: int,
    *,
    several_panes: bool = True,
) -> PreaggregatedRun:
    """Fold the rows of the only input of a query part by part; `Misfit` if not.

    States may take a share of `memory`, in bytes. Windows of `several_panes` are
    refused unless they may be. What is wrong with the data is a `DataError` that does
    not say where.
    """
    (declared,) = group.query.inputs
    scan = binding.frame
    if not isinstance(scan, ParquetScan):
        raise Misfit(f"~{declared.name} is in memory")
    total = rows_of(scan)
    if total < options.costs.spans.file_rows:
        raise Misfit(f"~{declared.name} has few rows")
    names = _choose_columns(declared, binding, scan)
    folds = _PartFolds(
        group, binding, request, options, memory, several_panes=several_panes
    )
    rows = options.costs.spans.most_file_bytes // (_VALUE_BYTES * len(names))
    with closing(scan.batches(names, rows, encoded=True)) as batches:
        folds.fold_all(_collect(batches, rows // 2), total)
    return folds.finish()


def _choose_columns(
    declared: Input, binding: InputBinding, scan: ParquetScan
) -> list[str]:
    """Choose the columns to read; `Misfit` where parts of them may not be alike."""
    settled = complete_input(declared, binding)
    choice = choose_columns(settled, binding.column, scan.schema)
    lifetime = settled.lifetime
    if binding.samples is not None or lifetime is None or lifetime.needs_next_row:
        raise Misfit(f"events of ~{declared.name} need the next row, or have no stamp")
    if choice.order or any(each.kind == "string" for _, each in columns(settled.type)):
        raise Misfit(f"~{declared.name} has strings, or columns that break ties")
    if any(len(path) > 1 or may_have_nulls(scan, path[0]) for path in choice.payload):
        raise Misfit(f"~{declared.name} may have nulls")
    return choice.columns


def _collect(batches: Iterable[RowBatch], rows: int) -> Iterator[pa.Table]:
    """Collect small batches; a part has about `rows` rows at least."""
    tables: list[pa.Table] = []
    for batch in batches:
        tables.append(batch.table)
        if sum(table.num_rows for table in tables) >= rows:
            yield _join_tables(tables)
            tables = []
    if tables:
        yield _join_tables(tables)


class _PartFolds:
    """The outputs of a query, folded part by part."""

    def __init__(
        self,
        group: OutputGroup[FoldKernels],
        binding: InputBinding,
        request: Request,
        options: RunOptions,
        memory: int,
        *,
        several_panes: bool,
    ) -> None:
        (self.declared,) = group.query.inputs
        self.memory = memory
        self.several_panes = several_panes
        self.group = group
        self.binding = binding
        self.request = request
        self.options = options
        self.costs = options.costs.preaggregation
        self.workers = options.workers or default_workers()
        self.outputs: dict[str, OutputStates] = {}
        self.known: KeyDictionary | None = None
        self.stamps: StampType | None = None
        self.rows = 0
        """Rows that were folded."""
        self.entries: dict[str, int] = {}
        """Keys of each part, added up, by output."""

    def fold_all(self, tables: Iterable[pa.Table], total: int) -> None:
        """Fold all rows, `total` of them."""
        waiting: list[pa.Table] = []
        for table in tables:
            rows = _join_tables([*waiting, table])
            done = self.fold(rows, final=False)
            if not done and len(waiting) > 1:
                raise Misfit("a pane has the rows of several parts")
            waiting = [rows.slice(done)] if done else [*waiting, table]
            if self.options.progress is not None:
                self.options.progress(self.rows, total)
        self.fold(_join_tables(waiting), final=True)
        if self.options.progress is not None:
            self.options.progress(1, 1)

    def fold(self, table: pa.Table, *, final: bool) -> int:
        """Fold the rows of complete panes, or of all; returns how many they are."""
        bound = replace(self.binding, frame=table)
        rows = read_in_time_order(
            self.declared, bound, self.group.query.unit, self.costs
        )
        if isinstance(rows, str):
            raise Misfit(rows)
        folds = self._plan(rows)
        cut = rows.buffer.n
        if not final:
            cut = min(int(fold.panes.rows[-2]) for fold in folds)
        if cut:
            for fold in folds:
                self._add(fold, rows, cut)
            self.rows += cut
            self._check_limits()
        return cut

    def _plan(self, rows: TimeOrderedRows) -> list[Fold]:
        if any(column.validity is not None for column in rows.buffer.columns):
            raise Misfit(f"~{self.declared.name} has nulls")
        # Rows of a later part may overlap, and all have one kernel.
        layout = Layout(TimeLayout.OVERLAPPING, (False,) * len(rows.buffer.columns))
        kernels = self.group.compile_for({self.declared.name: layout})
        folds = []
        for name in self.group.query.outputs:
            aggregation = kernels.pane_aggregation(name)
            if isinstance(aggregation, Refusal):
                raise Misfit(aggregation.reason)
            if aggregation.needs_rows:
                raise Misfit(f"~{name} needs the rows once more")
            if aggregation.merged > 1 and not self.several_panes:
                raise Misfit(f"windows of ~{name} have several panes")
            before = self.outputs.get(name)
            most = None if before is None else before.fold.most
            fold = Fold.of(name, aggregation, rows, kernels, self.costs, most)
            folds.append(replace(fold, wide=True))
        if self.known is None:
            none = _select_keys(rows, folds[0].keys, np.zeros(0, np.int64))
            self.known = KeyDictionary(rows.names, {self.declared.name: none})
            self.stamps = rows.stamps
        return folds

    def _add(self, fold: Fold, rows: TimeOrderedRows, cut: int) -> None:
        """Fold the rows before `cut`, where a pane of each output begins."""
        assert self.known is not None
        output = self.outputs.setdefault(fold.name, OutputStates(fold))
        edges = fold.panes.rows
        stop = int(edges.searchsorted(cut))
        if edges[stop] != cut:
            raise Misfit("panes of several outputs begin at other times")
        # A pane without rows comes first: it has the states of none.
        gap = fold.panes.first - (output.first + output.panes)
        ahead = np.zeros(gap + 1, np.int64)
        panes = Panes(
            fold.panes.first - gap - 1, np.concatenate([ahead, edges[: stop + 1]])
        )
        fold = replace(fold, panes=panes)
        ready, matrices = ReadyFold(fold, rows.buffer, NO_STRINGS).fill(
            rows, self.workers
        )
        definition = self.group.outputs[fold.name]
        aggregate = PaneAggregate(
            matrices, ready.cells, definition.tdom, definition.type, self.request
        )
        entries = self.entries.get(fold.name, 0) + len(aggregate.present)
        self.entries[fold.name] = entries
        if entries * self.costs.rows_per_key > self.rows + rows.buffer.n:
            raise Misfit(f"~{self.declared.name} has many keys in each part")
        keys = _select_keys(rows, matrices.keys, aggregate.present)
        codes = self.known.encode(self.declared.name, keys.columns)
        if output.has_new(codes):  # to find their first rows takes a pass
            output.note(codes, aggregate.events.starts)
        size = len(panes) * matrices.keys.count
        states = [
            array[:size].reshape(len(panes), matrices.keys.count)
            for array in matrices.arrays
        ]
        output.nothing = tuple(array[0, 0] for array in states)
        output.cells = ready.cells
        output.add(
            len(panes) - 1,
            codes,
            tuple(array[1:, aggregate.present] for array in states),
        )

    def _check_limits(self) -> None:
        """Check that states of all keys so far are not too many."""
        assert self.known is not None
        for name, output in self.outputs.items():
            aggregation = output.fold.aggregation
            states = aggregation.states
            facts = PaneFacts(
                self.declared.name,
                self.rows,
                output.panes,
                len(states),
                aggregation.merged,
            )
            most = most_keys(facts, self.costs)
            entry = sum(scalar.entry_bytes for scalar in states)
            size = 2 * output.panes * len(self.known) * entry  # in parts, and joined
            refusal = refuse_size(name, 0, size, self.memory, facts, self.costs)
            if refusal is not None:
                raise Misfit(refusal.reason)
            if isinstance(most, Refusal) or len(self.known) > most:
                raise Misfit(f"~{self.declared.name} has too many keys")

    def finish(self) -> PreaggregatedRun:
        """Put the states of all parts in order of keys."""
        assert self.known is not None
        assert self.stamps is not None
        known = self.known
        codes, keys = known.sort(np.arange(len(known)))
        slots = np.empty(len(codes), np.int64)
        slots[codes] = np.arange(len(codes))
        none = np.zeros(0, np.uint8)

        def take(numbers: I64Array) -> tuple[pa.Array, ...]:
            return known.decode(codes[numbers])

        coded = CodedKeys(none, U8, 0, len(codes), take)
        rows = SnapshotBuffer.empty(self.declared.type)
        folded = {}
        for name, output in self.outputs.items():
            assert output.cells is not None
            definition = self.group.outputs[name]
            start, _ = self.request.limits(definition.tdom)
            folded[name] = PaneAggregate(
                output.join(coded, slots, rows),
                output.cells,
                definition.tdom,
                definition.type,
                self.request,
                output.starts[codes] if start is None else np.full(len(codes), start),
            )
        return PreaggregatedRun(
            self.group.query, keys.names, self.stamps, NO_STRINGS, folded
        )


def _select_keys(rows: TimeOrderedRows, keys: CodedKeys, numbers: I64Array) -> Keys:
    return Keys(rows.names, keys.columns(numbers))


def _join_tables(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
