"""What a picture is made of: the columns of temporal objects, as plain numbers."""

from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.types import Unit

MOST_KEYS = 10
"""Lines of one panel that can still be told apart."""
Times = NDArray[np.int64]
Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Clock:
    """What the times of a picture count: a unit since 1970, or None for plain ticks.

    `tick` is the length of a tick in it: a snapshot that long is a point. `zone` is how
    the zone of the stamps is called, `tz` what it is; without, they are wall-clock
    times.
    """

    unit: Unit | None = None
    tick: int = 1
    zone: str | None = None
    tz: tzinfo | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A column of an object: values over `(starts, ends]`, in order and disjoint.

    `valid`, if given, says which values are not φ. Where there are `words`, a value is
    the number of one of them. Values with a `unit` are durations that count it; those
    with a `clock` are times. `is_input` sets what went in apart from what came out.
    `key` is the key of whose rows it is, `by` what the key's columns are called.
    """

    name: str
    starts: Times
    ends: Times
    values: Numbers
    valid: NDArray[np.bool_] | None = None
    words: tuple[str, ...] | None = None
    unit: Unit | None = None
    clock: Clock | None = None
    is_input: bool = False
    key: str | None = None
    by: str = ""

    def __len__(self) -> int:
        return len(self.starts)

    def drawable(self) -> "Series":
        """Select the snapshots whose values can be drawn: neither φ nor infinite."""
        kept = self.valid
        if self.values.dtype.kind == "f":
            finite = np.isfinite(self.values)
            kept = finite if kept is None else kept & finite
        return self if kept is None or kept.all() else self.take(np.flatnonzero(kept))

    def select_rows(self, rows: slice) -> "Series":
        """Select a slice of the snapshots."""
        return replace(
            self,
            starts=self.starts[rows],
            ends=self.ends[rows],
            values=self.values[rows],
            valid=None if self.valid is None else self.valid[rows],
        )

    def take(self, rows: NDArray[np.intp]) -> "Series":
        """Select the snapshots of some indices."""
        return replace(
            self,
            starts=self.starts[rows],
            ends=self.ends[rows],
            values=self.values[rows],
            valid=None,
        )
