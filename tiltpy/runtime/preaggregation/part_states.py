"""The states of an output that is folded part by part, and all of them joined."""

import numpy as np

from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.preaggregation.pane_states import CodedKeys, Matrices, Panes
from tiltpy.runtime.preaggregation.run import Fold
from tiltpy.types import ENDLESS


@record(frozen=True, slots=True, eq=False)
class PartStates:
    """States of one part: matrices `[pane][key]`, and the codes of the keys."""

    codes: I64Array
    arrays: tuple[Array, ...]


class OutputStates:
    """The states of an output in all parts so far."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.first = fold.panes.first
        self.panes = 0
        self.parts: list[PartStates] = []
        self.nothing: tuple[Array, ...] = ()
        """The states of no rows."""
        self.starts: Times = np.zeros(0, np.int64)
        """The start of the first event of each key, by its code."""
        self.cells: Kernel | None = None

    def add(self, panes: int, codes: I64Array, arrays: tuple[Array, ...]) -> None:
        """Add the states of some panes."""
        self.panes += panes
        self.parts.append(PartStates(codes, arrays))

    def has_new(self, codes: I64Array) -> bool:
        """Tell whether some keys have had no event before."""
        count = len(self.starts)
        return bool((codes >= count).any() or (self.starts[codes] == ENDLESS).any())

    def note(self, codes: I64Array, starts: Times) -> None:
        """Note the starts of the first events that keys have in a part."""
        count = max(len(self.starts), int(codes.max(initial=-1)) + 1)
        known = np.full(count, ENDLESS)
        known[: len(self.starts)] = self.starts
        known[codes] = np.minimum(known[codes], starts)
        self.starts = known

    def join(self, keys: CodedKeys, slots: I64Array, rows: SnapshotBuffer) -> Matrices:
        """Join the states of all parts; `slots` are the places of codes."""
        aggregation = self.fold.aggregation
        kernel, _ = self.fold.kernels.preaggregation_kernels(
            self.fold.name, self.fold.keys.scalar, narrow=False
        )
        panes = Panes(self.first, np.zeros(self.panes + 1, np.int64))
        matrices = Matrices(
            kernel.signature, rows, keys, panes, NO_STRINGS, self.fold.costs
        ).allocate()
        for number in range(len(aggregation.states)):
            size = self.panes * keys.count
            joined = matrices.arrays[number][:size].reshape(self.panes, keys.count)
            joined[:] = self.nothing[number]
            low = 0
            for part in self.parts:
                states = part.arrays[number]
                joined[low : low + len(states), slots[part.codes]] = states
                low += len(states)
        return matrices
