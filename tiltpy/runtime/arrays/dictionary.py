"""Strings and their codes: what a kernel computes with instead of them.

A column of strings is a column of codes, and the dictionary that says what each stands
for. `encode` makes both, and one dictionary for all columns of a run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltpy.abi import SlotKind
from tiltpy.ops import STRING_TESTS
from tiltpy.string_tests import array_of, find_members, match_strings

Codes = NDArray[np.int32]
Integer = TypeVar("Integer", bound=np.integer)
Numbers = Codes | None
"""The codes that take the place of a dictionary's own; None where they stay."""
MOST_BYTES = 2**31 - 1
"""Of text in one Arrow array of strings."""


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Distinct strings, at least one; the place of each is its code.

    `values` is a plain array of large strings without nulls. `codes`,
    `answers` and `joined` are what was found out before.
    """

    values: pa.LargeStringArray
    codes: dict[str, int] = field(default_factory=dict)
    answers: dict[tuple[SlotKind, str], NDArray[np.uint8]] = field(default_factory=dict)
    joined: dict[object, "tuple[Strings, Numbers]"] = field(default_factory=dict)

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
        """Answer a question about every string: a byte for each code, 1 or 0."""
        key = kind, pattern
        if key not in self.answers:
            answer = self._ask(kind, pattern)
            bits = np.frombuffer(answer.buffers()[1], np.uint8)
            answers = np.unpackbits(bits, bitorder="little")[answer.offset :]
            # Whoever was first has given its address to a kernel.
            self.answers.setdefault(key, answers)
        return self.answers[key]

    def _ask(self, kind: SlotKind, pattern: str) -> pa.BooleanArray:
        if kind is SlotKind.AMONG:
            return find_members(self.values, pattern)
        test = next(test for test in STRING_TESTS if test == kind.value)
        return match_strings(test, self.values, pattern)

    def slot(self, kind: SlotKind, string: str) -> int | NDArray[np.uint8]:
        """Make what a kernel must know: a number, or an array for its address."""
        match kind:
            case SlotKind.CODE:
                return self.code(string)
            case SlotKind.STRINGS:
                return len(self)
            case _:
                return self.answer(kind, string)

    def decode(self, codes: pa.Array) -> pa.Array:
        """Look up the strings of some codes, null where those are; they must fit."""
        return self.values.take(codes).cast(pa.string())

    def bytes_of(self, codes: pa.Array) -> int:
        """Bound the bytes of text that some codes stand for."""
        lengths = pc.binary_length(self.values)
        most = len(codes) * int(pc.max(lengths).as_py())
        if most <= MOST_BYTES:
            return most
        return int(pc.sum(lengths.take(codes)).as_py() or 0)


def split_to_fit(
    columns: Sequence[tuple[Strings, pa.Array]], rows: int, first: int = 0
) -> Iterator[slice]:
    """Split the rows from `first` on into ranges whose text fits into an array."""
    part = slice(first, first + rows)
    if rows > 1 and any(
        strings.bytes_of(codes[part]) > MOST_BYTES for strings, codes in columns
    ):
        half = rows // 2
        yield from split_to_fit(columns, half, first)
        yield from split_to_fit(columns, rows - half, first + half)
    else:
        yield part


NO_STRINGS = Strings.of([])
"""The dictionary of a run in which no string occurs."""


def merge_dictionaries(
    dictionaries: Sequence[pa.LargeStringArray], *, ordered: bool
) -> tuple[Strings, tuple[Codes, ...]]:
    """Merge several dictionaries, and translate the codes of each.

    `ordered`: the codes are in order of the strings' UTF-8 bytes.
    """
    chunks = pa.chunked_array(list(dictionaries), pa.large_string())
    encoded = chunks.dictionary_encode().unify_dictionaries()
    values = encoded.chunk(0).dictionary
    numbers = [_integers(chunk.indices, np.int32) for chunk in encoded.chunks]
    if ordered:
        order = pc.sort_indices(values)
        values = values.take(order)
        ranks = np.empty(len(order), np.int32)
        places = _integers(order, np.uint64).view(np.int64)
        ranks[places] = np.arange(len(order), dtype=np.int32)
        numbers = [ranks[one] for one in numbers]
    return Strings(values), tuple(numbers)


def _integers(array: pa.Array, kind: type[Integer]) -> NDArray[Integer]:
    """View the integers of an array without nulls."""
    size = np.dtype(kind).itemsize
    place = array.offset * size
    return np.frombuffer(array.buffers()[1], kind, len(array), place)
