"""States of user-defined reductions that see where a window that folds on cuts rows.

The end of such a window cuts its newest rows, at another time at each visit. The states
of all rows before the first of these are kept; the others are folded anew behind them.
"""

from tiltpy.aggregates.user_defined import code_of
from tiltpy.aggregates.window_elements import assign_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import UserReduction
from tiltpy.loops.build import FALSE, add, conj, eq, i64
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.types import BOOL

UserState = tuple[tuple[Var, ...], Var]
"""The state of a reduction, and whether it holds any snapshot."""


def fresh_state(builder: KernelBuilder, reduction: UserReduction) -> UserState:
    """Make the variables of a state."""
    name, types = reduction.name, code_of(reduction).types()
    state = tuple(builder.fresh(name, scalar) for scalar in types)
    return state, builder.fresh(f"{name}.some", BOOL)


def reset_state(block: Block, reduction: UserReduction, state: UserState) -> None:
    """Set the state of no snapshot."""
    variables, occupied = state
    assign_state(block, variables, code_of(reduction).initial(block))
    block.set(occupied, FALSE)


class KeptStates:
    """The states of the rows before `settled`, which all ended in the window."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows) -> None:
        self.builder = builder
        self.settled = builder.fresh(f"{rows.name}.settled")
        self.reductions: dict[str, UserReduction] = {}
        self.states: dict[str, UserState] = {}

    def add(self, reduction: UserReduction) -> None:
        """Keep the state of a reduction."""
        if reduction.name not in self.reductions:
            self.reductions[reduction.name] = reduction
            self.states[reduction.name] = fresh_state(self.builder, reduction)

    def reset(self, block: Block, first: LExpr) -> None:
        """Keep the states of no rows before the first one."""
        block.set(self.settled, first)
        for name, reduction in self.reductions.items():
            reset_state(block, reduction, self.states[name])

    def take_up(self, block: Block) -> dict[str, UserState]:
        """Copy the states, for the rows behind them to be folded."""
        copies = {
            name: fresh_state(self.builder, reduction)
            for name, reduction in self.reductions.items()
        }
        self._copy(block, self.states, copies)
        return copies

    def settle(
        self, block: Block, row: LExpr, ended: LExpr, states: dict[str, UserState]
    ) -> None:
        """Keep the states with a row if it `ended`, and all before it have."""
        keep = block.inner()
        self._copy(keep, states, self.states)
        keep.set(self.settled, add(self.settled, i64(1)))
        block.when(conj(eq(row, self.settled), ended), keep)

    def _copy(
        self, block: Block, source: dict[str, UserState], target: dict[str, UserState]
    ) -> None:
        for name in self.reductions:
            (state, occupied), (copy, copied) = source[name], target[name]
            assign_state(block, copy, state)
            block.set(copied, occupied)
