"""Aggregates: the states of reductions, with lift and combine.

A state is a tuple of numbers with an associative combine (section 6.1.2 of the paper:
init, acc, result). Only what is exact is evicted from a state, counts and sums of
integers: else the state of a window that a row leaves is combined again from partial
results, so that no rounding error, NaN or infinity outlives the window it was in.
"""

from collections.abc import Callable
from dataclasses import field

from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, convert, select
from tiltpy.loops.nodes import LExpr, Num, Var
from tiltpy.types import Scalar

State = tuple[LExpr, ...]
Lift = Callable[[Block, LExpr, LoopValue], State]
"""The state of one snapshot, from its row and value."""
Combine = Callable[[Block, State, State], State]
"""The state of two adjacent ranges, the older first; the block gets its variables."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A kind of state, with `lift` and an associative `combine`.

    `identity` is the neutral element. `combine_nonempty` is a simpler combine of states
    of which neither is the identity, `accumulate` a faster one of a state and that of a
    single snapshot. Over many snapshots the aggregate `wider` rounds less. `ordered`:
    only adjacent ranges may be combined. `idempotent`: ranges may also overlap, and a
    snapshot may come as often as it has cells. The components `counted` are integers
    that a combine adds up: constants in the state of one snapshot, they are multiples
    in those of several. `evict`, of those that are exact, undoes a combine: the state
    without the second one. Of the components `from_newer` a combine takes those of the
    newer state.
    """

    name: str
    types: tuple[Scalar, ...]
    identity: tuple[Num, ...] = field(compare=False)
    lift: Lift = field(compare=False)
    combine: Combine = field(compare=False)
    combine_nonempty: Combine | None = field(default=None, compare=False)
    wider: "Aggregate | None" = field(default=None, compare=False)
    ordered: bool = False
    idempotent: bool = False
    counted: frozenset[int] = field(default=frozenset(), compare=False)
    accumulate: Combine | None = field(default=None, compare=False)
    evict: Combine | None = field(default=None, compare=False)
    from_newer: frozenset[int] = field(default=frozenset(), compare=False)

    def join(self, block: Block, a: State, b: State, *, certain: bool) -> State:
        """Combine two states; `certain`: neither is the identity."""
        if certain and self.combine_nonempty is not None:
            return self.combine_nonempty(block, a, b)
        return self.combine(block, a, b)

    def widen(self, state: State) -> State:
        """Convert a state to the aggregate `wider`."""
        if self.wider is None:
            return state
        kinds = self.wider.types
        return tuple(convert(s, kind) for s, kind in zip(state, kinds, strict=True))


def lift_where(
    block: Block, aggregate: Aggregate, value: LoopValue, contributes: LExpr, row: LExpr
) -> State:
    """The state of a snapshot, the identity where it does not contribute."""
    state = aggregate.lift(block, row, value)
    if contributes == TRUE:
        return state
    return tuple(
        select(contributes, number, neutral)
        for number, neutral in zip(state, aggregate.identity, strict=True)
    )


def name_state(block: Block, label: str, state: State) -> State:
    """Assign the numbers of a state to variables."""
    return tuple(block.name(label, number) for number in state)


def variables_of(state: State) -> tuple[Var, ...]:
    """Take the numbers of a state that are all in variables."""
    variables = tuple(number for number in state if isinstance(number, Var))
    assert len(variables) == len(state), "a state that is not in variables"
    return variables
