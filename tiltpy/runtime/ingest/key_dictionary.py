"""The keys of a run that sees its rows batch by batch: a dictionary that only grows.

The code of a key is the number of keys that came before it, whatever their order. Each
column has codes of its own; of several columns those of pairs are codes, too.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import ne

import numpy as np
import pyarrow as pa

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrow.value_codes import NumberCodes, make_codes
from tiltpy.runtime.ingest.key_types import common_type
from tiltpy.runtime.ingest.keys import Keys, LateColumns, cast_keys
from tiltpy.runtime.ingest.sort_block import order_block

PAIR_BITS = np.int64(32)
"""The bits of a pair that hold its second code."""
SECOND = np.int64((1 << 32) - 1)


class KeyDictionary:
    """The keys seen so far, of inputs that are joined.

    `inputs` are keys of each, of which only the types matter: those of all widen to one
    for each column. Text is `string`.
    """

    def __init__(self, names: tuple[str, ...], inputs: Mapping[str, Keys]) -> None:
        self.names = names
        types = []
        for index, name in enumerate(names):
            column_types = {
                source: keys.columns[index].type for source, keys in inputs.items()
            }
            kind = common_type(name, column_types)
            types.append(pa.string() if pa.types.is_large_string(kind) else kind)
        self.types = tuple(types)
        self._columns = [make_codes(kind) for kind in types]
        self._pairs = [NumberCodes(pa.int64()) for _ in types[1:]]
        """Of each column but the first: pairs of the code of all before, and its."""
        self._none: Keys | None = None

    def __len__(self) -> int:
        last = self._pairs[-1] if self._pairs else self._columns[0]
        return last.count

    def encode(self, source: str, columns: Sequence[pa.Array]) -> I64Array:
        """Find the code of each row's key; new ones get the next codes.

        `columns` are the keys of an input's rows.
        """
        if any(map(ne, [column.type for column in columns], self.types)):
            columns = [
                cast_keys(source, name, column, kind)
                for name, column, kind in zip(
                    self.names, columns, self.types, strict=True
                )
            ]
        both = zip(self._columns, columns, strict=True)
        codes, *others = [known.encode(column) for known, column in both]
        for pairs, other in zip(self._pairs, others, strict=True):
            codes = pairs.encode_rows(codes << PAIR_BITS | other)
        return codes

    def sort(self, codes: I64Array) -> tuple[I64Array, Keys]:
        """Sort distinct codes by their keys, decoded when anyone looks at them."""
        if len(codes) > 1:
            codes = codes[self._find_order(codes)]
        decode = partial(self.decode, codes)
        late = LateColumns(self.types, len(codes), decode)
        return codes, Keys(self.names, None, late)

    def _find_order(self, codes: I64Array) -> I64Array:
        """Find the order of distinct codes by their keys: null comes first."""
        ranks: list[I64Array] = []
        both = zip(self._columns, self._split(codes), strict=True)
        for known, column in reversed([*both]):
            ranks.append(known.rank(column))
            is_null = known.is_null(column)
            if is_null is not None:
                ranks.append((~is_null).astype(np.int64))
        if len(ranks) == 1:
            return order_block(ranks[0], distinct=True)
        return np.lexsort(ranks)

    def _split(self, codes: I64Array) -> list[I64Array]:
        """Find the code of each column of keys."""
        columns: list[I64Array] = []
        for pairs in reversed(self._pairs):
            numbers = pairs.numbers(codes)
            columns.append(numbers & SECOND)
            codes = numbers >> PAIR_BITS
        return [codes, *reversed(columns)]

    def save(self) -> list[pa.Array]:
        """List the columns of all keys, in the order of their codes."""
        return list(self.decode(np.arange(len(self))))

    def restore(self, columns: Sequence[pa.Array]) -> None:
        """Take over saved keys, in the order of their codes."""
        assert not len(self)
        self.encode("", columns)

    def none(self) -> Keys:
        """Make no keys, of the types of all."""
        if self._none is None:
            self._none = Keys(self.names, self.decode(np.zeros(0, np.int64)))
        return self._none

    def decode(self, codes: I64Array) -> tuple[pa.Array, ...]:
        """Look up the keys of codes."""
        both = zip(self._columns, self._split(codes), strict=True)
        return tuple([known.decode(column) for known, column in both])
