"""Columns whose rows Arrow can filter, sort and concatenate, in place of any others."""

import pyarrow as pa

from tiltpy.runtime.arrow.decode import decode, without_run_ends
from tiltpy.runtime.arrow.validation import broken_error, check_array, check_column

_OF_VIEWS = {
    pa.string_view().id: pa.large_string(),
    pa.binary_view().id: pa.large_binary(),
}
_CODES = pa.int32()
"""Indices into a dictionary that the strings of several fit into."""


def movable_type(kind: pa.DataType) -> pa.DataType:
    """Find the type whose rows Arrow can move, for one whose rows it cannot.

    Of all dictionaries those of strings stay: others save little, and Arrow joins not
    all of them.
    """
    if pa.types.is_dictionary(kind):
        values = movable_type(kind.value_type)
        is_text = pa.types.is_string(values) or pa.types.is_large_string(values)
        return pa.dictionary(_CODES, values, kind.ordered) if is_text else values
    if pa.types.is_run_end_encoded(kind):
        return movable_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(movable_type(f.type)) for f in kind])
    return _OF_VIEWS.get(kind.id, kind)


def movable_schema(schema: pa.Schema) -> pa.Schema:
    """Find the schema of what `movable_table` makes."""
    return pa.schema([field.with_type(movable_type(field.type)) for field in schema])


def is_movable(kind: pa.DataType) -> bool:
    """Tell whether Arrow can move rows of a type, whatever is in them.

    Not those of a dictionary that has nulls.
    """
    if pa.types.is_struct(kind):
        return all(is_movable(field.type) for field in kind)
    is_encoded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return not is_encoded and kind.id not in _OF_VIEWS


def movable_table(input: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Decode what Arrow cannot move of a table that was checked as far as it is read.

    `schema` has its columns in their movable types. Fields of structs that nothing
    reads are checked here.
    """
    if all(map(_moves, table.columns, schema.types)):
        return table
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        if not _moves(column, field.type):
            try:
                chunks = [_movable_array(chunk, field.type) for chunk in column.chunks]
            except (pa.ArrowException, OSError) as error:
                raise broken_error(error, input, (field.name,)) from error
            column = pa.chunked_array(chunks, field.type)  # noqa: PLW2901
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _moves(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Tell whether Arrow can move a column as it is, whose movable type is known."""
    if column.type != kind:
        return False
    if pa.types.is_dictionary(kind):
        return not any(chunk.dictionary.null_count for chunk in column.chunks)
    return not pa.types.is_struct(kind) or is_movable(kind)


def take_checked(
    input: str, table: pa.Table, rows: pa.Array, schema: pa.Schema
) -> pa.Table:
    """Take rows of a table with the columns of a schema, in their movable types.

    A column is null where the table has none of that name and type. Nothing need have
    been checked before.
    """
    columns = []
    for number, field in enumerate(schema):
        movable = movable_schema(pa.schema([field]))
        column = _find_column(table, field, number)
        if column is None:
            absent = pa.nulls(len(rows), movable.types[0])
            columns.append(pa.chunked_array([absent]))
            continue
        check_column(input, column, [(field.name,)])
        one = pa.Table.from_arrays([column], [field.name])
        columns.append(movable_table(input, one, movable).column(0).take(rows))
    return pa.Table.from_arrays(columns, schema=movable_schema(schema))


def _find_column(
    table: pa.Table, field: pa.Field, number: int
) -> pa.ChunkedArray | None:
    """Find a column by its name, and by its number where several have the name."""
    places = table.schema.get_all_field_indices(field.name)
    places = [number] if number in places else places
    columns = [table.column(place) for place in places]
    alike = [column for column in columns if column.type == field.type]
    return alike[0] if len(alike) == 1 else None


def _movable_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_movable(array.type):
        return array
    if pa.types.is_struct(kind):
        array = decode(array)
        fields = [array.field(number) for number in range(kind.num_fields)]
        for field in fields:
            check_array(field)
        fields = [
            _movable_array(field, of.type)
            for field, of in zip(fields, kind, strict=True)
        ]
        return pa.StructArray.from_arrays(
            fields, fields=list(kind), mask=array.is_null()
        )
    if not pa.types.is_dictionary(kind):
        return decode(array).cast(kind)
    codes, values = _split(array)
    if values.null_count:
        codes, values = _split(decode(array).dictionary_encode())
    codes, values = codes.cast(_CODES), values.cast(kind.value_type)
    return pa.DictionaryArray.from_arrays(
        codes, values, ordered=kind.ordered, safe=False
    )


def _split(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Split strings of a dictionary into its codes and values."""
    encoded = without_run_ends(array)
    return encoded.indices, decode(encoded.dictionary)
