"""Rows that lie key after key, as loops like to have them, and what loops wrote."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.outcome import Outcome, Payload, Table, codes_of
from bench.peers.workspace import memory
from bench.workloads.streams import Stream, Times, Values, Workload

VALUES: dict[str, type] = {"fraud": np.bool_, "mean": np.float32, "trading": np.bool_}
"""What the values of a workload are, by its base."""
SAMPLED = "trading"
"""The base whose rows are sampled, and all have a value: that is all loops write."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The rows of a stream key after key, in order of time.

    Those of key `k`, the `k`th of the `distinct`, are rows `offsets[k]` to
    `offsets[k + 1]`.
    """

    values: Values
    ends: Times
    offsets: NDArray[np.int64]
    distinct: pa.Array

    def memory(self, workload: Workload) -> Payload:
        """Arrays for a loop: starts, ends, values and numbers of keys, or values."""
        kinds = (np.int64, np.int64, VALUES[workload.base], np.int32)
        wanted = kinds[2:3] if workload.base == SAMPLED else kinds
        return tuple(memory(len(self.values), kind) for kind in wanted)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """Return what a loop wrote, with times and keys."""
        if len(arrays) == 1:
            rows = np.diff(self.offsets)
            keys = self._named(np.repeat(np.arange(len(rows)), rows))
            return Table(self.ends - 1, self.ends, arrays, keys)
        starts, ends, values, numbers = (array[:count] for array in arrays)
        return Table(starts, ends, (values,), self._named(numbers))

    def _named(self, numbers: NDArray[np.int64]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(numbers), self.distinct)


def grouped(stream: Stream) -> Grouped:
    """A stream's rows, which come in order of time, put in order of keys."""
    codes, distinct = codes_of(stream.keys)
    order = np.argsort(codes, kind="stable")
    offsets = np.searchsorted(codes[order], np.arange(len(distinct) + 1))
    _, ends = stream.times()
    return Grouped(stream.values[order], ends[order], offsets, distinct)


def in_order(rows: pa.Table) -> Table:
    """A frame's rows of one tick, with columns `k`, `end` and `out`, as a result.

    What has no value is no result. The frame may be in any order.
    """
    known = rows.filter(rows["out"].is_valid())
    keys, ends, values = (known[name].combine_chunks() for name in ("k", "end", "out"))
    codes, _ = codes_of(keys)
    order = np.lexsort((ends.to_numpy(), codes))
    times = ends.to_numpy()[order]
    found = values.to_numpy(zero_copy_only=False)[order]
    return Table(times - 1, times, (found,), keys.take(pa.array(order)))
