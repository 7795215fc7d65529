"""The ungrouped rows of an input by key, in order of time, for pre-aggregation.

Nothing is moved: columns are views, and integer keys of a narrow range serve as key
codes. That range is taken from a sample of the rows, and from all of them only where
the sample missed a key.
"""

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS, PreaggregationCosts
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.distinct import distinct, expect_distinct
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.arrays.views import plain_array, values_of
from tiltpy.runtime.arrow.read_frame import flat_column
from tiltpy.runtime.arrow.timestamps import Stamps, StampType
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.runtime.ingest.event_times import lay_out_events, read_times
from tiltpy.runtime.ingest.key_codes import (
    KeyCodes,
    KeyedTable,
    compact_codes,
    encode_keys,
)
from tiltpy.runtime.ingest.payload import read_payload
from tiltpy.runtime.ingest.read_input import read_keys, read_rows
from tiltpy.runtime.ingest.samples import check_reach
from tiltpy.runtime.ingest.sort_by_time import find_row_order
from tiltpy.runtime.preaggregation.pane_states import CodedKeys
from tiltpy.types import NAMED, Unit


class TimeOrderedRows:
    """Rows in order of time, the names of their keys, and the kind of their times."""

    def __init__(
        self,
        buffer: SnapshotBuffer,
        stamps: StampType,
        names: tuple[str, ...],
        keyed: KeyedTable,
        sampled: int,
    ) -> None:
        self.buffer = buffer
        self.stamps = stamps
        self.names = names
        self._keyed = keyed
        self._sampled = sampled
        self._range: tuple[int, int] | None = None

    @cached_property
    def columns(self) -> tuple[pa.Array, ...]:
        """The key columns."""
        return self._keyed.columns

    @cached_property
    def fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns as they go out."""
        none = encode_keys([column[:0] for column in self.columns]).decode(
            np.zeros(0, np.uint8)
        )
        return list(zip(self.names, (column.type for column in none), strict=True))

    def keys(self, most: int) -> CodedKeys | None:
        """The keys as numbers; None if there may well be more than `most` of them.

        They are taken from a sample: if others turn up, `widen` and ask again.
        """
        if self._plain is not None:
            if self._range is None:
                self._range = _near(self._plain, self._sample())
            low, high = self._range
            if high - low < most:
                return _in_range(self._plain, low, high, self.columns[0].type)
        codes = self._codes
        if codes.size > most:
            if self._are_many(most):
                return None
            codes = self._narrow_codes
        return _coded(codes) if codes.size <= most else None

    def widen(self) -> None:
        """Look at all keys."""
        assert self._plain is not None
        bounds = pc.min_max(self._plain)
        self._range = bounds["min"].as_py(), bounds["max"].as_py()

    @cached_property
    def _codes(self) -> KeyCodes:
        return self._keyed.codes

    @cached_property
    def _narrow_codes(self) -> KeyCodes:
        return compact_codes(self._codes)

    @cached_property
    def _plain(self) -> pa.Array | None:
        """The keys, if they are one column of integers in memory without nulls.

        Those of 64 bits without a sign are in another order than with one.
        """
        first, *others = self.columns
        if others or first.null_count or not len(first) or not _is_integer(first.type):
            return None
        letter = "u" if pa.types.is_unsigned_integer(first.type) else "i"
        dtype = np.dtype(f"{letter}{first.type.bit_width // 8}")
        return None if dtype == np.uint64 else first.view(pa.from_numpy_dtype(dtype))

    def _sample(self) -> I64Array:
        rows = self.buffer.n
        ends = np.arange(min(rows, self._sampled))
        spread = np.arange(0, rows, max(1, rows // self._sampled))
        return np.concatenate([ends, spread, rows - 1 - ends])

    def _are_many(self, most: int) -> bool:
        """Tell whether a sample shows more keys than it would of `most` alike."""
        return self._distinct > expect_distinct(3 * self._sampled, most)

    @cached_property
    def _distinct(self) -> int:
        """Count the keys of a sample."""
        return len(distinct(self._codes.codes[self._sample()]))


def _is_integer(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_date(kind) or types.is_timestamp(kind)
    )


def _near(plain: pa.Array, sample: I64Array) -> tuple[int, int]:
    """The least and the greatest of some integers, and a little more on both sides."""
    bounds = pc.min_max(plain.take(plain_array(sample)))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    more = 16 + (high - low) // 64
    first = 0 if 0 <= low <= more else low - more
    limits = np.iinfo(plain.type.to_pandas_dtype())
    return max(first, int(limits.min)), min(high + more, int(limits.max))


def _in_range(plain: pa.Array, low: int, high: int, kind: pa.DataType) -> CodedKeys:
    """Integers that are their own numbers."""
    dtype = np.dtype(plain.type.to_pandas_dtype())

    def columns(keys: I64Array) -> tuple[pa.Array, ...]:
        return (plain_array((keys + low).astype(dtype)).view(kind),)

    scalar = NAMED[f"{dtype.kind}{8 * dtype.itemsize}"]
    return CodedKeys(values_of(plain, dtype), scalar, low, high - low + 1, columns)


def _coded(codes: KeyCodes) -> CodedKeys:
    kind = codes.codes.dtype
    assert kind.itemsize < 8, "there would be more keys than rows"

    def columns(keys: I64Array) -> tuple[pa.Array, ...]:
        return codes.decode(keys.astype(kind))

    return CodedKeys(
        codes.codes, NAMED[f"u{8 * kind.itemsize}"], 0, codes.size, columns
    )


def read_in_time_order(
    declared: Input,
    binding: InputBinding,
    unit: Unit | None,
    costs: PreaggregationCosts = DEFAULT_COSTS.preaggregation,
) -> TimeOrderedRows | str:
    """Read the rows of an input by key as they come, or say why they are grouped.

    What a binding remembers is not read again. Errors are those of `ingest`.
    """
    sampled = costs.sampled_rows
    key = TimeOrderedRows, declared, unit, sampled
    return binding.memoize(key, lambda: _read(declared, binding, unit, sampled))


def _read(
    declared: Input, binding: InputBinding, unit: Unit | None, sampled: int
) -> TimeOrderedRows | str:
    settled = complete_input(declared, binding)
    lifetime = settled.lifetime
    assert lifetime is not None
    name = f"~{declared.name}"
    if lifetime.needs_next_row:
        return f"events of {name} last until their key's next one"
    table, choice = read_rows(settled, binding)
    if binding.samples is None:
        times, kind = read_times(settled, lifetime, choice, table, unit)
        if not _in_order(settled, times[0], choice.order, table):
            return f"rows of {name} are not in order of time"
    else:
        times, kind = (), binding.samples.stamps
    first = choice.payload[0]
    if not table.num_rows or (len(first) > 1 and table.column(first[0]).null_count):
        return f"{name} has rows that are no events, or none"
    payload = read_payload(declared, table, choice.payload, unit)
    if binding.samples is not None:
        check_reach(declared, binding.samples, table.num_rows)
        start, period = binding.samples.start, binding.samples.period
        buffer = make_sampled(start, period, table.num_rows, payload)
    else:
        ticks = tuple(stamps.ticks for stamps in times)
        buffer = lay_out_events(ticks, lifetime, payload, steps=times[0].steps)

    keyed = read_keys(declared.name, binding, table, choice.keys)
    return TimeOrderedRows(buffer, kind, declared.keys, keyed, sampled)


def _in_order(
    declared: Input, stamps: Stamps, order: tuple[str, ...], table: pa.Table
) -> bool:
    """Return whether rows are in order of start, and of what breaks ties."""
    if not stamps.in_order:
        return False
    ties = tuple((name, flat_column(declared.name, table, name)) for name in order)
    return find_row_order(stamps, ties, input=declared.name) is None
