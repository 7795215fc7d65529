"""Accepted rows as tables that `run` reads: what a session was given, less late rows.

Rows that wait have their times in ticks, and late rows that were moved have new ones.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.views import integers_of
from tiltpy.runtime.arrivals.read_arrivals import ArrivalReader, join_rows
from tiltpy.runtime.arrow.timestamps import from_ticks, output_stamp


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedRows:
    """Rows that were settled, in order of start and arrival.

    `reader` is that of their input, None while its schema is not known.
    """

    reader: ArrivalReader | None
    pieces: Sequence[pa.Table]

    def table(self) -> pa.Table:
        """Make a table of the columns that the query reads.

        Its times have the type of the outputs' times.
        """
        if self.reader is None:
            return pa.table({})
        schema = accepted_schema(self.reader)
        if not self.pieces:
            return schema.empty_table()
        return rows_as_pushed(self.reader, join_rows(self.pieces), schema)


def check_archive(reader: ArrivalReader) -> None:
    """Refuse to archive moved rows where the query reads their time as a value."""
    times = set(reader.choice.times) & {path[0] for path in reader.choice.payload}
    if times and reader.options.accepted and reader.options.late == "adjust":
        raise DataError(
            "the query reads this time as a value, too, and rows that late='adjust' "
            "moves have two: leave out accepted=, or choose another policy",
            input=reader.declared.name,
            column=min(times),
        )


def accepted_schema(reader: ArrivalReader) -> pa.Schema:
    """Find the columns of the accepted rows of an input."""
    stamp = output_stamp({reader.declared.name: reader.stamps}, reader.unit)
    fields = (
        field.with_type(stamp.type) if field.name in reader.choice.times else field
        for field in reader.movable
    )
    return pa.schema(list(fields))


def rows_as_pushed(
    reader: ArrivalReader, rows: pa.Table, schema: pa.Schema
) -> pa.Table:
    """Convert rows in ticks to columns of a schema."""
    name = reader.declared.name
    stamp = output_stamp({name: reader.stamps}, reader.unit)
    columns = []
    for field in schema:
        if field.name not in reader.choice.times:
            columns.append(rows.column(field.name))
            continue
        ticks = rows.column(reader.choice.times.index(field.name)).chunk(0)
        stamps = integers_of(ticks).astype(np.int64, copy=False)
        columns.append(from_ticks(stamps, stamp, name))
    return pa.Table.from_arrays(columns, schema=schema)
