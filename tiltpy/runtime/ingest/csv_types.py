"""Types of payload columns read from CSV, as their input declares them.

A CSV reader guesses types from the values: prices that happen to be whole numbers are
integers to it. Here a guessed number is cast to the declared type, and a column that is
declared a string is read again as text, `007` too. Casts that would lose something are
left out, and are errors further on.
"""

from pathlib import Path

import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.views import arrow_type
from tiltpy.runtime.arrow.files import read_texts
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.types import STRING, Scalar, columns


def cast_as_declared(
    table: pa.Table, declared: Input, binding: InputBinding, path: Path
) -> pa.Table:
    """Cast the payload columns of an input in a table to the input's types.

    `binding` says which columns are the payload of `declared`; `path` is the CSV file
    that the table was read from.
    """
    choice = choose_columns(
        complete_input(declared, binding), binding.column, table.schema
    )
    payload = list(zip(choice.payload, columns(declared.type), strict=True))
    names = [column for (column, *_), (_, scalar) in payload if scalar == STRING]
    texts = read_texts(path, names) if names else None
    for (name, *inner), (_, scalar) in payload:
        if texts is not None and name in names:
            index = table.schema.get_field_index(name)
            table = table.set_column(index, name, texts.column(name))
        elif not inner:
            table = _with_type(table, name, scalar)
    return table


def _with_type(table: pa.Table, name: str, scalar: Scalar) -> pa.Table:
    index = table.schema.get_field_index(name)
    kind, wanted = table.schema.field(index).type, arrow_type(scalar)
    number = pa.types.is_integer(kind) and scalar.is_number
    if kind == wanted or not (number or (kind == "double" and scalar.is_float)):
        return table
    try:
        return table.set_column(index, name, table.column(index).cast(wanted))
    except pa.ArrowInvalid:
        return table
