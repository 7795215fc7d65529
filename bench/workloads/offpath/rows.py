"""Workloads of this family: queries over rows of any layout, with any columns.

Their inputs have structs, several keys, ties and overlaps, which a `Stream` has not.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import tiltpy as tilt

Array = NDArray[Any]
Times = NDArray[np.int64]
Layout = Literal["sampled", "point", "until_next", "interval"]
Group = Literal["sampled", "irregular", "keyed", "folds", "drawn"]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an input.

    A sample `i` is valid over `(i * period, (i+1) * period]` and has no time; a point
    and a state that holds until the next one have a stamp, which is their end in
    `ends`; an interval has both times. Where `valid` is false the value is null. With
    `keys` each row has a value of every key column.
    """

    layout: Layout
    columns: Mapping[str, Array]
    ends: Times | None = None
    starts: Times | None = None
    valid: NDArray[np.bool_] | None = None
    period: int = 1
    keys: Mapping[str, pa.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def times(self) -> tuple[Times, Times]:
        """The starts and ends, as if a state were a point."""
        ends = self.ends
        if ends is None:
            ends = np.arange(1, len(self) + 1, dtype=np.int64) * self.period
            return ends - self.period, ends
        return (ends - 1 if self.starts is None else self.starts), ends

    def coarser(self, ticks: int) -> "Rows":
        """The first row of each key in so many ticks, each of which is one."""
        if self.ends is None:
            return self
        assert self.starts is None
        assert self.valid is None
        ends = -(-self.ends // ticks)
        keys = [column.to_pylist() for column in self.keys.values()]
        first: dict[object, int] = {}
        for row, known in enumerate(zip(ends.tolist(), *keys, strict=True)):
            first.setdefault(known, row)
        kept = np.array(list(first.values()))
        return replace(
            self,
            columns={name: column[kept] for name, column in self.columns.items()},
            ends=ends[kept],
            keys={
                name: column.take(pa.array(kept)) for name, column in self.keys.items()
            },
        )

    def table(self) -> pa.Table:
        """Keys, times that are not implied, and the columns."""
        missing = None if self.valid is None else ~self.valid
        times: dict[str, Times] = {}
        if self.layout == "interval":
            times = dict(zip(("start", "end"), self.times(), strict=True))
        elif self.ends is not None:
            times = {"ts": self.ends}
        payload = {n: pa.array(a, mask=missing) for n, a in self.columns.items()}
        return pa.table({**self.keys, **times, **payload})

    def bind(self) -> object:
        """The rows as an argument of a run, which looks at them when it is asked to."""
        if self.ends is not None:
            return tilt.bind(self.table())
        return tilt.sampled(self.table(), start=0, period=self.period)


Inputs = dict[str, Rows]
Make = Callable[[int, np.random.Generator], Inputs]


@dataclass(frozen=True, slots=True)
class OffPath:
    """A query and its rows: `make(events, random)` gives those of each input.

    Over `events` a run takes a second at most, but for a few. The interpreter goes from
    tick to tick: it gets `few` events, none where that would take seconds, and windows
    of 100 ticks and more are divided by `coarse`, as are the stamps. Without `bound`
    the table is given to each run anew, and grouped in it. Rows of the result come in
    `order`.
    """

    name: str
    group: Group
    query: str
    make: Make
    events: int
    few: int = 160
    coarse: int = 1
    bound: bool = True
    order: Literal["key", "time"] = "key"

    def inputs(self, events: int, seed: int) -> Inputs:
        """The rows, which depend on the seed alone."""
        return self.make(events, np.random.default_rng(seed))

    def coarser(self) -> "OffPath":
        """The same over windows that are shorter by `coarse`, and fewer ticks."""
        if self.coarse == 1:
            return self
        query = re.sub(
            r"\b\d{3,}\b", lambda found: str(int(found[0]) // self.coarse), self.query
        )

        def make(events: int, random: np.random.Generator) -> Inputs:
            inputs = self.make(events, random)
            return {name: rows.coarser(self.coarse) for name, rows in inputs.items()}

        return replace(self, query=query, make=make)
