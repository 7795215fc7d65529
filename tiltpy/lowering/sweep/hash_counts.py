"""Hash counts: the number of rows of a window for each key, in a hash table.

`count(v for v in ~x[t-1h : t] if v.k == ~x[t].k)`: a row that comes or leaves changes
one count, and a look at the present reads one. A key keeps its entry when its rows have
left, so that none is ever removed: there are no more keys than rows in a chunk. Keys
that collide are in the next free entries.
"""

from collections.abc import Sequence

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import Names, element_of
from tiltpy.emit.matches import Match
from tiltpy.emit.order_keys import equality_keys, probe
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import (
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
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Num, Store, Var
from tiltpy.types import I32, I64, U64

_FREE, _NOTHING, _ONE = Num(-1, I32), Num(0, I32), Num(1, I32)
_NOWHERE = i64(-1)


class HashCounts:
    """The counts of a window; `entry` has the entry of each row that it counts."""

    name = "a hash table of counts"

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, match: Match) -> None:
        self.builder = builder
        self.rows = rows
        self.match = match
        label, many = f"{rows.name}.hash", ((rows.name, 2),)
        self.keys = [
            builder.temporary(f"{label}.keys", U64, many, 2) for _ in match.comparisons
        ]
        self.counts = builder.temporary(f"{label}.counts", I32, many, 2)
        self.entry = builder.temporary(f"{label}.entry", I32, ((rows.name, 1),), 1)
        self.size = add(mul(rows.count, i64(2)), i64(2))

    def start(self, block: Block) -> None:
        """Free all entries."""
        entry = self.builder.fresh("entry")
        free = Store(self.counts, entry, _FREE)
        block.add(For(entry, i64(0), self.size, (free,)))

    def insert(self, block: Block, row: LExpr) -> None:
        """Count a row."""
        taken, new = block.inner(), block.inner()
        keys, valid = self._keys_of(block, row)
        entry = self._find(taken, keys)
        before = taken.name("before", load(self.counts, entry))
        for array, key in zip(self.keys, keys, strict=True):
            new.add(Store(array, entry, key))
        taken.when(eq(before, _FREE), new)
        known = select(lt(before, _NOTHING), _NOTHING, before)
        taken.add(Store(self.counts, entry, add(known, _ONE)))
        taken.add(Store(self.entry, row, convert(entry, I32)))
        if valid != TRUE:
            block.add(Store(self.entry, row, convert(_NOWHERE, I32)))
        block.when(valid, taken)

    def evict(self, block: Block, row: LExpr) -> None:
        """Uncount a row."""
        entry = block.name("entry", convert(load(self.entry, row), I64))
        gone = block.inner()
        gone.add(Store(self.counts, entry, sub(load(self.counts, entry), _ONE)))
        block.when(le(i64(0), entry), gone)

    def count(self, block: Block, names: Names) -> LExpr:
        """The number of rows that match the present."""
        result = self.builder.fresh("matches")
        block.set(result, i64(0))
        values = [names[each.present.name] for each in self.match.comparisons]
        keys, exist = equality_keys(values)
        look = block.inner()
        entry = self._find(look, [look.name("key", key) for key in keys])
        found = load(self.counts, entry)
        look.set(result, convert(select(lt(found, _NOTHING), _NOTHING, found), I64))
        block.when(exist, look)
        return result

    def _keys_of(self, block: Block, row: LExpr) -> tuple[list[LExpr], LExpr]:
        """The keys of a row, and whether it has all and contributes."""
        values = [
            element_of(block, self.rows, row, each.key)
            for each in self.match.comparisons
        ]
        keys, exist = equality_keys(values)
        contributes = element_of(block, self.rows, row, self.match.element).valid
        valid = block.name("ok", conj(contributes, exist))
        return [block.name("key", key) for key in keys], valid

    def _find(self, block: Block, keys: Sequence[LExpr]) -> Var:
        """Find the entry of some keys, or the free one in which they belong."""

        def is_other(entry: LExpr) -> LExpr:
            pairs = zip(self.keys, keys, strict=True)
            differs = disj(*(ne(load(array, entry), key) for array, key in pairs))
            return conj(ne(load(self.counts, entry), _FREE), differs)

        return probe(self.builder, block, keys, self.size, is_other)
