"""The keys of an output's snapshots, and the key columns of its table."""

from collections.abc import Callable, Sequence
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
from tiltpy.runtime.arrow.texts import Texts, is_plain_text
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
        counts, numbers = self.counts[nonempty], self.numbers[nonempty]
        repeated = [_repeat(column, numbers, counts) for column in self.keys.columns]
        stops = np.cumsum(sizes).tolist()

        def make(chunk: tuple[int, int]) -> list[pa.Array]:
            stop, size = chunk
            return [make_rows(stop - size, stop) for make_rows in repeated]

        return map_shared(make, list(zip(stops, sizes, strict=True)))

    def rows_per_chunk(self) -> int:
        """Bound the snapshots of a chunk so that the text of its keys fits."""
        longest = 1
        for column in self.keys.columns:
            if pa.types.is_string(column.type):
                longest = max(longest, Texts.of(column).longest)
        return max(1, MOST_BYTES // longest)


def _repeat(
    column: pa.Array, numbers: I64Array, counts: I64Array
) -> Callable[[int, int], pa.Array]:
    """Repeat the values of a column that have some numbers: returns what makes rows."""
    total = int(counts.sum())
    if len(column) == len(numbers) == total:  # a snapshot of each
        return lambda first, stop: column[first:stop]
    if is_plain_text(column.type):
        texts, ends = Texts.of(column), np.cumsum(counts)

        def take(first: int, stop: int) -> pa.Array:
            runs = slice(ends.searchsorted(first, "right"), ends.searchsorted(stop) + 1)
            some = np.diff(np.minimum(ends[runs], stop), prepend=first)
            return texts.take(numbers[runs], column.type, counts=some)

        return take
    if pa.types.is_integer(column.type) and not column.null_count:
        values = integers_of(column)
        wide = values[numbers].astype(np.int64, copy=False)  # modulo 2**64
        repeated = repeat_numbers(wide, counts, total).astype(values.dtype, copy=False)
        rows = array_of(repeated, None, column.type)
        return lambda first, stop: rows[first:stop]
    ends = plain_array(np.cumsum(counts))
    kind = pa.run_end_encoded(ends.type, column.type)
    children = [ends, column.take(plain_array(numbers))]
    runs = pa.RunEndEncodedArray.from_buffers(kind, total, [None], children=children)
    return lambda first, stop: pc.run_end_decode(runs[first:stop])


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
