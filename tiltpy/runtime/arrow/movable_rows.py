"""Columns whose rows Arrow can filter, sort and concatenate, in place of any others."""

import pyarrow as pa

from tiltpy.runtime.arrow.read_frame import without_run_ends
from tiltpy.runtime.arrow.validation import broken_error, check_array

_OF_VIEWS = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}


def movable_type(kind: pa.DataType) -> pa.DataType:
    """Find the type whose rows Arrow can move, for one whose rows it cannot."""
    if pa.types.is_run_end_encoded(kind):
        return movable_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(movable_type(f.type)) for f in kind])
    return _OF_VIEWS.get(kind, kind)


def movable_table(input: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Decode what Arrow cannot move of a table that was checked as far as it is read.

    `schema` has its columns in their movable types. Fields of structs that nothing
    reads are checked here.
    """
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        try:
            chunks = [_movable_array(chunk) for chunk in column.chunks]
        except (pa.ArrowException, OSError) as error:
            raise broken_error(error, input, (field.name,)) from error
        columns.append(pa.chunked_array(chunks, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _movable_array(array: pa.Array) -> pa.Array:
    kind = movable_type(array.type)
    if kind == array.type:
        return array
    if pa.types.is_struct(kind):
        fields = [array.field(number) for number in range(kind.num_fields)]
        for field in fields:
            check_array(field)
        fields = [_movable_array(field) for field in fields]
        return pa.StructArray.from_arrays(
            fields, fields=list(kind), mask=array.is_null()
        )
    return without_run_ends(array).cast(kind)
