"""Full validation of Arrow columns, before anything reads through their offsets.

Arrow arrays say themselves where their strings, dictionaries and runs lie, and kernels
believe them: a wild offset ends the process. Whoever made a column may have made it
wrong: another library, a file, memory that was written to afterwards. So every chunk of
every column that a query uses is checked, whatever the source. That is cheap: numbers
have nothing but the sizes of their buffers, strings are checked as bytes (UTF-8 matters
for distinct strings alone, which `encode_strings.encode_chunks` checks).

What cannot be checked is what another library says through the Arrow C interface of its
pointers and of how much memory lies behind them: that interface has no sizes.
"""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.encode_strings import is_string

ColumnPath = tuple[str, ...]


def check_columns(input: str, table: pa.Table, paths: Iterable[ColumnPath]) -> None:
    """Refuse a table whose columns, or fields of struct columns, are malformed.

    A path is a column's name, and those of fields within it.
    """
    for name, inner_paths in group_paths(paths).items():
        check_table_column(input, table, name, inner_paths)


def group_paths(paths: Iterable[ColumnPath]) -> dict[str, list[ColumnPath]]:
    """Group paths by their columns."""
    by_column: dict[str, list[ColumnPath]] = {}
    for path in dict.fromkeys(paths):
        by_column.setdefault(path[0], []).append(path)
    return by_column


def check_table_column(
    input: str, table: pa.Table, name: str, paths: Sequence[ColumnPath]
) -> None:
    """Refuse a malformed column of a table; of a struct the fields at paths count."""
    column = table.column(name)
    _check_length(input, table, name, column)
    check_column(input, column, paths)


def check_lengths(input: str, table: pa.Table) -> None:
    """Refuse a table whose columns have not as many rows as it says: it has no slices.

    Reads none of the data.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        _check_length(input, table, name, column)


def _check_length(
    input: str, table: pa.Table, name: str, column: pa.ChunkedArray
) -> None:
    if len(column) != table.num_rows:
        fault = f"{len(column):,} rows in a table of {table.num_rows:,}"
        raise broken_error(pa.ArrowInvalid(fault), input, (name,))


def check_column(
    input: str, column: pa.ChunkedArray, paths: Sequence[ColumnPath]
) -> None:
    """Refuse a malformed column; of a struct column the fields at the paths count."""
    (name, *_), *_ = paths
    path: ColumnPath = (name,)
    try:
        if pa.types.is_struct(column.type):
            column.validate()  # lengths and sizes of buffers, those of all fields too
        for chunk in column.chunks:
            for path in paths:
                check_array(chunk, path[1:])
    except (pa.ArrowException, OSError) as error:
        raise broken_error(error, input, path) from error
    except KeyError as error:  # of types whose arrays have no class in pyarrow
        fault = f"found {column.type}, which pyarrow cannot read; cast it"
        raise DataError(fault, input=input, column=name) from error


def broken_error(error: Exception, input: str, path: Sequence[str]) -> DataError:
    """Make the error of data that violate Arrow's format."""
    message = f"the Arrow data are broken: {error}"
    return DataError(message, input=input, column=".".join(path))


def check_array(array: pa.Array, steps: ColumnPath = ()) -> None:
    """Check one chunk, of a struct only the field that is used.

    Raises an error of Arrow.
    """
    if pa.types.is_struct(array.type):
        _plain_bits(array).validate(full=True)
        if steps:
            index = array.type.get_field_index(steps[0])
            check_array(array.field(index), steps[1:])
        return
    plain = _BYTES.get(array.type.id)
    (array if plain is None else array.view(plain)).validate(full=True)


_BYTES = {
    pa.string().id: pa.binary(),
    pa.large_string().id: pa.large_binary(),
    pa.string_view().id: pa.binary_view(),
}
"""Types whose text is checked elsewhere, and types of the same memory layout."""


def _plain_bits(array: pa.StructArray) -> pa.Array:
    """View the validity of structs as bools, to check it without all their fields."""
    validity = array.buffers()[0]
    data = validity or pa.py_buffer(bytes((array.offset + len(array) + 7) // 8))
    return pa.Array.from_buffers(
        pa.bool_(), len(array), [validity, data], array.null_count, array.offset
    )


def advise_type(kind: pa.DataType) -> str:
    """Advise on a column of a type that was not declared, or is no payload."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        name = str(kind).replace("uint", "u").replace("int", "i")
        name = {"double": "f64", "float": "f32", "halffloat": "f32"}.get(name, name)
        return f"declare it as {name}, or cast it"
    for same, declared in _DECLARED:
        if same(kind):
            return f"declare it as {declared}, or cast it"
    return next((text for same, text in _ELSEWHERE if same(kind)), _CAST)


_CAST = "cast it to a type of the query language"
_types = pa.types
_DECLARED: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (_types.is_boolean, "bool"),
    (_types.is_timestamp, "time"),
    (_types.is_date, "time"),
    (_types.is_duration, "duration"),
    (is_string, "string"),
    (_types.is_struct, "a struct, like { a: f64, b: i64 }"),
)
_ELSEWHERE: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (
        _types.is_decimal,
        "decimals are no payload: cast it to f64, or to an integer of its smallest "
        "part (1.25 as 125 cents)",
    ),
    (
        _types.is_time,
        "a time of day is no payload: add its day and declare a time, or cast it to an "
        "integer",
    ),
    (
        _types.is_interval,
        "months have no fixed length: cast it to a duration, or to a number of months",
    ),
    (
        _types.is_map,
        "a map is no payload: give each key that is needed a column of its own",
    ),
    (
        _types.is_union,
        "a union is no payload: give the values of each type a column of their own",
    ),
    (
        _types.is_nested,
        "a list is no payload: give each of its items a row, or a column of its own",
    ),
    (
        lambda kind: "binary" in str(kind),
        "bytes are no payload: decode them to numbers first",
    ),
)
"""Advice for types that are no payload; lists are the other nested types."""
