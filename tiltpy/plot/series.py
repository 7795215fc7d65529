"""Series: the columns of temporal objects to draw, as plain numbers."""

from dataclasses import replace
from datetime import tzinfo
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiltpy.lean_dataclass import dataclass
from tiltpy.types import Unit

MOST_KEYS = 10
"""Lines of one panel that can still be told apart."""
FEW_KEYS = 5
"""Lines of one panel that are easily told apart: more get panels, by default."""
MOST_MULTIPLES = 24
"""Keys that get a panel each, unless the caller chooses them."""
KeyStyle = Literal["lines", "panels"]
"""Keys as lines of one panel, or each in a panel of its own (small multiples)."""
Times = NDArray[np.int64]
Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Clock:
    """The unit and zone of a picture's times: counts from 1970, or plain ticks (None).

    `tick` is the length of a tick in that unit: a snapshot that long is a point. `zone`
    is the name of the stamps' zone and `tz` its rules; without, they are wall-clock
    times.
    """

    unit: Unit | None = None
    tick: int = 1
    zone: str | None = None
    tz: tzinfo | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A column of an object: values over `(starts, ends]`, in order and disjoint.

    `valid` tells which values are not φ (None: all). Where there are `words`, values
    are indices of them. Values with a `unit` are durations that count it; those with a
    `clock` are times. `is_input` tells inputs from outputs. `key` is the text of the
    key, `by` the names of its columns.
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
        mask = self.valid
        if self.values.dtype.kind == "f":
            finite = np.isfinite(self.values)
            mask = finite if mask is None else mask & finite
        return self if mask is None or mask.all() else self.take(np.flatnonzero(mask))

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
        """Select the snapshots of the given indices."""
        return replace(
            self,
            starts=self.starts[rows],
            ends=self.ends[rows],
            values=self.values[rows],
            valid=None,
        )
