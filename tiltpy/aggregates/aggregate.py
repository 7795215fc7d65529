"""What a reduction keeps of some snapshots: a *state*, and how two are merged.

A state is a tuple of numbers with an associative merge (section 6.1.2 of the paper:
init, acc, result). Nothing is ever taken out of one: what leaves a window is gone
because its state is merged anew from partial results, so that no rounding error, NaN or
infinity outlives the window it was in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import TRUE, convert, select
from tiltpy.loops.nodes import LExpr, Num
from tiltpy.types import Scalar

State = tuple[LExpr, ...]
Lift = Callable[[Block, LExpr, LoopValue], State]
"""The state of one snapshot, from its row and value."""
Combine = Callable[[Block, State, State], State]
"""Two neighbouring states as one, the older first; the block takes what it names."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One kind of state.

    `merge` is associative and `identity` its neutral element. `joined` is a simpler
    merge, of states of which neither is the identity. Over many snapshots the kind
    `wider` rounds less. `ordered`: a merge of other than neighbours would be wrong.
    `counted`: what is constant in the state of one snapshot is how many they are.
    `take` is a faster merge, of a state and that of a single snapshot.
    """

    name: str
    types: tuple[Scalar, ...]
    identity: tuple[Num, ...] = field(compare=False)
    lift: Lift = field(compare=False)
    merge: Combine = field(compare=False)
    joined: Combine | None = field(default=None, compare=False)
    wider: "Aggregate | None" = field(default=None, compare=False)
    ordered: bool = False
    counted: bool = False
    take: Combine | None = field(default=None, compare=False)

    def join(self, block: Block, a: State, b: State, *, certain: bool) -> State:
        """Two states as one; `certain`: neither is the identity."""
        merge = self.joined if certain and self.joined is not None else self.merge
        return merge(block, a, b)

    def widen(self, state: State) -> State:
        """The state as one of the kind `wider`."""
        if self.wider is None:
            return state
        kinds = self.wider.types
        return tuple(convert(s, kind) for s, kind in zip(state, kinds, strict=True))


def lift_where(
    block: Block, kept: Aggregate, value: LoopValue, contributes: LExpr, row: LExpr
) -> State:
    """The state of a snapshot, the identity where it does not contribute."""
    state = kept.lift(block, row, value)
    if contributes == TRUE:
        return state
    return tuple(
        select(contributes, part, nothing)
        for part, nothing in zip(state, kept.identity, strict=True)
    )
