"""The states of `about_last` in lanes, each with the last finite value up to it."""

from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.emit.builder import Block
from tiltpy.emit.floats import minus, times
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import conj, convert, eq, f64, select
from tiltpy.loops.nodes import LExpr, Num, Splat, Var
from tiltpy.lowering.vector.lane_fill import LaneFill, all_true
from tiltpy.types import BOOL, F64, Scalar


class Pivots:
    """Those of one element. A value that is not finite would spoil all differences."""

    def __init__(self, block: Block, name: str, scalar: Scalar) -> None:
        carried = block.builder.fresh(f"{name}.pivot", scalar)
        self.lanes = LaneFill("last", (carried,))
        self.type = scalar

    def start(self, block: Block) -> None:
        """Set the variable before the loop."""
        self.lanes.start(block)

    def lift(
        self, block: Block, aggregate: Aggregate, value: LoopValue, contributes: LExpr
    ) -> State:
        """The states of a vector of cells, of which some contribute."""
        (none, *_), (counts, *_) = aggregate.identity, aggregate.types
        single = Num(1, counts)
        x = value.scalar
        pivot = block.builder.fresh("pivot", self.type)
        state = tuple(block.builder.fresh("lifted", kind) for kind in aggregate.types)
        finite = Splat(contributes, BOOL)
        if self.type.is_float:
            here = conj(contributes, eq(minus(x, x), Num(0.0, self.type)))
            finite = Splat(block.name("finite", here), BOOL)
        whole, partly = block.inner(), block.inner()
        whole.set(pivot, x)
        self._set(whole, state, (single, convert(x, F64), f64(0.0), f64(0.0)))
        self.lanes.fill(partly, finite, (x,), (pivot,))
        wide = partly.name("wide", convert(pivot, F64))
        apart = minus(convert(x, F64), wide)  # of what is not finite, not 0
        apart = partly.name("apart", select(contributes, apart, f64(0.0)))
        number = select(contributes, single, none)
        self._set(partly, state, (number, wide, apart, times(apart, apart)))
        block.either(all_true(block, finite), whole, partly)
        self.lanes.carry(block, (pivot,))
        return state

    def _set(self, block: Block, variables: tuple[Var, ...], state: State) -> None:
        for var, number in zip(variables, state, strict=True):
            block.set(var, Splat(number, var.type))
