"""Columns of strings as columns of codes, and one dictionary for all that a run reads.

Each column comes with a dictionary of its own. Before kernels run they become one, with
the strings that the query itself names. If the query asks for the order of strings,
the codes are in that order, so that a kernel compares them like any numbers; else
nothing is sorted, and mostly no code changes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tiltpy.ir import reductions
from tiltpy.ir.cuts import expressions
from tiltpy.ir.nodes import Binary, Const, Expr, In, Query, Reduce
from tiltpy.ir.traversal import walk
from tiltpy.runtime.arrays.dictionary import (
    NO_STRINGS,
    Codes,
    Numbers,
    Strings,
    merge_dictionaries,
)
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.views import validity_of, values_of
from tiltpy.string_tests import array_of
from tiltpy.types import STRING

KNOWN = 8
"""What a dictionary was joined to, that is remembered at most."""
SPARSE = 2
"""A dictionary with as many strings for each row is made smaller, where rows are kept.
"""


def is_string(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is one of strings, however they are stored."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return is_string(kind.value_type)
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    )


# -- columns --------------------------------------------------------------------------


def encode_chunks(chunks: Sequence[pa.Array]) -> pa.DictionaryArray:
    """Encode chunks of strings, of any type that `is_string`, as one array of codes.

    Its dictionary is of large strings, each once. Bytes that are no UTF-8 are an
    `ArrowInvalid`.
    """
    pieces = [_dictionary(chunk) for chunk in chunks if len(chunk)]
    if not pieces:
        return NO_STRINGS.values.dictionary_encode()[:0]
    whole = pa.chunked_array(pieces)
    if len(pieces) > 1:
        whole = whole.unify_dictionaries()
    values = whole.chunk(0).dictionary
    values.validate(full=True)
    codes = pa.concat_arrays([piece.indices for piece in whole.chunks])
    return _of(codes, values if len(values) else NO_STRINGS.values)


def _dictionary(chunk: pa.Array) -> pa.DictionaryArray:
    """Encode strings as codes of 32 bits and a dictionary of large strings."""
    if pa.types.is_dictionary(chunk.type):  # it may name a string twice, and null
        inner = _dictionary(chunk.dictionary)
        return _of(inner.indices.take(chunk.indices), inner.dictionary)
    if pa.types.is_null(chunk.type):
        chunk = chunk.cast(pa.large_string())
    encoded = chunk.dictionary_encode()
    return _of(encoded.indices, encoded.dictionary)


def _of(codes: pa.Array, values: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(codes, values.cast(pa.large_string()))


def string_column(array: pa.DictionaryArray) -> Column:
    """Make a column of what `encode_chunks` made; the codes of nulls are codes too."""
    codes = array.indices
    validity, offset = validity_of(codes)
    if validity is not None:
        codes = codes.fill_null(0)
    values = values_of(codes, np.dtype(np.int32))
    return Column(values, validity, offset, Strings(array.dictionary))


# -- dictionaries ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a query says of strings: those that it names, each once.

    And whether it asks which of two strings comes first (`ordered`).
    """

    named: tuple[str, ...]
    ordered: bool

    @staticmethod
    def of(query: Query) -> "Vocabulary":
        """Collect what the query's expressions need."""
        nodes = list(_nodes(query))
        named: dict[str, None] = {}
        for node in nodes:
            for one in node.options if isinstance(node, In) else (node,):
                if isinstance(one, Const) and isinstance(one.value, str):
                    named[one.value] = None
        return Vocabulary(tuple(named), any(map(_orders, nodes)))


def encode(
    vocabulary: Vocabulary, rows: Mapping[str, SnapshotBuffer]
) -> tuple[Mapping[str, SnapshotBuffer], Strings]:
    """Encode the inputs' rows with one dictionary, and return both.

    It has the strings of the query too, whose `vocabulary` is given.
    """
    own = _dictionaries(rows.values())
    if not own and not vocabulary.named:
        return rows, NO_STRINGS
    strings, numbers = _join_dictionaries(own, vocabulary)
    by_dictionary = dict(zip(own, numbers, strict=True))
    renumbered = {name: _renumber(one, by_dictionary) for name, one in rows.items()}
    return renumbered, strings


def _orders(node: Expr) -> bool:
    """Tell whether a node asks which of two strings comes first."""
    match node:
        case Binary(op="<" | "<=" | ">" | ">=", left=operand):
            return operand.type == STRING
        case Reduce(reduction="min" | "max" | "topk", element=element):
            return element.type == STRING
        case _:
            return False


def _nodes(query: Query) -> Iterator[Expr]:
    for definition in query.definitions:
        for expr in expressions(definition):
            yield from walk(expr)
    for reduction in query.reductions:
        for _, part in reductions.parts(reduction):
            yield from walk(part)


def _dictionaries(buffers: Iterable[SnapshotBuffer]) -> list[Strings]:
    """List the dictionaries that columns have, each once."""
    dictionaries: dict[Strings, None] = {}
    for buffer in buffers:
        for column in buffer.columns:
            if column.strings is not None:
                dictionaries[column.strings] = None
    return list(dictionaries)


def _join_dictionaries(
    dictionaries: Sequence[Strings], vocabulary: Vocabulary
) -> tuple[Strings, tuple[Numbers, ...]]:
    """Join dictionaries and more strings into one, and translate their codes."""
    named, ordered = vocabulary.named, vocabulary.ordered
    if len(dictionaries) != 1:
        return _distinct(dictionaries, named, ordered=ordered)
    known = dictionaries[0].joined
    joined = known.get(vocabulary)
    if joined is None:
        if ordered:
            strings, (numbers,) = _distinct(dictionaries, named, ordered=True)
        else:
            strings, numbers = _extend_dictionary(dictionaries[0], named), None
        if len(known) >= KNOWN:
            known.clear()
        joined = known[vocabulary] = strings, numbers
    return joined[0], (joined[1],)


def _extend_dictionary(strings: Strings, named: tuple[str, ...]) -> Strings:
    """Append to the dictionary those of some strings that it does not have."""
    wanted = array_of(named)
    missing = pc.invert(pc.is_in(wanted, value_set=strings.values))
    new = wanted.filter(missing)
    if not len(new):
        return strings
    return Strings(pa.concat_arrays([strings.values, new]))


def _distinct(
    dictionaries: Sequence[Strings], named: Sequence[str], *, ordered: bool
) -> tuple[Strings, tuple[Numbers, ...]]:
    parts = [one.values for one in dictionaries]
    parts.append(array_of(named))
    strings, numbers = merge_dictionaries(parts, ordered=ordered)
    return strings, tuple(
        None if np.array_equal(one, np.arange(len(one))) else one
        for one in numbers[: len(dictionaries)]
    )


def _renumber(
    buffer: SnapshotBuffer, numbers: Mapping[Strings, Numbers]
) -> SnapshotBuffer:
    """Replace the codes of the rows' strings; the rows themselves if none changes."""
    columns = []
    for column in buffer.columns:
        new = None if column.strings is None else numbers[column.strings]
        columns.append(column if new is None else _with_codes(column, new))
    if all(new is old for new, old in zip(columns, buffer.columns, strict=True)):
        return buffer
    return buffer.with_columns(tuple(columns))


def _with_codes(column: Column, numbers: Codes) -> Column:
    codes = column.values.view(np.int32)
    values = allocate(STRING, len(codes))[: len(codes)].view(np.int32)
    np.take(numbers, codes, out=values, mode="clip")  # which writes to it directly
    return Column(values, column.validity, column.offset)


# -- rows that came one after the other -----------------------------------------------


def with_one_dictionary(
    chunks: Sequence[tuple[Column, int]],
) -> tuple[list[Column], Strings | None]:
    """Give the chunks of one column (each with its row count) one dictionary.

    It has no more strings than `SPARSE` for each row.
    """
    if all(column.strings is None for column, _ in chunks):
        return [column for column, _ in chunks], None
    small = [_compact(column, count) for column, count in chunks]
    own = list(dict.fromkeys(c.strings for c in small if c.strings is not None))
    if len(own) == 1:
        return small, own[0]
    strings, numbers = _distinct(own, (), ordered=False)
    by_dictionary = dict(zip(own, numbers, strict=True))
    renumbered = []
    for column in small:
        new = None if column.strings is None else by_dictionary[column.strings]
        renumbered.append(column if new is None else _with_codes(column, new))
    return renumbered, strings


def _compact(column: Column, count: int) -> Column:
    """Shrink the dictionary of a column to not many more strings than it has rows."""
    if column.strings is None or len(column.strings) <= SPARSE * max(count, 1):
        return column
    used, codes = np.unique(column.values[: max(count, 1)], return_inverse=True)
    strings = Strings(column.strings.values.take(pa.array(used)))
    return Column(codes.astype(np.int32), column.validity, column.offset, strings)
