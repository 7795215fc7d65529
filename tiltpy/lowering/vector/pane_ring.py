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
    """How windows are cut: `panes` of `size` cells each, `stride` more at each cell."""

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
        """Before the loop."""
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
        found = fold(make, replace(whole, base=base, cells=self.hop.size))
        rings = {kept: self._ring(kept, state) for kept, state in found.items()}
        place = self._place(make, self.done)
        for kept, state in found.items():
            for ring, part in zip(rings[kept], state, strict=True):
                if ring is not None:
                    make.add(Store(ring, place, part))
        make.set(self.done, add(self.done, i64(1)))
        block.add(While(lt(self.done, end), make.body()))
        return {
            kept: self._merged(block, kept, found[kept], rings[kept], begin, end)
            for kept in found
            if kept != DEVIATIONS
        }

    def _ring(self, kept: Aggregate, state: State) -> tuple[Array | None, ...]:
        """An array for each part of a state that is not the same for all panes."""
        name, panes = f"{kept.name}.panes", self.hop.panes
        return tuple(
            None
            if isinstance(part, Num)
            else self.builder.temporary(name, scalar, (), panes)
            for part, scalar in zip(state, kept.types, strict=True)
        )

    def _place(self, block: Block, pane: Var) -> LExpr:
        return block.name("place", Bin("%", pane, i64(self.hop.panes), I64))

    def _merged(
        self,
        block: Block,
        kept: Aggregate,
        one: State,
        rings: tuple[Array | None, ...],
        begin: LExpr,
        end: LExpr,
    ) -> State:
        """All states in a ring as one, the oldest first."""
        fresh = self.builder.fresh
        state = tuple(fresh(kept.name, scalar) for scalar in kept.types)
        for var, nothing in zip(state, kept.identity, strict=True):
            block.set(var, nothing)
        at = fresh("pane")
        inner = block.inner()
        place = self._place(inner, at)
        newer = tuple(
            part if ring is None else inner.name("p", load(ring, place))
            for part, ring in zip(one, rings, strict=True)
        )
        inner.assign("m", state, kept.combine(inner, state, newer))
        block.add(For(at, begin, end, inner.body()))
        return state
