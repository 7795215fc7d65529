"""Evaluates a batch of keys with both kernels and merges their outputs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tiltpy.abi.signature import Loop
from tiltpy.abi.slots import SlotKind
from tiltpy.forks import cached_property
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import (
    CallTable,
    OutputArray,
    is_sparse,
    join_column,
)
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    Domains,
    KeyedRanges,
    RowsByKey,
)
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.keyed.sweep_calls import SweepBatch
from tiltpy.runtime.keyed.vector_calls import RangeEdges, VectorBatch
from tiltpy.runtime.keyed.vector_ranges import KeyVectorRanges
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps, KeyRanges
from tiltpy.types import columns


@dataclass(frozen=True, eq=False)
class KeyBatch:
    """Some keys of a run, each over its range.

    `grids` tells where a vector kernel serves them, if it serves any; `states` are
    those that the calls of the sweep kernel take over, if there are any. `repeated`: it
    may be run again, and what it prepares serves all runs.
    """

    sweep: Kernel
    inputs: Mapping[str, RowsByKey]
    ranges: Mapping[str, KeyedRanges]
    keys: I64Array
    grids: KeyVectorRanges | None
    request: Request
    strings: Strings
    states: CallStates | None = None
    repeated: bool = False

    def run(self, scratch: ScratchArrays) -> dict[str, KeySnapshots]:
        """The pieces of the outputs."""
        if self.grids is None or not self.grids.some.any():
            return self._sweep_all(scratch)
        return self._with_vectors(self.grids, scratch)

    def _sweep_all(self, scratch: ScratchArrays) -> dict[str, KeySnapshots]:
        snapshots = {}
        rows = {loop.name for loop in self.sweep.signature.loops if loop.stamped}
        if self.repeated:
            batch, table = self._repeated_calls
            swept = batch.run_again(table, scratch)
        else:
            swept = self._whole_batch().run(self.sweep, scratch)
        for name, made in swept.items():
            cut = made if name in rows else made.cut(self.ranges[name].domains)
            buffer = cut.buffer(row_object=name in rows)
            snapshots[name] = KeySnapshots((buffer,), self.keys, cut.counts)
        return snapshots

    def _whole_batch(self) -> SweepBatch:
        """The calls of the sweep kernel that compute all of each key's range."""
        owned = {
            loop.name: self.ranges[loop.name].cells(loop.tdom)
            for loop in self.sweep.signature.loops
            if loop.name in self.ranges
        }
        return self._batch(owned, self.keys)

    @cached_property
    def _repeated_calls(self) -> tuple[SweepBatch, CallTable]:
        """These calls, and their table, prepared for any number of runs."""
        batch = self._whole_batch()
        return batch, batch.prepare(self.sweep)

    def _batch(
        self,
        cells: Mapping[str, Cells[I64Array]],
        keys: I64Array,
        *,
        near: bool = False,
    ) -> SweepBatch:
        """Make a call of the sweep kernel for each of some keys."""
        return SweepBatch.of_keys(
            self.sweep.signature,
            self.inputs,
            cells,
            keys,
            self.request,
            self.strings,
            near=near,
            states=self.states,
        )

    # -- with a vector kernel ---------------------------------------------------------

    def _with_vectors(
        self, grids: KeyVectorRanges, scratch: ScratchArrays
    ) -> dict[str, KeySnapshots]:
        loops = {loop.name: loop for loop in grids.kernel.signature.loops}
        # The sweep kernel may have finer cells than the vector kernel.
        swept = {loop.name: loop for loop in self.sweep.signature.loops}
        edges = RangeEdges.of(grids)
        owned = {
            name: edges.cells(swept[name].tdom, self.ranges[name], grids)
            for name in loops
        }
        batch = self._batch(owned, self.keys[edges.keys], near=True)
        made = batch.run(self.sweep, scratch)
        beside = {
            name: Beside.of(made[name], owned[name], swept[name], edges)
            for name in loops
        }
        served = np.flatnonzero(grids.some)
        calls = VectorBatch(
            grids.of(served), self.inputs, self.keys[served], self.strings
        )
        free = {name: sides.count_between() for name, sides in beside.items()}
        left = {name: sides.count_behind() for name, sides in beside.items()}
        table = calls.run(free, left, scratch)
        return {
            name: self._piece(calls, loop, table, beside[name])
            for name, loop in loops.items()
        }

    def _piece(
        self, calls: VectorBatch, loop: Loop, table: CallTable, beside: "Beside"
    ) -> KeySnapshots:
        """An output's snapshots: those of the calls, and those beside them."""
        counts = table.counts(loop.name).copy()
        places, totals = beside.places(counts, self.ranges[loop.name].domains)
        rows, made = places.beside, beside.made
        payload = []
        for number in range(len(columns(loop.type))):
            values = table.arrays[SlotKind.OUT_VALUES, loop.name, number].array
            nulls = table.arrays.get((SlotKind.OUT_VALIDITY, loop.name, number))
            flags = None if nulls is None else nulls.array
            column = made.columns[number]
            if flags is None and column.validity is not None:
                flags = np.ones(places.n, np.uint8)  # the calls make no null
            values[rows] = column.values[: len(rows)]
            if flags is not None:
                flags[rows] = column.valid(len(rows))
            output = OutputArray(values).of(
                0, places.n, copy=is_sparse(values, places.n)
            )
            payload.append(join_column(output, flags, places.n))
        begins, covered = calls.bits(loop, table)
        piece = KeyedBitmaps(
            calls.low,
            calls.cells(loop),
            loop.tdom.precision,
            begins,
            covered,
            places,
            made.starts,
            made.ends,
            tuple(payload),
        )
        return KeySnapshots((piece,), self.keys, totals)


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """The snapshots beside the stretches of a vector kernel, by call.

    `reach[j]` is where the one ends that goes on from stretch `j`; it is none of them.
    """

    made: KeyedSnapshots
    edges: RangeEdges
    reach: Times

    @staticmethod
    def of(
        made: KeyedSnapshots, owned: Cells[I64Array], loop: Loop, edges: RangeEdges
    ) -> "Beside":
        """Return the snapshots of calls, without those that begin before their seam."""
        behind = edges.before + 1
        begun = made.counts.cumsum() - made.counts
        reach = np.full(len(behind), EARLIEST)
        assert not isinstance(owned.seam, bool)
        seamed = np.flatnonzero(owned.seam[behind] & (made.counts[behind] > 0))
        rows = begun[behind[seamed]]
        seams = owned.first[behind[seamed]] - loop.tdom.precision
        before = made.starts[rows] < seams
        on = before & (made.ends[rows] > seams)
        reach[seamed[on]] = made.ends[rows[on]]
        if before.any():
            mask = np.ones(len(made.starts), np.bool_)
            mask[rows[before]] = False
            made = made.keep(mask)
        return Beside(made, edges, reach)

    def _count_before(self) -> I64Array:
        """Count those before each time range."""
        counts: I64Array = self.made.counts.cumsum()[self.edges.before]
        return counts

    def count_between(self) -> I64Array:
        """Count those between each time range and the one before it."""
        return np.diff(self._count_before(), prepend=0)

    def count_behind(self) -> int:
        """Count those behind the last time range."""
        return int(self.made.counts.sum() - self._count_before()[-1])

    def places(self, counts: I64Array, domains: Domains) -> tuple[KeyRanges, I64Array]:
        """Output offsets of both kernels' snapshots, and the row count of each key.

        `counts` are the snapshots of the vector kernel's calls, in order of the calls.
        """
        beside_counts, before = self.made.counts, self.edges.before
        follow = np.zeros_like(beside_counts)
        follow[before] = counts
        moved = np.repeat(follow.cumsum() - follow, beside_counts)
        totals = np.add.reduceat(beside_counts + follow, self.edges.firsts)
        stops, nonempty = totals.cumsum(), totals > 0
        places = KeyRanges(
            int(totals.sum()),
            counts,
            self._count_before() + counts.cumsum() - counts,
            beside_counts[before] > 0,
            self.reach,
            np.arange(len(moved)) + moved,
            (stops - totals)[nonempty],
            (stops - 1)[nonempty],
            domains.of(np.flatnonzero(nonempty)),
        )
        return places, totals
