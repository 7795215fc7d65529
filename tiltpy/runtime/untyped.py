"""Tables from formats without types (CSV): payload columns as their input says.

A CSV reader guesses types by what the values look like: prices that happen to be whole
numbers are integers to it. Here a guessed number becomes the declared one. What fits
only with a loss stays as it is, and is an error further on.
"""

import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.runtime.bind import Binding, complete
from tiltpy.runtime.choose import choose_columns
from tiltpy.runtime.views import arrow_type
from tiltpy.types import Scalar, columns


def as_declared(table: pa.Table, declared: Input, binding: Binding) -> pa.Table:
    """The table with the payload columns of an input in the input's types."""
    choice = choose_columns(complete(declared, binding), binding.column, table.schema)
    for path, (_, scalar) in zip(choice.payload, columns(declared.type), strict=True):
        if len(path) == 1:
            table = _with_type(table, path[0], scalar)
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
