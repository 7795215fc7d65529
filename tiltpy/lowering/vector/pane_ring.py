"""Windows that overlap, of panes that are folded once.

A ring has the states of the panes of a window; those that are new at a cell are made,
then all are merged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import gcd

from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import DEVIATIONS
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import add, i64, load, lt, mul, sub
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Store, Var, While
from tiltpy.types import I64

NEVER = -(1 << 62)
"""Earlier than every pane."""

States = Mapping[Aggregate, State]


@dataclass(frozen=True, slots=True)
class Hop:
    """Panes of overlapping windows: `size` cells each, `stride` more at each cell."""

    size: int
    panes: int
    stride: int

    @staticmethod
    def of(cells: int, stride: int) -> "Hop":
        """The panes of windows of so many cells."""
        size = gcd(stride, cells)
        return Hop(size, cells // size, stride // size)


class PaneRing:
    """The panes of the latest window; `done` is the first one not made yet."""

    def __init__(self, builder: KernelBuilder, hop: Hop) -> None:
        self.builder = builder
        self.hop = hop
        self.done: Var = builder.fresh("pane")

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        block.set(self.done, i64(NEVER))

    def window(
        self,
        block: Block,
        cell: LExpr,
        whole: Pane,
        fold: Callable[[Block, Pane], States],
    ) -> dict[Aggregate, State]:
        """The states of a cell's window, of panes that are made with `fold`."""
        begin = block.name("begin", mul(cell, i64(self.hop.stride)))
        end = block.name("end", add(begin, i64(self.hop.panes)))
        late = block.inner()
        late.set(self.done, begin)
        block.when(lt(self.done, begin), late)
        make = block.inner()
        ahead = mul(sub(self.done, begin), i64(self.hop.size))
        base = make.name("at", add(whole.base, ahead))
        states = fold(make, replace(whole, base=base, cells=self.hop.size))
        rings = {
            aggregate: self._ring(aggregate, state)
            for aggregate, state in states.items()
        }
        index = self._index(make, self.done)
        for aggregate, state in states.items():
            for ring, component in zip(rings[aggregate], state, strict=True):
                if ring is not None:
                    make.add(Store(ring, index, component))
        make.set(self.done, add(self.done, i64(1)))
        block.add(While(lt(self.done, end), make.body()))
        return {
            aggregate: self._merge(
                block, aggregate, states[aggregate], rings[aggregate], begin, end
            )
            for aggregate in states
            if aggregate != DEVIATIONS
        }

    def _ring(self, aggregate: Aggregate, state: State) -> tuple[Array | None, ...]:
        """An array for each part of a state that is not the same for all panes."""
        name, panes = f"{aggregate.name}.panes", self.hop.panes
        return tuple(
            None
            if isinstance(component, Num)
            else self.builder.temporary(name, scalar, (), panes)
            for component, scalar in zip(state, aggregate.types, strict=True)
        )

    def _index(self, block: Block, pane: Var) -> LExpr:
        return block.name("place", Bin("%", pane, i64(self.hop.panes), I64))

    def _merge(
        self,
        block: Block,
        aggregate: Aggregate,
        newest: State,
        rings: tuple[Array | None, ...],
        begin: LExpr,
        end: LExpr,
    ) -> State:
        """Combine all states in a ring, the oldest first."""
        fresh = self.builder.fresh
        state = tuple(fresh(aggregate.name, scalar) for scalar in aggregate.types)
        for var, nothing in zip(state, aggregate.identity, strict=True):
            block.set(var, nothing)
        at = fresh("pane")
        inner = block.inner()
        index = self._index(inner, at)
        newer = tuple(
            component if ring is None else inner.name("p", load(ring, index))
            for component, ring in zip(newest, rings, strict=True)
        )
        inner.assign("m", state, aggregate.combine(inner, state, newer))
        block.add(For(at, begin, end, inner.body()))
        return state
