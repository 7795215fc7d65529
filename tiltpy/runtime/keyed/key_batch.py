"""A batch of keys: the calls of both kernels for them, and what they make together."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import Loop, SlotKind
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.chunk_call import Kernel
from tiltpy.runtime.execution.kernel_arguments import written_column
from tiltpy.runtime.execution.key_domains import EARLIEST, Domains, Owned, Rows, Times
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.keyed.snapshots import Snapshots
from tiltpy.runtime.keyed.sweep_calls import Segments
from tiltpy.runtime.keyed.vector_calls import Edges, GridSegments, Written
from tiltpy.runtime.keyed.vector_ranges import KeyGrids
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps, KeyRanges
from tiltpy.types import columns

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class KeyBatch:
    """Some keys of a run, each over all of its domain.

    `grids` tells where a grid kernel serves them, if it serves any.
    """

    general: Kernel
    inputs: Mapping[str, Rows]
    domains: Mapping[str, Domains]
    keys: Numbers
    grids: KeyGrids | None
    request: Request
    strings: Strings

    def run(self, scratch: ScratchArrays) -> dict[str, KeySnapshots]:
        """The pieces of the outputs."""
        if self.grids is None or not self.grids.some.any():
            return self._alone(scratch)
        return self._with_grids(self.grids, scratch)

    def _alone(self, scratch: ScratchArrays) -> dict[str, KeySnapshots]:
        owned = {
            loop.name: Owned.all_of(loop.tdom, self.domains[loop.name])
            for loop in self.general.signature.loops
            if loop.name in self.domains
        }
        found = {}
        for name, made in self._segments(owned, self.keys, scratch).items():
            cut = made.cut(self.domains[name])
            found[name] = KeySnapshots((cut.buffer(),), self.keys, cut.counts)
        return found

    def _segments(
        self,
        owned: Mapping[str, Owned],
        keys: Numbers,
        scratch: ScratchArrays,
        *,
        near: bool = False,
    ) -> dict[str, Snapshots]:
        """What calls of the general kernel make."""
        batch = Segments(
            self.general.signature,
            self.inputs,
            owned,
            keys,
            self.request,
            self.strings,
            near=near,
        )
        return batch.run(self.general, scratch)

    # -- with a grid kernel -----------------------------------------------------------

    def _with_grids(
        self, grids: KeyGrids, scratch: ScratchArrays
    ) -> dict[str, KeySnapshots]:
        loops = {loop.name: loop for loop in grids.kernel.signature.loops}
        edges = Edges.of(grids)
        owned = {
            name: edges.owned(loop.tdom, self.domains[name], grids)
            for name, loop in loops.items()
        }
        made = self._segments(owned, self.keys[edges.keys], scratch, near=True)
        beside = {
            name: Beside.of(made[name], owned[name], loop, edges)
            for name, loop in loops.items()
        }
        served = np.flatnonzero(grids.some)
        calls = GridSegments(
            grids.of(served), self.inputs, self.keys[served], self.strings
        )
        free = {name: one.free() for name, one in beside.items()}
        left = {name: one.left() for name, one in beside.items()}
        written = calls.run(free, left, scratch)
        return {
            name: self._piece(calls, loop, written[name], beside[name])
            for name, loop in loops.items()
        }

    def _piece(
        self, calls: GridSegments, loop: Loop, written: Written, beside: "Beside"
    ) -> KeySnapshots:
        """An output's snapshots: those of the calls, and those beside them."""
        places, totals = beside.places(written.counts, self.domains[loop.name])
        rows, made = places.beside, beside.made
        payload = []
        for number in range(len(columns(loop.type))):
            values = written.arrays[SlotKind.OUT_VALUES, number]
            flags = written.arrays.get((SlotKind.OUT_VALIDITY, number))
            column = made.columns[number]
            values[rows] = column.values[: len(rows)]
            if flags is not None:
                flags[rows] = column.valid(len(rows))
            payload.append(written_column(values, flags, places.n))
        begins, covered = calls.bits(loop, written)
        piece = KeyedBitmaps(
            calls.low,
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
    """The snapshots beside the stretches of a grid kernel, by call.

    `reach[j]` is where the one ends that goes on from stretch `j`; it is none of them.
    """

    made: Snapshots
    edges: Edges
    reach: Times

    @staticmethod
    def of(made: Snapshots, owned: Owned, loop: Loop, edges: Edges) -> "Beside":
        """What calls made, without those that begin before their seam."""
        behind = edges.before + 1
        begun = made.counts.cumsum() - made.counts
        reach = np.full(len(behind), EARLIEST)
        some = np.flatnonzero(owned.seam[behind] & (made.counts[behind] > 0))
        rows = begun[behind[some]]
        seams = owned.first[behind[some]] - loop.tdom.precision
        before = made.starts[rows] < seams
        on = before & (made.ends[rows] > seams)
        reach[some[on]] = made.ends[rows[on]]
        if before.any():
            mask = np.ones(len(made.starts), np.bool_)
            mask[rows[before]] = False
            made = made.kept(mask)
        return Beside(made, edges, reach)

    def _led(self) -> Numbers:
        """How many of them stand before each stretch."""
        found: Numbers = self.made.counts.cumsum()[self.edges.before]
        return found

    def free(self) -> Numbers:
        """How many stand between each stretch and the one before it."""
        return np.diff(self._led(), prepend=0)

    def left(self) -> int:
        """How many stand behind the last stretch."""
        return int(self.made.counts.sum() - self._led()[-1])

    def places(self, counts: Numbers, domains: Domains) -> tuple[KeyRanges, Numbers]:
        """Where all stand with so many in each stretch; how many each key has."""
        own, before = self.made.counts, self.edges.before
        follow = np.zeros_like(own)
        follow[before] = counts
        moved = np.repeat(follow.cumsum() - follow, own)
        totals = np.add.reduceat(own + follow, self.edges.firsts)
        stops, some = totals.cumsum(), totals > 0
        places = KeyRanges(
            int(totals.sum()),
            counts,
            self._led() + counts.cumsum() - counts,
            own[before] > 0,
            self.reach,
            np.arange(len(moved)) + moved,
            (stops - totals)[some],
            (stops - 1)[some],
            domains.of(np.flatnonzero(some)),
        )
        return places, totals
