"""Calls of loops: what they read, the memory they write to, what that means.

Loops write to memory that they are given, the same in each run: a run costs no page
faults. Their inputs are laid out as they like them, beforehand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from bench.outcome import Array, Cells, Kept, Outcome, Payload, Table
from bench.workloads.streams import Stream

Fill = Callable[..., int]
"""A loop: inputs, then outputs; returns how many results there are."""
Streams = Mapping[str, Stream]
Inputs = tuple[Array | int | None, ...]


@dataclass(frozen=True, slots=True)
class OnGrid:
    """A loop whose result has no times: cells of a period, the first ones left out."""

    fill: Fill
    types: tuple[type, ...] = (np.float32,)
    period: int = 1
    skipped: int = 0

    def inputs(self, streams: Streams) -> Inputs:
        """The values, and whether there are any where some are missing."""
        found: list[Array] = []
        for stream in streams.values():
            found.append(stream.values)
            if stream.valid is not None:
                found.append(stream.valid)
        return tuple(found)

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        return tuple(np.empty(rows + 1, each) for each in self.types)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """Return what the loop wrote."""
        payload = tuple(array[:count] for array in arrays)
        return Cells(payload, self.period, self.skipped * self.period)


@dataclass(frozen=True, slots=True)
class Keeping(OnGrid):
    """A loop that writes a byte a cell first, and the values of those it keeps."""

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        return np.zeros(rows, np.bool_), *OnGrid.memory(self, rows)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """Return what the loop wrote."""
        return Kept(tuple(array[:count] for array in arrays[1:]), arrays[0])


@dataclass(frozen=True, slots=True)
class WithTimes:
    """A loop over starts, ends and values that writes such too.

    `most`: results for each row, at most.
    """

    fill: Fill
    types: tuple[type, ...] = (np.float32,)
    most: int = 1

    def inputs(self, streams: Streams) -> Inputs:
        """Starts (a view of the ends before, if they are these), ends and values."""
        found: list[Array | None] = []
        for stream in streams.values():
            if stream.starts is None:
                assert stream.ends is not None
                edges = np.concatenate([[0], stream.ends])
                found += [edges[:-1], edges[1:], stream.values]
            else:
                found += [stream.starts, stream.ends, stream.values]
        return tuple(found)

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        size = self.most * rows + 2
        times = (np.empty(size, np.int64), np.empty(size, np.int64))
        return *times, *(np.empty(size, each) for each in self.types)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """Return what the loop wrote."""
        starts, ends, *payload = (array[:count] for array in arrays)
        return Table(starts, ends, tuple(payload))


@dataclass(frozen=True, slots=True)
class AtPoints(WithTimes):
    """The same for events of one tick, which need no starts, and sizes of windows."""

    sizes: tuple[int, ...] = ()

    def inputs(self, streams: Streams) -> Inputs:
        """Ends and values, then the sizes."""
        pairs = ((stream.ends, stream.values) for stream in streams.values())
        return *(array for pair in pairs for array in pair), *self.sizes


@dataclass(frozen=True, slots=True)
class Ticks(WithTimes):
    """A loop that is told that all events last one tick by starts that are None."""

    def inputs(self, streams: Streams) -> Inputs:
        """None, ends and values."""
        (stream,) = streams.values()
        return None, stream.ends, stream.values


def compiled(fill: Fill) -> Fill:
    """A loop as machine code, with IEEE's division."""
    import numba  # noqa: PLC0415 - optional, and slow to import

    return cast(Fill, numba.njit(fill, error_model="numpy"))
