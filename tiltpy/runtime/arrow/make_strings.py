"""Tables of the functions of strings, computed before kernels run.

Each table has a result for whatever strings may reach a call, by their codes. New
strings get codes behind those of the dictionary, and calls of calls are computed until
nothing is new. So a run knows all of its strings and their order before it begins.
Calls that differ in nothing but their operands share a table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.errors import QueryError
from tiltpy.ir.nodes import StringCall
from tiltpy.ir.string_sources import (
    CallSource,
    ColumnSource,
    RowValue,
    Source,
    StateSource,
    StringUse,
    StringUses,
)
from tiltpy.memory_sizes import format_size
from tiltpy.runtime.arrays.dictionary import Codes
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrow.merge_dictionaries import merge_dictionaries
from tiltpy.runtime.arrow.pair_index import index_pairs
from tiltpy.string_functions import call_strings
from tiltpy.types import STRING

MOST_PAIRS, MOST_ENTRIES, MOST_TEXT = 1 << 22, 1 << 27, 1 << 31
"""Strings that are joined each with each, the entries of a table of pairs, and the
bytes of the strings that are made of."""


@dataclass(slots=True)
class StringTable:
    """Strings for which the calls with one key have been computed so far.

    Each entry has the code of its operand, or of the left one times 2^32 and of the
    right one, and a result, which is arbitrary unless `valid`.
    """

    call: StringCall
    entries: I64Array = field(default_factory=lambda: np.empty(0, np.int64))
    results: Array | None = None
    valid: Array = field(default_factory=lambda: np.empty(0, np.uint8))

    @property
    def is_pair(self) -> bool:
        return self.call.function == "concat" and len(self.call.constants) == 3

    def sides(self, entries: I64Array) -> tuple[I64Array, ...]:
        """Split entries into the codes of their operands."""
        return (entries >> 32, entries & 0xFFFFFFFF) if self.is_pair else (entries,)

    def look_up(self, entries: I64Array) -> tuple[I64Array, BoolArray]:
        """Look up the results for entries, and whether each is there."""
        if self.results is None:
            return np.zeros(len(entries), np.int64), np.zeros(len(entries), np.bool_)
        order = np.argsort(self.entries)
        ranks = np.searchsorted(self.entries, entries, sorter=order)
        indices = order[np.minimum(ranks, len(order) - 1)]
        there = self.entries[indices] == entries
        valid = there & self.valid[indices].view(np.bool_)
        return self.results[indices].astype(np.int64), valid

    def recode(self, ranks: Codes) -> None:
        """Replace codes by others."""
        entries = [ranks[side].astype(np.int64) for side in self.sides(self.entries)]
        self.entries = _join(*entries)
        if self.call.type == STRING and self.results is not None:
            self.results = ranks[self.results]

    def arrays(self, strings: int) -> tuple[Array, ...]:
        """The table as a kernel reads it: see `SlotKind.MADE`."""
        index, size = self.entries, strings
        summands: tuple[Array, ...] = ()
        if self.is_pair and len(index):
            left, right = self.sides(self.entries)
            pairs = index_pairs(left, right, MOST_ENTRIES)
            if pairs is None:
                raise self._too_large(len(np.unique(left)), len(np.unique(right)))
            index, size = pairs.index, pairs.size
            summands = tuple(_scatter(*side, strings) for side in pairs.sides)
        elif self.is_pair:
            summands = np.zeros(strings, np.int64), np.zeros(strings, np.int64)
        kind = dtype_of(self.call.type)
        results = np.zeros(len(index), kind) if self.results is None else self.results
        made = _scatter(index, results, size, kind)
        known = index if self.call.is_partial else index[:0]
        valid = _scatter(known, self.valid[: len(known)], size, np.dtype(np.uint8))
        return made, valid, *summands

    def _too_large(self, left: int, right: int) -> QueryError:
        return QueryError(
            "E0304",
            f"concat() of {left:,} strings and {right:,}, whose pairs are too many",
            self.call.span,
            "keep both in fields, like { a = x, b = y }, or shorten them first, like "
            "concat(substr(x, 0, 3), y); fields of one row are joined by row",
        )

    def check_pairs(self, left: int, right: int) -> None:
        """Raise a QueryError if each of some strings may meet each of others."""
        if left * right > MOST_PAIRS:
            raise self._too_large(left, right)


def _join(left: I64Array, right: I64Array | None = None) -> I64Array:
    """Make the entries of the codes of one operand, or of two."""
    return left if right is None else left << 32 | right


def _scatter(
    index: I64Array, values: Array, size: int, kind: np.dtype[np.generic] | None = None
) -> Array:
    scattered = np.zeros(max(size, 1), kind or np.dtype(np.int64))
    scattered[index] = values
    return scattered


class StringMaker:
    """Computes the tables of a run over the strings that its columns have.

    `rows` has the code of each row of a column, `columns` the codes of its dictionary.
    """

    def __init__(
        self,
        uses: StringUses,
        values: pa.LargeStringArray,
        constants: Mapping[str, int],
        columns: Mapping[ColumnSource, I64Array],
        rows: Mapping[ColumnSource, I64Array],
    ) -> None:
        self.uses = uses
        self.values = values
        self.constants = constants
        self.columns = columns
        self.rows = rows
        self.tables: dict[str, StringTable] = {}
        self.entries: list[I64Array] = []
        """Those that each use may look up."""
        self._of_rows: dict[CallSource, I64Array] = {}
        for use in uses.calls:
            self.tables.setdefault(use.call.key, StringTable(use.call))
            self.entries.append(np.empty(0, np.int64))

    def make(self) -> None:
        """Compute all tables, calls of calls after those they call."""
        reading = [self.uses.reading(use) for use in self.uses.calls]
        waiting = dict.fromkeys(range(len(reading)))
        while waiting:
            number = next(iter(waiting))
            del waiting[number]
            if self._extend(number):
                source = CallSource(number)
                waiting |= {n: None for n, read in enumerate(reading) if source in read}

    def _extend(self, number: int) -> bool:
        """Compute what is new of a use; tells whether that is anything."""
        use = self.uses.calls[number]
        table = self.tables[use.call.key]
        entries = self._entries(table, use)
        if len(entries) == len(self.entries[number]):
            return False
        self.entries[number] = entries
        new = entries
        if len(table.entries):
            new = np.setdiff1d(entries, table.entries, assume_unique=True)
        if len(new):
            self._compute(table, new)
        return True

    def _compute(self, table: StringTable, new: I64Array) -> None:
        """Add entries to a table."""
        operands = [self.values.take(pa.array(side)) for side in table.sides(new)]
        call = table.call
        if call.type == STRING:
            self._check_bytes(table, operands)
        made = call_strings(call.function, call.constants, operands, call.type)
        valid = made.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
        if call.type == STRING:
            results: Array = self._intern(made)
        else:
            results = made.fill_null(0).to_numpy(zero_copy_only=False)
        before = () if table.results is None else (table.results,)
        table.results = np.concatenate([*before, results])
        table.entries = np.concatenate([table.entries, new])
        table.valid = np.concatenate([table.valid, valid])

    def _check_bytes(self, table: StringTable, operands: Sequence[pa.Array]) -> None:
        """Raise a QueryError if strings become too long, together."""
        lengths = (pc.sum(pc.binary_length(each)).as_py() or 0 for each in operands)
        total = sum(lengths)
        if total > MOST_TEXT:
            raise QueryError(
                "E0304",
                f"{table.call.function}() of {format_size(total)} of strings",
                table.call.span,
                "shorten them first, like substr(x, 0, 100)",
            )

    def _intern(self, made: pa.LargeStringArray) -> Codes:
        """Find the codes of strings, new ones of those that have none."""
        filled = made.fill_null(self.values[0])
        merged, (_, codes) = merge_dictionaries([self.values, filled], ordered=False)
        self.values = merged.values
        return codes

    # -- what may reach a call --------------------------------------------------------

    def _entries(self, table: StringTable, use: StringUse) -> I64Array:
        """Find the entries that a use may look up, each once; they only become more."""
        if not table.is_pair:
            return self._codes(use.operands[0])
        if use.row is not None:
            pairs = pc.unique(pa.array(_join(*map(self._row_codes, use.row))))
            return np.sort(pairs.to_numpy())
        left, right = map(self._codes, use.operands)
        table.check_pairs(len(left), len(right))
        return _join(left[:, None], right[None, :]).ravel()

    def _codes(self, sources: Iterable[Source]) -> I64Array:
        there = np.zeros(len(self.values), np.bool_)
        for source in self.uses.spread(sources):
            there[self._source(source)] = True
        return np.flatnonzero(there)

    def _source(self, source: Source) -> I64Array:
        match source:
            case str():
                return np.array([self.constants[source]])
            case CallSource(use=number):
                table = self.tables[self.uses.calls[number].call.key]
                results, valid = table.look_up(self.entries[number])
                return results[valid]
            case ColumnSource():
                return self.columns.get(source, np.empty(0, np.int64))
            case StateSource():
                return np.empty(0, np.int64)

    def _row_codes(self, value: RowValue) -> I64Array:
        """The code of each row; arbitrary where it is φ."""
        if isinstance(value, ColumnSource):
            return self.rows.get(value, np.empty(0, np.int64))
        if value not in self._of_rows:
            use = self.uses.calls[value.use]
            assert use.row is not None
            entries = _join(*map(self._row_codes, use.row))
            table = self.tables[use.call.key]
            self._of_rows[value] = table.look_up(entries)[0]
        return self._of_rows[value]
