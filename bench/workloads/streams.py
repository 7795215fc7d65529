"""A workload: a query, and seeded streams to run it over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float32] | NDArray[np.int32]
Valid = NDArray[np.bool_]
Family = Literal["sampled", "contiguous", "intervals", "points", "keyed"]


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that begins at time 0.

    Event `i` lasts over `(starts[i], ends[i]]`. Without `starts` it starts where the
    one before ends; without `ends` either it lasts over `(i * period, (i+1) * period]`.
    Where `valid` is false there is a row, but no event. With `keys` each row has one,
    and all this is so among the rows of a key.
    """

    values: Values
    ends: Times | None = None
    starts: Times | None = None
    valid: Valid | None = None
    period: int = 1
    keys: pa.Array | None = None

    def times(self) -> tuple[Times, Times]:
        """The starts and ends of all rows."""
        ends = self.ends
        if ends is None:
            edges = np.arange(len(self.values) + 1, dtype=np.int64) * self.period
            return edges[:-1], edges[1:]
        if self.starts is not None:
            return self.starts, ends
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return starts, ends

    def column(self) -> pa.Array:
        """The values, null where there is no event."""
        missing = None if self.valid is None else ~self.valid
        return pa.array(self.values, mask=missing)

    def frame(self, name: str) -> pa.Table:
        """The rows as a table with the columns `start`, `end` and the name."""
        starts, ends = self.times()
        return pa.table({"start": starts, "end": ends, name: self.column()})


Make = Callable[[int, int], dict[str, Stream]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A query, and its data: `make(events, seed)` gives the streams by their names.

    `base` is the workload that this one is a twin of, or its own name.
    """

    name: str
    query: str
    make: Make
    family: Family
    base: str

    @property
    def sampled(self) -> bool:
        """Return whether results are cells of a grid, nearly all of them there."""
        return " sampled " in self.query

    @property
    def folded(self) -> bool:
        """Return whether rows by key need no grouping."""
        return self.family == "keyed" and self.base == "Yahoo"
