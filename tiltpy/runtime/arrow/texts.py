"""Texts of Arrow arrays by machine code and numpy: taken by number, sorted, measured.

Arrow's functions do the same, but are slow to import (`tiltpy.arrow_functions`), and a
run by key over texts calls no other.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.lean_dataclass import record
from tiltpy.routines.catalogue import REPEAT_TEXTS, WORD
from tiltpy.runtime.arrays.dictionary import MOST_BYTES
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import validity_of
from tiltpy.types import U8

_LAST_BYTES = np.array([(1 << 64) - (1 << 8 * rest) for rest in range(8, -1, -1)], "u8")
"""Masks of so many first bytes of a word."""

_BEHIND = np.zeros(WORD, np.uint8)


def is_plain_text(kind: pa.DataType) -> bool:
    """Tell whether an array of a type has its texts one behind the other."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@record(frozen=True, slots=True, eq=False)
class Texts:
    """Texts: the bytes of number `n` lie from `offsets[n]` to `offsets[n + 1]`.

    Behind all there are `WORD` zeros.
    """

    offsets: I64Array
    data: NDArray[np.uint8]
    valid: BoolArray | None = None
    """Which of them are there, if not all are."""

    @staticmethod
    def of(array: pa.Array) -> "Texts":
        """View the texts of an array of strings or large strings."""
        _, stops, data = array.buffers()
        if not len(array):
            return Texts(np.zeros(1, np.int64), _BEHIND)
        width = 8 if pa.types.is_large_string(array.type) else 4
        offsets = np.frombuffer(
            stops, f"i{width}", len(array) + 1, width * array.offset
        ).astype(np.int64, copy=False)
        begin, stop = int(offsets[0]), int(offsets[-1])
        texts = _BEHIND
        if stop > begin:
            texts = np.append(np.frombuffer(data, np.uint8, stop - begin, begin), texts)
        validity, first = validity_of(array)
        valid = None
        if validity is not None:
            valid = Column(np.empty(0), validity, first).valid(len(array))
        return Texts(offsets - begin if begin else offsets, texts, valid)

    @property
    def longest(self) -> int:
        """The bytes of the longest one."""
        return int(np.diff(self.offsets).max(initial=0))

    def take(
        self,
        numbers: I64Array,
        kind: pa.DataType,
        absent: BoolArray | None = None,
        counts: I64Array | None = None,
    ) -> pa.Array:
        """Make an array of some of them, null where they are `absent`.

        Each is there as often as its count says, or once. An absent one has any number,
        or the one behind the last. What does not fit into an array of the type is an
        `ArrowCapacityError`, as of Arrow's functions.
        """
        if counts is None:
            counts = np.ones(len(numbers), np.int64)
        ends = self.offsets.take(numbers + 1, mode="clip")
        sizes = ends - self.offsets[numbers]
        if self.valid is not None:
            missing = ~self.valid.take(numbers, mode="clip")
            absent = missing if absent is None else absent | missing
        if absent is not None:
            sizes[absent] = 0
        rows, size = int(counts.sum()), int(sizes @ counts)
        if size > MOST_BYTES and not pa.types.is_large_string(kind):
            raise pa.ArrowCapacityError(f"{size} bytes of text do not fit into {kind}")
        offsets, data = np.zeros(rows + 1, np.int64), allocate(U8, size + WORD)
        REPEAT_TEXTS(
            len(numbers), np.ascontiguousarray(numbers), np.ascontiguousarray(counts),
            sizes, self.offsets, self.data, offsets, data,
        )  # fmt: skip
        if not pa.types.is_large_string(kind):
            offsets = offsets.astype(np.int32)
        validity = None
        if absent is not None:
            valid = np.repeat(~absent, counts)
            validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data[:size])]
        return pa.Array.from_buffers(kind, rows, buffers)

    def sort(self) -> I64Array:
        """Find the order of texts by their bytes.

        They are compared by words, and those that are alike so far by their next ones.
        """
        order = np.arange(len(self.offsets) - 1)
        sizes = np.diff(self.offsets)
        last = len(self.data) - WORD
        words = np.ndarray(last + 1, ">u8", self.data, strides=(1,))
        tied: I64Array = order.copy()  # the places of texts that are like others so far
        groups: I64Array = np.zeros(len(order), np.int64)
        first = 0
        while len(tied):
            rows = order[tied]
            rest = np.clip(sizes[rows] - first, 0, WORD)
            there = np.minimum(self.offsets[rows] + first, last)
            word = words[there].astype(np.uint64) & _LAST_BYTES[rest]
            moved = np.lexsort((rest, word, groups))
            order[tied] = rows[moved]
            word, rest, groups = word[moved], rest[moved], groups[moved]
            begins: BoolArray = np.ones(len(tied) + 1, np.bool_)
            begins[1:-1] = (word[1:] != word[:-1]) | (groups[1:] != groups[:-1])
            begins[1:-1] |= (rest[1:] != rest[:-1]) | (rest[1:] < WORD)
            alike = ~(begins[1:] & begins[:-1])
            groups, tied = np.cumsum(begins[:-1], dtype=np.int64)[alike], tied[alike]
            first += WORD
        return order
