"""The states of a window that folds on: every row goes in, and none leaves.

Reductions over one element share a `Track`. A loop inserts rows in order of time, and
asks for values in between; the states are all that a later call needs of the rows.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.window_elements import OF_ANY, Track
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce
from tiltpy.loops.build import TRUE, add, conj, i64, le, lt, mul
from tiltpy.loops.nodes import Bin, LExpr, Var
from tiltpy.types import ENDLESS, I64, STRING

Relabel = Callable[[Var], Var]
"""The variable that stands for another one elsewhere, such as in each lane."""


class RunningStates:
    """The states of all reductions over one window of `rows`.

    Floats are added up in blocks of time, of which the running one ends at `block_end`.
    """

    def __init__(self, builder: KernelBuilder, rows: ObjectRows) -> None:
        self.builder = builder
        self.rows = rows
        self.tracks: dict[Expr, Track] = {}
        self.block_end = builder.fresh(f"{rows.name}.block")

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        if element not in self.tracks:
            self.tracks[element] = Track(
                self.builder, self.rows, element, folds_on=True
            )
        return self.tracks[element]

    def variables(self) -> Iterator[Var]:
        """Yield the variables of the tracks, in an order of the query."""
        for track in self.tracks.values():
            for states in (track.running, track.blocks):
                for state in states.values():
                    yield from state
            for evictable in track.evictable.values():
                yield evictable.count
                yield from evictable.state

    def ordered_codes(self) -> Iterator[tuple[Var, LExpr, LExpr]]:
        """Yield the states that are the least or the greatest of codes of strings.

        Each with a test of there being one, and its value where there is none.
        """
        for track in self.tracks.values():
            for aggregate, state in track.running.items():
                if aggregate.types == (STRING,):
                    yield state[0], lt(i64(0), track.count()), aggregate.identity[0]

    def reset(self, block: Block) -> None:
        """Set the states of no row."""
        block.set(self.block_end, i64(-ENDLESS))
        for track in self.tracks.values():
            track.reset(block)
            for state in track.evictable.values():
                state.reset(block)

    def meets_invariants(self) -> LExpr:
        """Test whether there are rows, and states meet their invariants."""
        return conj(TRUE, *(track.meets_invariants() for track in self.tracks.values()))

    def insert(
        self,
        block: Block,
        row: LExpr,
        inside: LExpr = TRUE,
        *,
        marks: bool = True,
        invariant: bool = False,
    ) -> None:
        """Insert the next row if it is `inside` (see `Track.insert`)."""
        self._begin_block(block, row)
        for track in self.tracks.values():
            track.insert(block, row, inside, marks=marks, invariant=invariant)

    def _begin_block(self, block: Block, row: LExpr) -> None:
        """Close the running block if a row starts behind it."""
        tracks = [track for track in self.tracks.values() if track.blocks]
        if not tracks:
            return
        start = block.name("start", self.rows.start_at(row))
        ticks = i64(self.builder.block_ticks)
        close = block.inner()
        for track in tracks:
            track.close_block(close)
        number = Bin("//", start, ticks, I64)
        close.set(self.block_end, mul(add(number, i64(1)), ticks))
        # A selection would make the next row wait for it.
        block.when(le(self.block_end, start), close, rarely=True)

    def value(self, block: Block, node: Reduce, *, occupied: bool) -> LoopValue:
        """The value of a reduction; `occupied`: rows are known to have been inserted.

        Then the states meet their invariants.
        """
        track = self.track(node.element)
        known = occupied and not track.filtered
        if node.reduction in track.evictable:
            return track.evictable[node.reduction].value(block, invariant=known)
        if node.reduction in ("first", "last"):
            some, value = track.running_state(block, track.aggregate(node))
            return LoopValue(node.type, value, TRUE if known else some)
        (count,) = track.running[COUNT]
        some = block.name("some", lt(i64(0), count))
        if node.reduction == "count":
            return LoopValue(node.type, count, TRUE)
        state = track.running_state(block, track.aggregate(node))
        result = finish(block, node, state, count)
        if known and node.reduction in OF_ANY:
            return replace(result, valid=TRUE)
        return result

    def over(self, rows: ObjectRows) -> "RunningStates":
        """Copy the states to take in other rows of the same type."""
        other = copy(self)
        other.rows = rows
        other.tracks = {e: track.over(rows) for e, track in self.tracks.items()}
        return other

    def relabel(self, label: Relabel) -> "RunningStates":
        """Copy the states to other variables, to ask for their values there."""

        def move(state: tuple[Var, ...]) -> tuple[Var, ...]:
            return tuple(map(label, state))

        other = copy(self)
        other.tracks = {}
        for element, track in self.tracks.items():
            moved = other.tracks[element] = copy(track)
            moved.running = {a: move(s) for a, s in track.running.items()}
            moved.blocks = {a: move(s) for a, s in track.blocks.items()}
            moved.evictable = {
                name: state.relabel(label) for name, state in track.evictable.items()
            }
        return other
