"""Windows of a fixed number of rows over samples, a stretch of them at a time.

The rows are cut into blocks as long as the window (van Herk, Gil and Werman). A window
then is the end of one block and the beginning of the next: with the merged states of
every suffix and prefix of the blocks it is one more merge, whatever its length, and it
depends on its content alone. Four blocks are scanned side by side, so that the latency
of a merge is hidden; what the scans leave is an array of results, over which the rest
of the query is a plain loop.
"""

from dataclasses import dataclass

from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    TRUE,
    add,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Store, Var, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.reducers import COUNT, Kept, State, finish
from tiltpy.lowering.rows import ObjectRows
from tiltpy.lowering.values import Lowered
from tiltpy.lowering.windows import assign_state, element_of, kept_of, lift, row_value
from tiltpy.types import I64

LANES = 4
"""Blocks scanned side by side."""
STRETCH = 1024
"""Results made at a time, at least; they stay in the first-level cache."""

Key = tuple[Expr, Kept]


@dataclass(frozen=True, slots=True)
class Place:
    """A block: its first row, where its prefixes and where its suffixes stand."""

    row: LExpr
    prefixes: LExpr
    suffixes: LExpr


class BlockWindow:
    """A window over samples in a loop that moves on by one row at a time."""

    def __init__(
        self, assembly: Assembly, rows: ObjectRows, window: Window, precision: int
    ) -> None:
        self.assembly = assembly
        self.rows = rows
        self.window = window
        label = f"{rows.name}.block"
        self.width = assembly.fresh(f"{label}.width")
        self.newest = assembly.fresh(f"{label}.newest")
        self.groups = assembly.fresh(f"{label}.groups")
        self.base = assembly.fresh(f"{label}.base")
        self.ready = assembly.fresh(f"{label}.ready")
        self.most = (window.end - window.start) // precision + 1
        self.states: dict[Key, tuple[tuple[Array, ...], tuple[Array, ...]]] = {}
        self.filtered: dict[Expr, bool] = {}

    def contributes_always(self, element: Expr) -> bool:
        """Whether an element is never φ."""
        if element not in self.filtered:
            trial = element_of(Block(self.assembly), self.rows, i64(0), element)
            self.filtered[element] = trial.valid != TRUE
        return not self.filtered[element]

    def reduce(self, node: Reduce) -> None:
        """Have a reduction over the window computed."""
        certain = self.contributes_always(node.element)
        if not (certain and node.reduction in ("count", "first", "last")):
            self._keep(node.element, kept_of(node))
        if not certain:
            self._keep(node.element, COUNT)

    def _keep(self, element: Expr, kept: Kept) -> None:
        if (element, kept) in self.states:
            return
        # A stretch is `groups * LANES` blocks; the last block's suffixes, which the
        # next stretch starts with, stand behind it.
        span = STRETCH + (LANES + 1) * self.most

        def arrays(name: str) -> tuple[Array, ...]:
            label = f"{self.rows.name}.{kept.name}.{name}"
            return tuple(
                self.assembly.temporary(label, scalar, (), span)
                for scalar in kept.types
            )

        self.states[element, kept] = arrays("suffix"), arrays("prefix")

    def start(self, block: Block, oldest: LExpr, newest: LExpr) -> None:
        """Before the loop, whose first window is the rows `oldest` to `newest`."""
        block.set(self.newest, newest)
        block.set(self.width, add(sub(newest, oldest), i64(1)))
        blocks = Bin("//", i64(STRETCH), mul(self.width, i64(LANES)), I64)
        block.set(self.groups, greatest(blocks, i64(1)))
        block.set(self.base, i64(0))
        block.set(self.ready, i64(0))
        self._end_blocks(block)
        before = block.name("before", sub(self.newest, self.width))
        at = block.name("at", sub(self._stretch(), self.width))
        self._suffixes(block, [self._at(block, before, at)])

    def _stretch(self) -> LExpr:
        """How many results are made at a time."""
        return mul(mul(self.groups, i64(LANES)), self.width)

    def _at(self, block: Block, row: LExpr, cell: LExpr) -> Place:
        """The block whose first row is the newest in the window of a cell."""
        after = add(cell, sub(self.width, i64(1)))
        return Place(row, cell, block.name("after", after))

    def _end_blocks(self, block: Block) -> None:
        each = self.assembly.fresh("block")
        inner = block.inner()
        at = inner.name("end", sub(mul(add(each, i64(1)), self.width), i64(1)))
        for (_, kept), (suffixes, _) in self.states.items():
            for array, value in zip(suffixes, kept.identity, strict=True):
                inner.add(Store(array, at, value))
        count = add(mul(self.groups, i64(LANES)), i64(1))
        block.add(For(each, i64(0), count, inner.body()))

    def _lifted(self, block: Block, row: LExpr) -> dict[Key, State]:
        """The state of each kind of one row."""
        there = block.name("row", row)
        elements = {
            element: element_of(block, self.rows, there, element)
            for element, _ in self.states
        }
        found = {}
        for key in self.states:
            element, kept = key
            value = elements[element]
            state = lift(kept, there, value)
            found[key] = tuple(
                block.name("e", select(value.valid, one, none))
                for one, none in zip(state, kept.identity, strict=True)
            )
        return found

    def _scan(self, block: Block, lanes: int) -> dict[Key, list[tuple[Var, ...]]]:
        """Running states for some blocks side by side, each at its identity."""
        running = {
            key: [
                tuple(self.assembly.fresh("run", scalar) for scalar in key[1].types)
                for _ in range(lanes)
            ]
            for key in self.states
        }
        for (_, kept), states in running.items():
            for state in states:
                for var, value in zip(state, kept.identity, strict=True):
                    block.set(var, value)
        return running

    def _suffixes(self, block: Block, places: list["Place"]) -> None:
        """Scan whole blocks backward; no window needs a block's first suffix."""
        running = self._scan(block, len(places))
        step = self.assembly.fresh("step")
        block.set(step, self.width)
        inner = block.inner()
        inner.set(step, sub(step, i64(1)))
        for lane, place in enumerate(places):
            lifted = self._lifted(inner, add(place.row, step))
            for key, (suffixes, _) in self.states.items():
                state = running[key][lane]
                assign_state(inner, state, key[1].merge(lifted[key], state))
                for array, var in zip(suffixes, state, strict=True):
                    inner.add(Store(array, add(place.suffixes, step), var))
        block.add(While(lt(i64(1), step), inner.body()))

    def _prefixes(self, block: Block, places: list[Place], length: LExpr) -> None:
        """Scan blocks forward."""
        running = self._scan(block, len(places))
        step = self.assembly.fresh("step")
        inner = block.inner()
        for lane, place in enumerate(places):
            lifted = self._lifted(inner, add(place.row, step))
            for key, (_, prefixes) in self.states.items():
                state = running[key][lane]
                assign_state(inner, state, key[1].merge(state, lifted[key]))
                for array, var in zip(prefixes, state, strict=True):
                    inner.add(Store(array, add(place.prefixes, step), var))
        block.add(For(step, i64(0), length, inner.body()))

    def fill(self, block: Block, cell: LExpr) -> None:
        """Append the making of the next stretch of results, where they have run out."""
        inner = block.inner()
        inner.set(self.base, self.ready)
        self._carry(inner)
        group = self.assembly.fresh("group")
        body = inner.inner()
        self._group(body, group)
        inner.add(For(group, i64(0), self.groups, body.body()))
        inner.set(self.ready, add(self.ready, self._stretch()))
        block.when(le(self.ready, cell), inner)

    def _carry(self, block: Block) -> None:
        """The last block's suffixes become those before the first."""
        step = self.assembly.fresh("step")
        last = block.name("at", self._stretch())
        inner = block.inner()
        for suffixes, _ in self.states.values():
            for array in suffixes:
                inner.add(Store(array, step, load(array, add(last, step))))
        block.add(For(step, i64(0), self.width, inner.body()))

    def _group(self, block: Block, group: LExpr) -> None:
        """Scan a few blocks side by side, or one by one where the rows end."""
        first = block.name("first", mul(group, i64(LANES)))
        places = [self._place(block, add(first, i64(n))) for n in range(LANES)]
        beyond = add(places[-1].row, self.width)
        together, singly = block.inner(), block.inner()
        self._suffixes(together, places)
        self._prefixes(together, places, self.width)
        lane = self.assembly.fresh("lane")
        one = singly.inner()
        place = self._place(one, add(first, lane))
        left = one.name("left", sub(self.rows.count, place.row))
        whole = one.inner()
        self._suffixes(whole, [place])
        one.when(le(self.width, left), whole)
        self._prefixes(one, [place], least(left, self.width))
        singly.add(For(lane, i64(0), i64(LANES), one.body()))
        block.either(le(beyond, self.rows.count), together, singly)

    def _place(self, block: Block, number: LExpr) -> "Place":
        """Where a block of the current stretch is."""
        cell = block.name("cell", mul(number, self.width))
        row = block.name("row", add(add(self.newest, self.ready), cell))
        return self._at(block, row, cell)

    def value(self, block: Block, node: Reduce, cell: LExpr) -> Lowered:
        """The value of a reduction at a grid point of the current stretch."""
        certain = self.contributes_always(node.element)
        if certain and node.reduction == "count":
            return Lowered(node.type, self.width, TRUE)
        newest = add(self.newest, cell)
        if certain and node.reduction == "last":
            return row_value(block, self.rows, node, newest, TRUE)
        if certain and node.reduction == "first":
            oldest = add(sub(newest, self.width), i64(1))
            return row_value(block, self.rows, node, oldest, TRUE)
        at = block.name("at", sub(cell, self.base))
        state = self._state(block, (node.element, kept_of(node)), at)
        count: LExpr = self.width
        if not certain:
            (count,) = self._state(block, (node.element, COUNT), at)
        if node.reduction in ("first", "last"):
            some = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, state[0], some)
        value, valid = finish(node, state, count)
        sure = certain and node.ddof == 0
        return Lowered(node.type, value, TRUE if sure else valid)

    def _state(self, block: Block, key: Key, at: LExpr) -> State:
        ends, begins = (
            tuple(block.name("w", load(array, at)) for array in arrays)
            for arrays in self.states[key]
        )
        merged = key[1].merge(ends, begins)
        return tuple(block.name("w", value) for value in merged)
