"""Calls of the loops: what they read, where they write, and what that means.

Memory for results is there before, and written to, as for the other loops.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.outcome import Array, Cells, Outcome, Payload, Table
from bench.peers.keyed_rows import KeyAfterKey, key_after_key
from bench.workloads.offpath.rows import Inputs

Fill = Callable[..., int]
Sizes = tuple[float, ...]
DOUBLE = (np.float64,)
INTEGER = (np.int64,)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The arguments of a loop, and what its results are, from how many there are."""

    arguments: tuple[object, ...]
    outcome: Callable[[int], Outcome]


@dataclass(frozen=True, slots=True)
class OnGrid:
    """A loop over values, and which of them are there where some are not.

    It writes a value for each cell of a period, but for those that `skipped`; first a
    byte that says whether there is a result, where not all cells have one (`gaps`).
    """

    fill: Fill
    types: tuple[type, ...] = DOUBLE
    sizes: Sizes = ()
    period: int = 1
    skipped: int = 0
    gaps: bool = False

    def prepare(self, inputs: Inputs) -> Prepared:
        """Arrays for as many cells as there are rows."""
        rows = max(map(len, inputs.values()))
        read: list[Array] = []
        for each in inputs.values():
            read += each.columns.values()
            if each.valid is not None:
                read.append(each.valid)
        kinds = ((np.bool_,) if self.gaps else ()) + self.types
        arrays = tuple(np.ones(rows + 1, kind) for kind in kinds)
        return Prepared(
            (*read, *self.sizes, *arrays), lambda count: self._outcome(arrays, count)
        )

    def _outcome(self, arrays: Payload, count: int) -> Outcome:
        kept = tuple(array[self.skipped : count] for array in arrays)
        exists = kept[0] if self.gaps else None
        payload = kept[int(self.gaps) :]
        return Cells(payload, self.period, self.skipped * self.period, exists)


@dataclass(frozen=True, slots=True)
class Outputs:
    """A loop over columns of samples that writes a row of a matrix for each output."""

    fill: Fill
    count: int
    sizes: Sizes = ()

    def prepare(self, inputs: Inputs) -> Prepared:
        """A matrix with a column for each cell."""
        (rows,) = inputs.values()
        matrix = np.ones((self.count, len(rows)))
        arguments = (*rows.columns.values(), *self.sizes, matrix)
        return Prepared(arguments, lambda _: Cells((*matrix,)))


@dataclass(frozen=True, slots=True)
class AtTimes:
    """A loop over times and values that writes starts, ends and values.

    `most`: results for each row, at most.
    """

    fill: Fill
    types: tuple[type, ...] = DOUBLE
    sizes: Sizes = ()
    most: int = 1

    def prepare(self, inputs: Inputs) -> Prepared:
        """Starts of intervals, ends and columns of each input, then sizes."""
        read: list[Array] = []
        for each in inputs.values():
            starts, ends = each.times()
            times = [starts, ends] if each.layout == "interval" else [ends]
            read += [*times, *each.columns.values()]
        rows = self.most * sum(map(len, inputs.values())) + 2
        kinds = (np.int64, np.int64, *self.types)
        arrays: Payload = tuple(np.ones(rows, kind) for kind in kinds)

        def outcome(count: int) -> Outcome:
            starts, ends, *payload = (array[:count] for array in arrays)
            return Table(starts, ends, (*payload,))

        return Prepared((*read, *self.sizes, *arrays), outcome)


@dataclass(frozen=True, slots=True)
class ByKey:
    """A loop over rows that lie key after key, which writes the number of a key too.

    `most`: results for each row, at most.
    """

    fill: Fill
    types: tuple[type, ...] = DOUBLE
    sizes: Sizes = ()
    most: int = 1

    def prepare(self, inputs: Inputs) -> Prepared:
        """Offsets of keys, ends and values of each input, then sizes."""
        grouped: list[KeyAfterKey] = key_after_key(inputs)
        read = [a for rows in grouped for a in (rows.offsets, rows.ends, rows.values)]
        count = self.most * len(grouped[0].ends) + 2
        kinds = (np.int64, np.int64, np.int32, *self.types)
        arrays: Payload = tuple(np.ones(count, kind) for kind in kinds)

        def outcome(count: int) -> Outcome:
            starts, ends, codes, *payload = (array[:count] for array in arrays)
            keys = pa.DictionaryArray.from_arrays(pa.array(codes), grouped[0].distinct)
            return Table(starts, ends, (*payload,), keys)

        return Prepared((*read, *self.sizes, *arrays), outcome)


Loop = OnGrid | Outputs | AtTimes | ByKey
