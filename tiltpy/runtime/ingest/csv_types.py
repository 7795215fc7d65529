"""Tables from formats without types (CSV): payload columns as their input says.

A CSV reader guesses types by what the values look like: prices that happen to be whole
numbers are integers to it. Here a guessed number becomes the declared one, and what is
declared a string is read as the text that it is, `007` too. What fits only with a loss
stays as it is, and is an error further on.
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

    `path` is the CSV file that it was read from.

    `binding` says which columns are the payload of `declared`; `path` is named in
    errors.
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
    found, wanted = table.schema.field(index).type, arrow_type(scalar)
    number = pa.types.is_integer(found) and scalar.is_number
    if found == wanted or not (number or (found == "double" and scalar.is_float)):
        return table
    try:
        return table.set_column(index, name, table.column(index).cast(wanted))
    except pa.ArrowInvalid:
        return table
