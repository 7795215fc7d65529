"""The part of a streamed run whose cells see rows of their own alone.

Nothing is kept for the cells to come: the rows of complete cells are pre-aggregated
like those of a whole run, or grouped where that does not pay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tiltpy.calendars import round_up
from tiltpy.engines.keyed_engine import KeyedEngine, KeyedEvaluation, announce
from tiltpy.engines.part_without_rows import PartWithoutRows
from tiltpy.lean_dataclass import record
from tiltpy.passes.pipeline import optimize
from tiltpy.passes.streamed_keys import find_key_traits
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import Domains, KeyedRanges
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.time_domain import OutputRange, Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.state import InputSource, OutputProgress, UnreadBuffer
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Keys, cast_keys
from tiltpy.runtime.ingest.read_input import Refuse, ingest
from tiltpy.runtime.ingest.unread_rows import UnreadRows
from tiltpy.runtime.keyed.join import (
    attach_strings,
    concat_keys,
    gather_keys,
    join_by_key,
    no_rows,
    spread,
)
from tiltpy.runtime.keyed.row_store import make_store
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.preaggregation.finalize import PaneSnapshots
from tiltpy.runtime.preaggregation.run import DirectFolds, FoldKernels, only_input
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.types import Type


def has_own_rows(
    group: OutputGroup[FoldKernels],
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
) -> bool:
    """Tell whether each cell of the outputs of a group sees rows of its own alone.

    Without rows of a key there is nothing, or one snapshot until its next row.
    """
    declared = only_input(group.query)
    if declared is None or declared.cells or options.preaggregate is False:
        return False
    binding = bindings[declared.name]
    lifetime = complete_input(declared, binding).lifetime
    if binding.samples is not None or lifetime is None or not lifetime.is_point:
        return False
    tdom, *others = {made.tdom for made in group.outputs.values()}
    if others:
        return False
    has_bounds = request.limits(tdom) != (None, None)
    return all(
        each.apart and each.steady and (each.sparse or not has_bounds)
        for each in find_traits(group).values()
    )


def find_traits(group: OutputGroup[Kernels]) -> Mapping[str, KeyTraits]:
    """Find the traits of the outputs by key of a group."""
    _, optimized = optimize(group.query)[-1]
    return find_key_traits(optimized)


def _join_blocks(
    blocks: Sequence[PaneSnapshots], keys: I64Array, of: Type
) -> KeyedSnapshots:
    """Join blocks of some of the `keys`, in their order."""
    if not blocks:
        return no_rows(of, len(keys))
    parts = [
        KeyedSnapshots(each.starts, each.ends, each.columns, each.counts)
        for each in blocks
    ]
    some = np.concatenate([each.keys for each in blocks])
    return spread(concat_keys(parts, of), keys.searchsorted(some), len(keys))


@record(frozen=True, slots=True, eq=False)
class KnownKeys:
    """Keys with rows, and their codes.

    Each goes on at `starts`, by output, and its last cell with a row ends at `ends`.
    """

    codes: I64Array
    keys: Keys
    starts: Mapping[str, Times]
    ends: Times


@record(frozen=True, slots=True, eq=False)
class MadeCells:
    """The snapshots of each output of keys with rows, and the dictionary of those."""

    known: KnownKeys
    snapshots: Mapping[str, KeyedSnapshots]
    strings: Strings


class CellPart(PartWithoutRows):
    """Outputs by key, of which `has_own_rows` holds.

    No key has a snapshot without a row, and rows wait unread.
    """

    def __init__(
        self,
        group: OutputGroup[FoldKernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement,
    ) -> None:
        (self.declared,) = group.query.inputs
        self.group = group
        self.request = request
        self.options = options
        self.announcement = announcement
        self.engine = KeyedEngine(group, request, options)
        self.traits = find_traits(group)
        self.tdom = next(iter(group.outputs.values())).tdom
        """The cells of all outputs."""
        self.refused_rows = 0
        """The most rows for which pre-aggregation was refused."""
        self._input: UnreadBuffer | None = None
        self._dictionary: KeyDictionary | None = None
        self._done: dict[str, Times] = {
            name: np.zeros(0, np.int64) for name in group.outputs
        }
        """Up to when the snapshots of each key were given, by its code."""
        self._open = {
            name: make_store(group.types[name])
            for name in group.outputs
            if self._behind(name)
        }
        """The snapshots of no rows that may go on, by output."""

    @property
    def dictionary(self) -> KeyDictionary:
        """The keys so far, once the input is open."""
        assert self._dictionary is not None
        return self._dictionary

    def open(self, inputs: Mapping[str, InputSource]) -> None:
        """Take the input that the outputs refer to."""
        name = self.declared.name
        source = inputs[name]
        assert isinstance(source, UnreadBuffer)
        self._input = source
        none = source.feed.nothing.keys
        assert none is not None
        self._dictionary = KeyDictionary(self.declared.keys, {name: none})

    def begin(
        self, layouts: object, outputs: Mapping[str, OutputProgress]
    ) -> list[int]:
        """List the precisions of objects that have a snapshot in every cell: none."""
        del layouts, outputs
        return []

    def evaluate(self, ranges: Mapping[str, OutputRange]) -> KeyedEvaluation:
        """Compute the outputs over ranges that begin where those before ended."""
        assert self._input is not None
        final = all(range_.final for range_ in ranges.values())
        rows = self._input.take(max(range_.high for range_ in ranges.values()))
        made = None
        if rows is not None:
            workers = self.options.workers or default_workers()
            with allow_threads(workers):
                made = self._compute(rows, workers)
        return self._close(made, final=final)

    def _compute(self, rows: UnreadRows, workers: int) -> MadeCells:
        """Compute the cells of some rows."""

        def compute(bound: InputBinding) -> MadeCells:
            if len(rows) >= 2 * self.refused_rows:
                try:
                    return self._fold(bound, workers)
                except Misfit:
                    self.refused_rows = len(rows)
            return self._group(bound, rows.reader.disorder)

        return rows.read(compute)

    def _fold(self, bound: InputBinding, workers: int) -> MadeCells:
        """Pre-aggregate rows, or raise `Misfit`."""
        costs, unit = self.options.costs.preaggregation, self.group.query.unit
        rows = read_in_time_order(self.declared, bound, unit, costs)
        if isinstance(rows, str):
            raise Misfit(rows)
        run = DirectFolds(
            self.group, rows, self.request, self.options, are_parts=True
        ).run(workers)
        first = next(iter(run.folded.values()))
        keys = Keys(run.names, first.matrices.keys.columns(first.present))
        known = self._note(keys, lambda: first.events.starts, first.cell_ends)
        snapshots = {}
        for name, aggregate in run.folded.items():
            # All have these keys, in this order, but each by numbers of its own.
            numbers = aggregate.present
            starts = np.zeros(aggregate.matrices.keys.count, np.int64)
            starts[numbers] = known.starts[name]
            blocks = aggregate.with_domains(starts, self._behind(name)).snapshots()
            snapshots[name] = _join_blocks(blocks, numbers, self.group.types[name])
        return MadeCells(known, snapshots, run.strings)

    def _group(self, bound: InputBinding, refuse: Refuse) -> MadeCells:
        """Compute the cells of rows that are grouped by key."""
        name, unit = self.declared.name, self.group.query.unit
        read = ingest(self.declared, bound, unit=unit, refuse=refuse)
        assert read.keys is not None
        assert read.groups is not None
        lasts = round_up(self.tdom, read.groups.lasts)
        firsts = read.groups.firsts
        known = self._note(read.keys, lambda: firsts, lasts)
        _, end = self.request.limits(self.tdom)
        ranges = {}
        for output, starts in known.starts.items():
            ends = lasts + self._behind(output) * self.tdom.precision
            ends = ends if end is None else np.minimum(ends, end)
            wanted = starts < ends
            domains = Domains(np.where(wanted, starts, 0), np.where(wanted, ends, 0))
            ranges[output] = KeyedRanges.whole(self.tdom, domains)
        run = self.engine.run_over(known.keys, {name: read.groups}, ranges)
        announce(run, self.announcement)
        snapshots = {}
        for output, several in run.run().items():
            of = self.group.types[output]
            made, _ = gather_keys(several, len(known.keys), of, run.strings)
            snapshots[output] = made
        return MadeCells(known, snapshots, run.strings)

    def _behind(self, name: str) -> int:
        """Return how many empty cells behind the last one of a key are looked at.

        One tells whether the last snapshot is one of no rows, and goes on.
        """
        return int(not self.traits[name].sparse)

    def _note(
        self, keys: Keys, find_firsts: Callable[[], Times], ends: Times
    ) -> KnownKeys:
        """Note keys that have rows, and find where each goes on.

        Its last cell with any ends at `ends`. It begins with its first row, unless the
        request says where: those are found if a key is new.
        """
        known, source = self.dictionary, self.declared.name
        before = len(known)
        columns = tuple(
            cast_keys(source, name, column, kind)
            for name, column, kind in zip(
                known.names, keys.columns, known.types, strict=True
            )
        )
        keys = Keys(known.names, columns)
        codes = known.encode(source, columns)
        is_known = codes < before
        start, _ = self.request.limits(self.tdom)
        begins = np.full(len(codes), start or 0)
        if start is None and not is_known.all():
            begins = find_firsts()
        starts = {}
        for name, done in self._done.items():
            if len(known) > len(done):
                missing = 2 * len(known) - len(done)
                self._done[name] = np.concatenate([done, np.zeros(missing, np.int64)])
            starts[name] = np.where(is_known, self._done[name][codes], begins)
        for store in self._open.values():
            store.grow(len(known))
        return KnownKeys(codes, keys, starts, ends)

    def _close(self, made: MadeCells | None, *, final: bool) -> KeyedEvaluation:
        """Keep snapshots of no rows that may go on, till the end."""
        complete: dict[str, KeyedSnapshots] = {}
        keys, strings, of = self.dictionary.none(), NO_STRINGS, self.group.types
        if made is not None:
            keys, strings = made.known.keys, made.strings
            complete = {name: self._keep_last(name, made, of[name]) for name in of}
        if final and any(map(len, self._open.values())):
            codes, keys = self.dictionary.sort(np.arange(len(self.dictionary)))
            places = np.empty(len(codes), np.int64)
            places[codes] = np.arange(len(codes))
            for name, payload in of.items():
                parts = [no_rows(payload, len(codes))]
                if made is not None:
                    slots = places[made.known.codes]
                    parts.append(spread(complete[name], slots, len(codes)))
                if name in self._open:
                    parts.append(self._open[name].take(codes))
                complete[name] = join_by_key(parts, payload)
        numbers = np.arange(len(keys))
        snapshots = {
            name: [KeySnapshots((rows.buffer(),), numbers, rows.counts)]
            for name, rows in complete.items()
        }
        return KeyedEvaluation(snapshots, keys, None, strings)

    def _keep_last(self, name: str, made: MadeCells, of: Type) -> KeyedSnapshots:
        """Keep the last snapshot of each key that goes on behind it; the others."""
        known, rows = made.known, made.snapshots[name]
        done = known.ends.copy()
        if self._behind(name):
            some = np.flatnonzero(rows.counts)
            last = rows.counts.cumsum()[some] - 1
            is_behind = rows.ends[last] > known.ends[some]
            some, last = some[is_behind], last[is_behind]
            goes_on = rows.starts[last] < known.ends[some]
            done[some[goes_on]] = rows.starts[last[goes_on]]
            waits, stays = (np.full(len(rows.starts), flag) for flag in (False, True))
            waits[last[goes_on]], stays[last] = True, False
            waiting = attach_strings(rows.keep(waits), of, made.strings)
            ends = known.ends[some[goes_on]]
            self._open[name].take(known.codes)
            self._open[name].put(known.codes, replace(waiting, ends=ends))
            rows = rows.keep(stays)
        self._done[name][known.codes] = done
        return rows

    def nothing(self) -> KeyedEvaluation:
        """Make an evaluation in which nothing is complete."""
        return KeyedEvaluation({}, self.dictionary.none(), None)
