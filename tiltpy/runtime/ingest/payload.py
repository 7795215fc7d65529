"""An input's payload columns, read from a table: numbers, times, structs in structs."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import validity_of
from tiltpy.runtime.arrow.payload_types import payload_column
from tiltpy.runtime.arrow.read_frame import payload_array, says_no_type
from tiltpy.runtime.arrow.time_payloads import TickColumn, ticks_column
from tiltpy.runtime.ingest.packed_sort import Rows
from tiltpy.runtime.ingest.sort_by_time import reorder
from tiltpy.types import Struct, Unit, columns


def read_payload(
    declared: Input,
    table: pa.Table,
    paths: Sequence[tuple[str, ...]],
    unit: Unit | None,
    order: Rows | None = None,
) -> tuple[Column, ...]:
    """The columns of a payload (`types.columns`) at their paths in a table, in order.

    Fewer where a table without rows does not say the types.
    """
    found = []
    for (column, scalar), path in zip(columns(declared.type), paths, strict=True):
        array = payload_array(declared.name, table, scalar, *path)
        if says_no_type(array):
            continue
        name = ".".join(path)
        if scalar.is_temporal:
            place = TickColumn(declared.name, name, array, scalar, unit)
            array = ticks_column(place)
        if order is not None:
            array = reorder(array, order)
        if isinstance(declared.type, Struct) and isinstance(
            declared.type.field(column), Struct
        ):
            found.append(_presence(array))
        else:
            found.append(payload_column(array, scalar, input=declared.name, name=name))
    return tuple(found)


def _presence(array: pa.Array) -> Column:
    """Whether the struct is there: true, or null."""
    validity, offset = validity_of(array)
    return Column(np.ones(max(1, len(array)), np.uint8), validity, offset)
