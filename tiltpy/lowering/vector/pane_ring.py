"""Windows that overlap, of panes that are folded once, by van Herk blocks of panes.

Blocks are as long as a window and begin at absolute times. In the arrays are the panes
of the present block so far, and behind them what is left of the suffixes of the last
one: a suffix merged with the running prefix is a window. Three merges a pane, however
many a window has, in an order that no chunk changes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import gcd

from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import DEVIATIONS
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, eq, i64, load, lt, mul, sub
from tiltpy.loops.nodes import Array, Bin, LExpr, Store, Var, While
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
    """The panes of the latest window; `done` is the first one not made yet.

    `first` is the number of cell 0 counted from a time that is the same in all runs,
    `entered` the snapshots in the panes that the window has not shared with the last.
    """

    def __init__(self, builder: KernelBuilder, hop: Hop, first: LExpr) -> None:
        self.builder = builder
        self.hop = hop
        self.first = first
        self.done: Var = builder.fresh("pane")
        self.entered: Var = builder.fresh("entered")
        self.prefix: dict[Aggregate, tuple[Var, ...]] = {}
        self.arrays: dict[Aggregate, tuple[Array, ...]] = {}

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        block.set(self.done, i64(NEVER))
        for aggregate, prefix in self.prefix.items():
            for var, nothing in zip(prefix, aggregate.identity, strict=True):
                block.set(var, nothing)

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
        block.set(self.entered, i64(0))
        make = block.inner()
        ahead = mul(sub(self.done, begin), i64(self.hop.size))
        base = make.name("at", add(whole.base, ahead))
        states = fold(make, replace(whole, base=base, cells=self.hop.size))
        position = self._position(make, self.done)
        certain = whole.certain(block)
        for aggregate, state in states.items():
            if aggregate != DEVIATIONS:
                self._allocate(aggregate)
                self._take_in(make, aggregate, state, position, certain=certain)
        if COUNT in states:
            make.set(self.entered, add(self.entered, states[COUNT][0]))
        make.set(self.done, add(self.done, i64(1)))
        block.add(While(lt(self.done, end), make.body()))
        last = self._position(block, sub(end, i64(1)))
        return {
            aggregate: self._merge(block, aggregate, last, certain=certain)
            for aggregate in self.arrays
        }

    def _position(self, block: Block, pane: LExpr) -> LExpr:
        """The number of a pane in its block."""
        number = add(mul(self.first, i64(self.hop.stride)), pane)
        return block.name("position", Bin("%", number, i64(self.hop.panes), I64))

    def _allocate(self, aggregate: Aggregate) -> None:
        fresh, name = self.builder.fresh, f"{aggregate.name}.panes"
        self.prefix[aggregate] = tuple(fresh(name, kind) for kind in aggregate.types)
        self.arrays[aggregate] = tuple(
            self.builder.temporary(name, kind, (), self.hop.panes)
            for kind in aggregate.types
        )

    def _take_in(
        self,
        block: Block,
        aggregate: Aggregate,
        state: State,
        position: LExpr,
        *,
        certain: bool,
    ) -> None:
        """Add the state of a pane to those of its block."""
        prefix, arrays = self.prefix[aggregate], self.arrays[aggregate]
        opens, goes_on = block.inner(), block.inner()
        self._make_suffixes(opens, aggregate, certain=certain)
        opens.assign("m", prefix, state)
        merged = aggregate.join(goes_on, prefix, state, certain=certain)
        goes_on.assign("m", prefix, merged)
        block.either(eq(position, i64(0)), opens, goes_on)
        for array, component in zip(arrays, state, strict=True):
            block.add(Store(array, position, component))

    def _make_suffixes(
        self, block: Block, aggregate: Aggregate, *, certain: bool
    ) -> None:
        """Turn the panes of a block into its suffixes: from the first one made on."""
        arrays, fresh = self.arrays[aggregate], self.builder.fresh
        at = fresh("pane")
        suffix = tuple(fresh("suffix", kind) for kind in aggregate.types)
        block.set(at, i64(self.hop.panes - 1))
        for var, array in zip(suffix, arrays, strict=True):
            block.set(var, load(array, at))
        inner = block.inner()
        inner.set(at, sub(at, i64(1)))
        pane = tuple(inner.name("p", load(array, at)) for array in arrays)
        inner.assign("m", suffix, aggregate.join(inner, pane, suffix, certain=certain))
        for var, array in zip(suffix, arrays, strict=True):
            inner.add(Store(array, at, var))
        block.add(While(lt(i64(0), at), inner.body()))

    def _merge(
        self, block: Block, aggregate: Aggregate, last: LExpr, *, certain: bool
    ) -> State:
        """Merge the suffix of the last block with the prefix of this one, up to `last`.

        If that is its end, the window is the block.
        """
        prefix, arrays = self.prefix[aggregate], self.arrays[aggregate]
        window = tuple(
            self.builder.fresh(aggregate.name, kind) for kind in aggregate.types
        )
        whole, split = block.inner(), block.inner()
        whole.assign("m", window, prefix)
        following = split.name("position", add(last, i64(1)))
        suffix = tuple(split.name("s", load(array, following)) for array in arrays)
        merged = aggregate.join(split, suffix, prefix, certain=certain)
        split.assign("m", window, merged)
        block.either(eq(last, i64(self.hop.panes - 1)), whole, split)
        return window
