"""Value counts: how many cells of a sliding window have each value, cell by cell.

One value comes and one leaves with each cell, so two counts change. Values whose keys
lie close together are counted in place, at their distance from the first one. Once one
lies further away all have an entry of a hash table. No entry is removed when its last
value leaves: a table that fills is built anew, from the values that still count.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.order_keys import probe
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    i64,
    le,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    Extract,
    For,
    LExpr,
    Num,
    Splat,
    Store,
    Var,
    Wide,
)
from tiltpy.types import BOOL, I32, I64, U64

Keys = tuple[LExpr, LExpr]
"""The keys of a vector of cells, and the mask of those that have any."""
_FREE, _NOTHING, _ONE = Num(-1, I32), Num(0, I32), Num(1, I32)
_MOVED = Num(-2, I32)
_PLENTY = Num(1 << 30, I32)
"""The count of cells without a value: so many that it never reaches zero."""


class ValueCounts:
    """The counts of one window of so many `cells`, in one half of a table.

    The other half is for the table that is built from it. Cells without a value have
    the entry `nowhere`.
    """

    def __init__(self, builder: KernelBuilder, name: str, cells: int) -> None:
        self.builder = builder
        self.name = f"{name}.counted"
        self.cells = cells
        self.size = max(
            builder.costs.counted_entries, 1 << (4 * cells - 1).bit_length()
        )
        self.nowhere = Num(2 * self.size, I32)
        self.cycle = 1 << (cells + LANES - 1).bit_length()
        self.counts = self._array("counts", 2 * self.size + LANES)
        self.keys = builder.temporary(f"{self.name}.keys", U64, (), 2 * self.size)
        self.entries = self._array("entries", self.cycle)
        self.results = self._array("results", LANES)
        self.sought = builder.temporary(f"{self.name}.sought", U64, (), LANES)
        self.seen: Array | None = None
        self.base = builder.fresh(f"{self.name}.base")
        self.used = builder.fresh(f"{self.name}.used")
        self.position = builder.fresh(f"{self.name}.position")
        self.different = builder.fresh(f"{self.name}.different", I32)
        self.low = builder.fresh(f"{self.name}.low", U64)
        self.begun = builder.fresh(f"{self.name}.begun", BOOL)
        self.close = builder.fresh(f"{self.name}.close", BOOL)

    def _array(self, name: str, size: int) -> Array:
        return self.builder.temporary(f"{self.name}.{name}", I32, (), size)

    def start(self, block: Block) -> None:
        """Empty the window before the loop."""
        self._fill(block, self.counts, i64(0), self.size, _NOTHING)
        self._fill(block, self.entries, i64(0), self.cycle, self.nowhere)
        block.add(Store(self.counts, i64(2 * self.size), _PLENTY))
        for var in (self.base, self.used, self.position):
            block.set(var, i64(0))
        block.set(self.different, _NOTHING)
        block.set(self.low, Num(0, U64))
        block.set(self.begun, FALSE)
        block.set(self.close, TRUE)

    def _fill(
        self, block: Block, array: Array, first: LExpr, size: int, value: Num
    ) -> None:
        at = self.builder.fresh("at")
        store = Store(array, at, Splat(value, I32))
        block.add(For(at, first, add(first, i64(size)), (store,), LANES))

    # A round of the loop

    def count_different(self, block: Block, keys: Keys) -> LExpr:
        """Take in the newest cells; count the different values of each window."""
        self._take(block, keys)
        for lane in range(LANES):
            old, new = self._move(block, lane)
            vanished = convert(eq(old, _NOTHING), I32)
            appeared = convert(eq(new, _ONE), I32)
            change = sub(appeared, vanished)
            block.set(self.different, add(self.different, change))
            block.add(Store(self.results, i64(lane), self.different))
        return self._results(block)

    def count_equal(self, block: Block, keys: Keys, present: Keys | None) -> LExpr:
        """Take in the newest cells; count the values that are those of the `present`.

        None: the present is the newest cell itself.
        """
        if present is not None:
            self.seen = self.seen or self._array("seen", LANES)
        self._take(block, keys, present)
        for lane in range(LANES):
            _, count = self._move(block, lane)
            if self.seen is not None:
                entry = convert(load(self.seen, i64(lane)), I64)
                count = load(self.counts, entry)
            block.add(Store(self.results, i64(lane), count))
        return self._results(block)

    def _move(self, block: Block, lane: int) -> tuple[LExpr, LExpr]:
        """Uncount the cell that leaves, and count the one that comes: their counts."""
        at = block.name("at", add(self.position, i64(lane)))
        gone = Bin("%", sub(at, i64(self.cells)), i64(self.cycle), I64)
        changed = []
        for row, by in ((gone, sub), (at, add)):
            entry = block.name("entry", convert(load(self.entries, row), I64))
            count = block.name("count", by(load(self.counts, entry), _ONE))
            block.add(Store(self.counts, entry, count))
            changed.append(count)
        return changed[0], changed[1]

    def _results(self, block: Block) -> LExpr:
        following = add(self.position, i64(LANES))
        block.set(self.position, Bin("%", following, i64(self.cycle), I64))
        return block.name("counted", convert(Wide(self.results, i64(0), I32), I64))

    # Entries of values

    def _take(self, block: Block, keys: Keys, present: Keys | None = None) -> None:
        """Find the entries of the newest cells, and of what the present has."""
        lookups: list[tuple[Keys, Array, LExpr]]
        lookups = [(keys, self.entries, self.position)]
        if present is not None:
            assert self.seen is not None
            lookups.append((present, self.seen, i64(0)))
        first, rebuild, direct, hashed = (block.inner() for _ in range(4))
        middle = Num(self.size // 2, U64)
        first.set(self.low, Bin("-", Extract(keys[0], 0, U64), middle, U64))
        first.set(self.begun, TRUE)
        block.when(negate(self.begun), first, rarely=True)
        far: LExpr = FALSE
        for (key, exists), entries, at in lookups:
            distance = block.name("distance", Bin("-", key, self.low, U64))
            beyond = conj(exists, le(Num(self.size, U64), distance))
            far = disj(far, lt(i64(0), CountTrue(beyond, I64)))
            place = convert(Bin("%", distance, Num(self.size, U64), U64), I32)
            place = select(exists, place, self.nowhere)
            direct.add(Store(entries, at, Splat(place, I32)))
            self._look_up(hashed, (key, exists), entries, at)
        full = lt(i64(self.size // 2 - 2 * LANES), self.used)
        due = block.name("due", select(self.close, far, full))
        self._rebuild(rebuild)
        block.when(due, rebuild, rarely=True)
        block.either(self.close, direct, hashed)

    def _look_up(self, block: Block, keys: Keys, entries: Array, at: LExpr) -> None:
        """Find the entries of the keys in a hash table, one by one."""
        key, exists = keys
        block.add(Store(self.sought, i64(0), Splat(key, U64)))
        place = select(exists, Splat(_NOTHING, I32), self.nowhere)
        block.add(Store(entries, at, Splat(place, I32)))
        lane, each = self.builder.fresh("lane"), block.inner()
        row = each.name("row", add(at, lane))
        there = each.inner()
        wanted = there.name("key", load(self.sought, lane))
        entry = self._find(there, wanted, self.base, _count_new(self.used))
        there.add(Store(entries, row, convert(entry, I32)))
        each.when(ne(load(entries, row), self.nowhere), there)
        block.add(For(lane, i64(0), i64(LANES), each.body()))

    def _find(
        self, block: Block, key: LExpr, base: LExpr, count_new: Callable[[Block], None]
    ) -> LExpr:
        """Find the entry of a key in a half, or make it, without a count."""

        def is_other(slot: LExpr) -> LExpr:
            entry = add(base, slot)
            is_taken = ne(load(self.counts, entry), _FREE)
            return conj(is_taken, ne(load(self.keys, entry), key))

        slot = probe(self.builder, block, (key,), i64(self.size), is_other)
        entry = block.name("entry", add(base, slot))
        new = block.inner()
        new.add(Store(self.keys, entry, key), Store(self.counts, entry, _NOTHING))
        count_new(new)
        block.when(eq(load(self.counts, entry), _FREE), new)
        return entry

    def _rebuild(self, block: Block) -> None:
        """Move the values of the window to a hash table in the other half.

        An entry that has moved has minus two, less the new one, for its count.
        """
        other = self.builder.fresh("other")
        block.set(other, sub(i64(self.size), self.base))
        self._fill(block, self.counts, other, self.size, _FREE)
        block.set(self.used, i64(0))
        cell, each = self.builder.fresh("cell"), block.inner()
        at = add(self.position, add(cell, i64(self.cycle - self.cells)))
        row = each.name("row", Bin("%", at, i64(self.cycle), I64))
        code = each.name("before", load(self.entries, row))
        there, move = each.inner(), each.inner()
        before = there.name("before", convert(code, I64))
        count = there.name("count", load(self.counts, before))
        in_place = Bin("+", self.low, convert(before, U64), U64)
        key = move.name("key", select(self.close, in_place, load(self.keys, before)))
        entry = self._find(move, key, other, _count_new(self.used))
        move.add(Store(self.counts, entry, count))
        move.add(Store(self.counts, before, sub(_MOVED, convert(entry, I32))))
        there.when(lt(_NOTHING, count), move)
        now = sub(_MOVED, load(self.counts, before))
        there.add(Store(self.entries, row, now))
        each.when(ne(code, self.nowhere), there)
        block.add(For(cell, i64(0), i64(self.cells), each.body()))
        block.set(self.base, other)
        block.set(self.close, FALSE)


def _count_new(used: Var) -> Callable[[Block], None]:
    return lambda block: block.set(used, add(used, i64(1)))
