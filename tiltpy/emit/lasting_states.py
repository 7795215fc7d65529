"""States that outlive a call: loaded before its loop, stored behind it.

The first array of a window is its control (`abi.signature`): it says whether there are
states to take over, and whether to leave any.
"""

from collections.abc import Sequence

from tiltpy.abi.signature import CONTROL, LEFT, TAKEN_OVER
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import eq, i64, le, load
from tiltpy.loops.nodes import Array, Store, Var
from tiltpy.types import I64

_ENTRY = i64(0)


class LastingStates:
    """Variables of a loop whose values the next call takes over."""

    def __init__(self, builder: KernelBuilder, name: str) -> None:
        self.builder = builder
        self.name = name
        self.arrays: list[tuple[Var, Array]] = []
        self.control: Array | None = None

    def add(self, variables: Sequence[Var]) -> None:
        """Add variables, in an order that the query alone decides."""
        builder = self.builder
        self.control = builder.state(CONTROL, I64)
        for variable in variables:
            array = builder.state(f"{self.name}.{variable.name}", variable.type)
            self.arrays.append((variable, array))

    def take_over(self, block: Block, behind: Block) -> None:
        """Load the variables if there are any of a call before; then run `behind`."""
        if self.control is None:
            return
        inner = block.inner()
        for variable, array in self.arrays:
            inner.set(variable, load(array, _ENTRY))
        inner.add(*behind.statements)
        block.when(eq(load(self.control, _ENTRY), i64(TAKEN_OVER)), inner)

    def leave(self, block: Block, before: Block) -> None:
        """Run `before` and store the variables, if the next call is to have them."""
        if self.control is None:
            return
        inner = block.inner()
        inner.add(*before.statements)
        for variable, array in self.arrays:
            inner.add(Store(array, _ENTRY, variable))
        inner.add(Store(self.control, _ENTRY, i64(TAKEN_OVER)))
        block.when(le(i64(LEFT), load(self.control, _ENTRY)), inner)
