"""The keys of an output's snapshots, and the key columns of its table."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import MOST_BYTES
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.repetition import repeat_numbers
from tiltpy.runtime.arrays.same_memory import join_slices
from tiltpy.runtime.arrays.views import array_of, integers_of, plain_array
from tiltpy.runtime.concurrency.workers import map_portions, map_shared
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.ingest.row_order import RowOrder
from tiltpy.runtime.ingest.sort_by_time import find_time_order
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps

Order = Literal["key", "time"]
"""The first sort key of a keyed output's rows."""


@record(frozen=True, slots=True, eq=False)
class KeySnapshots:
    """Snapshots of some keys, key after key: `counts[i]` of key `numbers[i]`.

    `carried` is the end of a snapshot that began before a single key's range, and
    stands in no piece. Those of several keys that begin before theirs do.
    """

    pieces: Sequence[Piece | KeyedBitmaps]
    numbers: I64Array
    counts: I64Array
    carried: int | None = None


@record(frozen=True, slots=True, eq=False)
class KeyColumns:
    """The keys of an output's snapshots: `counts[i]` times `numbers[i]`, in order."""

    keys: Keys
    numbers: I64Array
    counts: I64Array
    order: Order = "key"

    @staticmethod
    def of(keys: Keys, snapshots: Sequence[KeySnapshots], order: Order) -> "KeyColumns":
        """Concatenate the keys of consecutive snapshots."""
        numbers = join_slices([keyed.numbers for keyed in snapshots])
        counts = join_slices([keyed.counts for keyed in snapshots])
        return KeyColumns(keys, numbers, counts, order)

    def offsets(self) -> I64Array:
        """Compute the offsets of the keys' snapshots, and the end of the last ones."""
        totals = np.zeros(len(self.keys) + 1, np.int64)
        np.add.at(totals, self.numbers + 1, self.counts)
        return np.cumsum(totals)

    @property
    def fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the columns."""
        return list(zip(self.keys.names, self.keys.types, strict=True))

    def chunks(self, sizes: Sequence[int]) -> list[list[pa.Array]]:
        """Make the columns for consecutive chunks of the given sizes, by workers."""
        nonempty = self.counts > 0
        columns: Sequence[pa.Array] = self.keys.columns
        counts = self.counts
        if len(self.numbers) < len(self.keys) or not nonempty.all():
            counts, numbers = counts[nonempty], plain_array(self.numbers[nonempty])
            columns = [column.take(numbers) for column in columns]
        total = sum(sizes)
        if len(counts) == total:  # a snapshot of each
            repeated = list(columns)
        else:
            repeated = [_repeat_keys(column, counts, total) for column in columns]
        stops = np.cumsum(sizes).tolist()

        def decode(chunk: tuple[int, int]) -> list[pa.Array]:
            stop, size = chunk
            return [_decode_runs(each.slice(stop - size, size)) for each in repeated]

        return map_shared(decode, list(zip(stops, sizes, strict=True)))

    def rows_per_chunk(self) -> int:
        """Bound the snapshots of a chunk so that the text of its keys fits."""
        longest = 1
        for column in self.keys.columns:
            if pa.types.is_string(column.type):
                size = pc.max(pc.binary_length(column)).as_py()
                longest = max(longest, int(size or 0))
        return max(1, MOST_BYTES // longest)


def _repeat_keys(column: pa.Array, counts: I64Array, total: int) -> pa.Array:
    """Repeat each key of a column: integers at once, others as runs."""
    if pa.types.is_integer(column.type) and not column.null_count:
        numbers = integers_of(column)
        wide = numbers.astype(np.int64, copy=False)  # modulo 2**64
        repeated = repeat_numbers(wide, counts, total)
        return array_of(repeated.astype(numbers.dtype, copy=False), None, column.type)
    ends = plain_array(np.cumsum(counts))
    kind = pa.run_end_encoded(ends.type, column.type)
    return pa.RunEndEncodedArray.from_buffers(
        kind, total, [None], children=[ends, column]
    )


def _decode_runs(column: pa.Array) -> pa.Array:
    """Decode a column where it has runs."""
    is_encoded = pa.types.is_run_end_encoded(column.type)
    return pc.run_end_decode(column) if is_encoded else column


def sort_by_time(table: pa.Table, *, tied: bool) -> pa.Table:
    """Sort a table in order of key and time by start, end and key instead.

    `tied`: rows that start together are in tie order, whenever they end. Threads share
    the rows.
    """
    if len(table) < 2:
        return table
    columns = [column.combine_chunks() for column in table.columns]
    starts, ends = (
        integers_of(columns[table.schema.get_field_index(name)]).astype(
            np.int64, copy=False
        )
        for name in ("start", "end")
    )
    order = RowOrder(find_time_order(starts, None if tied else ends))
    moved = [_move(column, order) for column in columns]
    return pa.Table.from_arrays(moved, schema=table.schema)


def _move(column: pa.Array | pa.ChunkedArray, order: RowOrder) -> pa.ChunkedArray:
    """Copy a column in an order; of text that fits into no one array there are two."""
    if isinstance(column, pa.Array) and order.moves(column):
        return pa.chunked_array([order.move(column)])
    taken = map_portions(
        lambda rows: column.take(plain_array(order.rows[rows])), len(column)
    )
    chunks = [
        chunk
        for portion in taken
        for chunk in (
            portion.chunks if isinstance(portion, pa.ChunkedArray) else [portion]
        )
    ]
    return pa.chunked_array(chunks, column.type)
