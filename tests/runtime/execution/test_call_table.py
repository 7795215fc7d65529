"""Tables of calls: kernels built by hand, over the slots that a table fills."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.loops.trials import compiled
from tiltpy.abi.signature import Signature
from tiltpy.abi.slots import Slot, SlotKind
from tiltpy.loops.build import add, i64, load
from tiltpy.loops.nodes import Array, For, LoopKernel, Store, Var
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Code, Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.slot_map import OutputSlot
from tiltpy.types import I64

TOTAL = Array("total", I64, 0, written=True)
FIRST, LAST, I = Var("first", I64), Var("last", I64), Var("i", I64)  # noqa: E741
RUNNING_TOTAL = LoopKernel(
    ((FIRST, 1), (LAST, 2)),
    (TOTAL,),
    (For(I, FIRST, LAST, (Store(TOTAL, i64(0), add(load(TOTAL, i64(0)), I)),)),),
)
"""Adds the numbers from `FIRST` on, up to `LAST`, to what its state has."""
SIGNATURE = Signature(
    (
        Slot(SlotKind.STATE, ""),
        Slot(SlotKind.FIRST, ""),
        Slot(SlotKind.LAST, ""),
    ),
    (),
    (),
    (),
)


class Numbers:
    """Ranges of numbers, one a call."""

    slices: Mapping[str, RowSlices[Any]] = {}

    def __init__(self, edges: list[int]) -> None:
        self.edges = np.array(edges)
        self.count = len(edges) - 1

    def number(self, kind: SlotKind, _name: str, _column: int) -> I64Array:
        return self.edges[:-1] if kind is SlotKind.FIRST else self.edges[1:]

    def rows_of(self, _rows: object, constant: int) -> int:
        return constant

    def room(self, _slot: OutputSlot) -> int:
        raise AssertionError("it has no outputs")


class Executable:
    """Machine code that is there."""

    def __init__(self) -> None:
        self.machine = compiled(RUNNING_TOTAL)

    def code(self) -> Code:
        return self.machine


def test_calls_go_on_from_the_state_that_the_one_before_left() -> None:
    kernel = Kernel(SIGNATURE, Executable())
    state = np.zeros(1, np.int64)
    for edges in ([0, 10, 11, 40], [40, 100]):  # two tables, as of two evaluations
        states = CallStates(SIGNATURE.states, [state])
        table = CallTable(kernel, Numbers(edges), states=states)
        table.fill()
        table.run_in_order(ScratchArrays())
        assert state.tolist() == [sum(range(edges[-1]))]
