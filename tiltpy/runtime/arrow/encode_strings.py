"""Dictionary encoding of columns of strings, with one dictionary for all of a run.

Each column comes with its dictionary. Before kernels run these are merged, with the
string constants of the query. If the query asks for the order of strings,
the codes are in that order, so that a kernel compares them like any numbers; else
nothing is sorted, and mostly no code changes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.ir import reductions
from tiltpy.ir.cuts import expressions
from tiltpy.ir.find_string_uses import find_string_uses
from tiltpy.ir.nodes import Binary, Const, Expr, In, Query, Reduce
from tiltpy.ir.string_sources import ColumnSource, StringUses
from tiltpy.ir.traversal import walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dictionary import (
    NO_STRINGS,
    Recoding,
    Strings,
    place_of,
)
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.views import bools_of, plain_array, validity_of, values_of
from tiltpy.runtime.arrow.decode import decode, plain_type
from tiltpy.runtime.arrow.make_strings import StringMaker
from tiltpy.runtime.arrow.merge_dictionaries import merge_dictionaries
from tiltpy.runtime.arrow.value_codes import TextCodes
from tiltpy.runtime.concurrency.workers import map_shared, portions
from tiltpy.string_predicates import array_of
from tiltpy.types import STRING

JOINED = pa.string(), pa.large_string()
SHORT_BYTES = 1 << 20
"""Bytes of chunks of these types that are joined before their strings are encoded."""


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
    encoded: list[pa.DictionaryArray] = []
    known: dict[tuple[int, ...], tuple[pa.Array | None, pa.Array]] = {}
    for chunk in _join_short([_unnest(chunk) for chunk in chunks if len(chunk)]):
        if not pa.types.is_dictionary(chunk.type):
            encoded += _encode(chunk)
            continue
        # Chunks of one column mostly share a dictionary.
        place = place_of(chunk.dictionary)
        if place not in known:
            known[place] = _encode_dictionary(chunk.dictionary)
        codes, values = known[place]
        indices = chunk.indices
        indices = _cast(indices, pa.int32()) if codes is None else codes.take(indices)
        encoded.append(_of(indices, values))
    if not encoded:
        return NO_STRINGS.values.dictionary_encode()[:0]
    codes, values = _unify(encoded)
    values.validate(full=True)
    return _of(codes, values if len(values) else NO_STRINGS.values)


def _unnest(chunk: pa.Array) -> pa.Array:
    """Decode strings whose dictionary has encodings of its own."""
    kind = chunk.type
    if pa.types.is_dictionary(kind) and plain_type(kind.value_type) != kind.value_type:
        return decode(chunk)
    return chunk


def _join_short(chunks: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Join neighbouring chunks of strings that are short: each has a dictionary."""
    short: list[pa.Array] = []
    size = 0
    for chunk in chunks:
        is_short = chunk.type in JOINED and chunk.nbytes < SHORT_BYTES
        if short and (
            not is_short or size >= SHORT_BYTES or chunk.type != short[0].type
        ):
            yield _join(short)
            short, size = [], 0
        if is_short:
            short.append(chunk)
            size += chunk.nbytes
        else:
            yield chunk
    if short:
        yield _join(short)


def _join(chunks: list[pa.Array]) -> pa.Array:
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _encode(chunk: pa.Array) -> list[pa.DictionaryArray]:
    """Encode strings as codes of 32 bits and dictionaries of large strings.

    Threads share the rows, and each portion has its dictionary.
    """
    if pa.types.is_null(chunk.type):
        chunk = chunk.cast(pa.large_string())
    return map_shared(
        lambda rows: _encode_portion(chunk[rows]), list(portions(len(chunk), each=2))
    )


def _encode_dictionary(strings: pa.Array) -> tuple[pa.Array | None, pa.Array]:
    """Encode a dictionary, which may name a string twice, and null.

    Returns the codes of its strings, None where they are their numbers, and a
    dictionary that has each once.
    """
    codes, values = _unify(_encode(strings))
    if codes.null_count == 0 and _is_identity(values_of(codes, np.dtype(np.int32))):
        return None, values
    return codes, values


def _encode_portion(chunk: pa.Array) -> pa.DictionaryArray:
    if chunk.type not in JOINED:
        encoded = chunk.dictionary_encode()
        return _of(encoded.indices, encoded.dictionary)
    known = TextCodes(pa.large_string())
    if not chunk.null_count:
        codes = plain_array(known.encode_as_int32(chunk))
    else:
        absent = bools_of(chunk.is_null()).view(np.bool_)
        numbers = np.zeros(len(chunk), np.int32)
        numbers[~absent] = known.encode_as_int32(chunk.drop_null())
        codes = plain_array(numbers, absent)
    return _of(codes, known.list_values())


def _is_identity(codes: NDArray[np.int32]) -> bool:
    """Tell whether codes stay as they are."""
    return np.array_equal(codes, np.arange(len(codes), dtype=np.int32))


def _unify(encoded: list[pa.DictionaryArray]) -> tuple[pa.Array, pa.Array]:
    """Join the codes of consecutive arrays, in one dictionary.

    Strings are in order of their first rows, wherever an array ends.
    """
    if len(encoded) == 1:
        return encoded[0].indices, encoded[0].dictionary
    known = [each.dictionary for each in encoded if len(each.dictionary)]
    if not known:
        return pa.nulls(sum(map(len, encoded)), pa.int32()), encoded[0].dictionary
    distinct = {place_of(each): each for each in known}
    strings, merged = merge_dictionaries(list(distinct.values()), ordered=False)
    recoding_of = {
        place: None if _is_identity(codes) else codes
        for place, codes in zip(distinct, merged, strict=True)
    }
    nothing = np.zeros(1, np.int32)
    recodings = [
        recoding_of[place_of(each.dictionary)] if len(each.dictionary) else nothing
        for each in encoded
    ]
    sizes = [len(each) for each in encoded]
    stops = np.cumsum(sizes)
    codes = allocate(STRING, int(stops[-1]))[: stops[-1]].view(np.int32)

    def recode(number: int) -> None:
        indices, recoding = encoded[number].indices, recodings[number]
        if indices.null_count:
            indices = indices.fill_null(0)
        numbers = values_of(indices, np.dtype(np.int32))
        target = codes[stops[number] - sizes[number] : stops[number]]
        if recoding is None:
            target[:] = numbers
        else:
            np.take(recoding, numbers, out=target, mode="clip")

    map_shared(recode, range(len(encoded)))
    validity = None
    if any(each.indices.null_count for each in encoded):
        valid = pa.concat_arrays([each.indices.is_valid() for each in encoded])
        validity = valid.buffers()[1]
    buffers = [validity, pa.py_buffer(codes)]
    return pa.Array.from_buffers(pa.int32(), len(codes), buffers), strings.values


def _of(codes: pa.Array, values: pa.Array) -> pa.DictionaryArray:
    dictionary = _cast(values, pa.large_string())
    return pa.DictionaryArray.from_arrays(codes, dictionary, safe=False)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast an array that is not of the type, by one of Arrow's functions."""
    return array if array.type == kind else array.cast(kind)


def string_column(array: pa.DictionaryArray) -> Column:
    """Make a column of an array of `encode_chunks`; nulls have a code, too."""
    codes = array.indices
    validity, offset = validity_of(codes)
    if validity is not None:
        codes = codes.fill_null(0)
    values = values_of(codes, np.dtype(np.int32))
    return Column(values, validity, offset, Strings(array.dictionary))


# -- dictionaries ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The string constants of a query, and whether it compares strings by order.

    `uses` are its calls of functions of strings.
    """

    constants: tuple[str, ...]
    ordered: bool
    uses: StringUses = field(default_factory=StringUses)

    @staticmethod
    def of(query: Query) -> "Vocabulary":
        """Collect them from the query's expressions."""
        nodes = list(_nodes(query))
        constants: dict[str, None] = {}
        for node in nodes:
            for option in node.options if isinstance(node, In) else (node,):
                if isinstance(option, Const) and isinstance(option.value, str):
                    constants[option.value] = None
        ordered, uses = any(map(_compares_order, nodes)), find_string_uses(query)
        return Vocabulary(tuple(constants), ordered, uses)


def encode(
    vocabulary: Vocabulary, rows: Mapping[str, SnapshotBuffer]
) -> tuple[Mapping[str, SnapshotBuffer], Strings]:
    """Encode the inputs' rows with one dictionary, and return both.

    It has the string constants of the query, too, which are in its `vocabulary`.
    """
    dictionaries = _dictionaries(rows.values())
    if not (dictionaries or vocabulary.constants or vocabulary.uses.calls):
        return rows, NO_STRINGS
    if vocabulary.uses.calls:
        strings, recodings = _merge_and_make(dictionaries, vocabulary, rows)
    else:
        strings, recodings = _merge(dictionaries, vocabulary)
    by_dictionary = dict(zip(dictionaries, recodings, strict=True))
    return {
        name: _recode(buffer, by_dictionary) for name, buffer in rows.items()
    }, strings


def _compares_order(node: Expr) -> bool:
    """Tell whether a node compares the order of strings."""
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
        for _, clause in reductions.clauses(reduction):
            yield from walk(clause)


def _dictionaries(buffers: Iterable[SnapshotBuffer]) -> list[Strings]:
    """List the dictionaries of all columns, each once."""
    dictionaries: dict[Strings, None] = {}
    for buffer in buffers:
        for column in buffer.columns:
            if column.strings is not None:
                dictionaries[column.strings] = None
    return list(dictionaries)


def _merge(
    dictionaries: Sequence[Strings], vocabulary: Vocabulary
) -> tuple[Strings, tuple[Recoding, ...]]:
    """Merge dictionaries with the constants of a query; memoized for a single one."""
    constants, ordered = vocabulary.constants, vocabulary.ordered
    if len(dictionaries) != 1:
        return _merge_distinct(dictionaries, constants, ordered=ordered)
    merges = dictionaries[0].merges
    merge = merges.get(vocabulary)
    if merge is None:
        if ordered:
            strings, (recoding,) = _merge_distinct(
                dictionaries, constants, ordered=True
            )
        else:
            strings, recoding = _extend(dictionaries[0], constants), None
        if len(merges) >= DEFAULT_COSTS.reading.memoized_dictionaries:
            merges.clear()
        merge = merges[vocabulary] = strings, recoding
    return merge[0], (merge[1],)


def _extend(strings: Strings, constants: tuple[str, ...]) -> Strings:
    """Append the constants that a dictionary does not have."""
    candidates = array_of(constants)
    missing = pc.invert(pc.is_in(candidates, value_set=strings.values))
    new = candidates.filter(missing)
    if not len(new):
        return strings
    return Strings(pa.concat_arrays([strings.values, new]))


def _merge_distinct(
    dictionaries: Sequence[Strings], constants: Sequence[str], *, ordered: bool
) -> tuple[Strings, tuple[Recoding, ...]]:
    arrays = [strings.values for strings in dictionaries]
    arrays.append(array_of(constants))
    merged, recodings = merge_dictionaries(arrays, ordered=ordered)
    return merged, tuple(
        None if np.array_equal(codes, np.arange(len(codes))) else codes
        for codes in recodings[: len(dictionaries)]
    )


def _merge_and_make(
    dictionaries: Sequence[Strings],
    vocabulary: Vocabulary,
    rows: Mapping[str, SnapshotBuffer],
) -> tuple[Strings, tuple[Recoding, ...]]:
    """Merge dictionaries with all strings that the functions of a query make of them.

    Memoized for a single one, unless the rows decide which strings meet.
    """
    columns = {
        ColumnSource(name, number): column
        for name, buffer in rows.items()
        for number, column in enumerate(buffer.columns)
        if column.strings is not None
    }
    single = len(dictionaries) == 1 and not vocabulary.uses.joins_rows
    memo = dictionaries[0].merges if single else {}
    key = vocabulary, tuple(columns)
    if key in memo:
        merged, recoding = memo[key]
        return merged, (recoding,)
    made, recodings = _make(dictionaries, vocabulary, columns, rows)
    if len(recodings) == 1:
        if len(memo) >= DEFAULT_COSTS.reading.memoized_dictionaries:
            memo.clear()
        memo[key] = made, recodings[0]
    return made, recodings


def _make(
    dictionaries: Sequence[Strings],
    vocabulary: Vocabulary,
    columns: Mapping[ColumnSource, Column],
    rows: Mapping[str, SnapshotBuffer],
) -> tuple[Strings, tuple[Recoding, ...]]:
    constants = vocabulary.constants or ("",)
    recodings: tuple[Recoding, ...]
    if len(dictionaries) == 1:
        plain, recodings = _extend(dictionaries[0], constants), (None,)
    else:
        plain, recodings = _merge_distinct(dictionaries, constants, ordered=False)
    codes = {
        strings: np.arange(len(strings)) if recoding is None else recoding
        for strings, recoding in zip(dictionaries, recodings, strict=True)
    }
    dictionary_codes, row_codes = {}, {}
    for source, column in columns.items():
        assert column.strings is not None
        of = codes[column.strings].astype(np.int64)
        dictionary_codes[source] = of
        if vocabulary.uses.joins_rows:
            count = rows[source.input].n
            rows_of = column.values[:count].view(np.int32)
            row_codes[source] = np.take(of, rows_of, mode="clip")  # nulls: any code
    known = {constant: plain.code(constant) for constant in constants}
    maker = StringMaker(
        vocabulary.uses, plain.values, known, dictionary_codes, row_codes
    )
    maker.make()
    strings = Strings(maker.values)
    if vocabulary.ordered:
        strings, (ranks,) = merge_dictionaries([maker.values], ordered=True)
        for table in maker.tables.values():
            table.recode(ranks)
        recodings = tuple(ranks[codes[each]] for each in dictionaries)
    tables = {key: table.arrays(len(strings)) for key, table in maker.tables.items()}
    return replace(strings, tables=tables), recodings


def _recode(
    buffer: SnapshotBuffer, recodings: Mapping[Strings, Recoding]
) -> SnapshotBuffer:
    """Replace the codes of strings; returns the buffer itself if none changes."""
    columns = tuple(_recode_column(column, recodings) for column in buffer.columns)
    if all(new is old for new, old in zip(columns, buffer.columns, strict=True)):
        return buffer
    return buffer.with_columns(columns)


def _recode_column(column: Column, recodings: Mapping[Strings, Recoding]) -> Column:
    recoding = None if column.strings is None else recodings[column.strings]
    if recoding is None:
        return column
    codes = column.values.view(np.int32)
    values = allocate(STRING, len(codes))[: len(codes)].view(np.int32)
    np.take(recoding, codes, out=values, mode="clip")  # which writes to it directly
    return Column(values, column.validity, column.offset)


# -- chunks of one column -------------------------------------------------------------


def with_one_dictionary(
    chunks: Sequence[tuple[Column, int]],
) -> tuple[list[Column], Strings | None]:
    """Give the chunks of one column (each with its row count) one dictionary.

    It has no more strings than `ReadingCosts.strings_per_row` for each row.
    """
    if all(column.strings is None for column, _ in chunks):
        return [column for column, _ in chunks], None
    small = [_compact(column, count) for column, count in chunks]
    distinct = list(dict.fromkeys(c.strings for c in small if c.strings is not None))
    if len(distinct) == 1:
        return small, distinct[0]
    strings, recodings = _merge_distinct(distinct, (), ordered=False)
    by_dictionary = dict(zip(distinct, recodings, strict=True))
    return [_recode_column(column, by_dictionary) for column in small], strings


def _compact(column: Column, count: int) -> Column:
    """Drop unused strings where `ReadingCosts.strings_per_row` is exceeded."""
    most = DEFAULT_COSTS.reading.strings_per_row * max(count, 1)
    if column.strings is None or len(column.strings) <= most:
        return column
    used, codes = np.unique(column.values[: max(count, 1)], return_inverse=True)
    strings = Strings(column.strings.values.take(pa.array(used)))
    return Column(codes.astype(np.int32), column.validity, column.offset, strings)
