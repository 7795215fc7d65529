"""Dictionaries of strings, with whose dictionary codes kernels compute.

A column of strings is a column of codes and the dictionary that decodes them. `encode`
makes both, with one dictionary for all columns of a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy import arrow_functions as pc
from tiltpy.abi.slots import SlotKind
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import STRING_TESTS
from tiltpy.string_predicates import array_of, find_members, match_strings

Codes = NDArray[np.int32]
Recoding = Codes | None
"""The new code of each string of a dictionary; None where codes do not change."""
MOST_BYTES = 2**31 - 1
"""Of the text in one Arrow array of strings."""


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Distinct strings, at least one; the code of each is its index.

    `values` is a plain array of large strings without nulls, `tables` has those of the
    functions of a query that make strings and numbers of them. `codes`, `answers` and
    `merges` memoize what `code`, `answer` and `encode` found.
    """

    values: pa.LargeStringArray
    codes: dict[str, int] = field(default_factory=dict)
    answers: dict[tuple[SlotKind, str], NDArray[np.uint8]] = field(default_factory=dict)
    merges: dict[object, "tuple[Strings, Recoding]"] = field(default_factory=dict)
    tables: Mapping[str, tuple[NDArray[np.generic], ...]] = field(default_factory=dict)

    @staticmethod
    def of(values: Sequence[str]) -> "Strings":
        """Make a dictionary of strings, all of them different."""
        return Strings(array_of(values or [""]))

    def __len__(self) -> int:
        return len(self.values)

    def code(self, string: str) -> int:
        """Look up the code of a string that is there."""
        if string not in self.codes:
            codes = pc.index_in(array_of([string]), value_set=self.values)
            assert codes.null_count == 0, f"{string!r} has no code"
            self.codes[string] = int(codes[0].as_py())
        return self.codes[string]

    def answer(self, kind: SlotKind, pattern: str) -> NDArray[np.uint8]:
        """Test every string: a byte for each code, 1 or 0."""
        key = kind, pattern
        if key not in self.answers:
            answer = self._test(kind, pattern)
            bits = np.frombuffer(answer.buffers()[1], np.uint8)
            answers = np.unpackbits(bits, bitorder="little")[answer.offset :]
            # The first thread has passed its address to a kernel.
            self.answers.setdefault(key, answers)
        return self.answers[key]

    def _test(self, kind: SlotKind, pattern: str) -> pa.BooleanArray:
        if kind is SlotKind.AMONG:
            return find_members(self.values, pattern)
        test = next(test for test in STRING_TESTS if test == kind.value)
        return match_strings(test, self.values, pattern)

    def slot(
        self, kind: SlotKind, string: str, column: int = 0
    ) -> int | NDArray[np.generic]:
        """Compute the value of a slot: a number, or an array for its address."""
        match kind:
            case SlotKind.CODE:
                return self.code(string)
            case SlotKind.STRINGS:
                return len(self)
            case SlotKind.MADE:
                return self.tables[string][column]
            case _:
                return self.answer(kind, string)

    def decode(self, codes: pa.Array) -> pa.Array:
        """Look up the strings of codes, null where those are; they must fit."""
        return self.values.take(codes).cast(pa.string())

    def bytes_of(self, codes: pa.Array) -> int:
        """Bound the bytes of the text of codes."""
        lengths = pc.binary_length(self.values)
        most = len(codes) * int(pc.max(lengths).as_py())
        if most <= MOST_BYTES:
            return most
        return int(pc.sum(lengths.take(codes)).as_py() or 0)


def split_to_fit(
    columns: Sequence[tuple[Strings, pa.Array]], rows: int, first: int = 0
) -> Iterator[slice]:
    """Split the rows from `first` on into ranges whose text fits into an array."""
    range_ = slice(first, first + rows)
    if rows > 1 and any(
        strings.bytes_of(codes[range_]) > MOST_BYTES for strings, codes in columns
    ):
        half = rows // 2
        yield from split_to_fit(columns, half, first)
        yield from split_to_fit(columns, rows - half, first + half)
    else:
        yield range_


NO_STRINGS = Strings.of([])
"""The dictionary of a run in which no string occurs."""


def place_of(array: pa.Array) -> tuple[int, ...]:
    """Return where an array lies in memory: those with one place are equal."""
    addresses = [0 if each is None else each.address for each in array.buffers()]
    return (array.offset, len(array), *addresses)
