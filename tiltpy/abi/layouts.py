"""Layouts that kernels are specialised for: times, nulls, sampling grids."""

from enum import StrEnum

from tiltpy.lean_dataclass import dataclass

# Of strings, which are hashed at once; the hash of other enums is computed in Python.


class TimeLayout(StrEnum):
    """A storage of rows' intervals in a buffer."""

    SAMPLED = "sampled"
    CONTIGUOUS = "contiguous"
    INTERVALS = "intervals"
    OVERLAPPING = "overlapping"


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows that a kernel is specialised for: one input's time layout and nulls."""

    time: TimeLayout
    nullable: tuple[bool, ...]
    fifo: bool = True
    """Whether the ends are in order (always, but for some overlapping buffers)."""
    points: bool = False
    """Whether every row is known to be a point event, without a look at the ends."""
    together: int | None = None
    """The rows that a window of any length has, at most, if that is known."""

    def __str__(self) -> str:
        nulls = " nullable" if any(self.nullable) else ""
        order = "" if self.fifo else " (ends out of order)"
        points = " points" if self.points else ""
        few = f" (at most {self.together} together)" if self.together else ""
        return f"{self.time.value}{points}{order}{nulls}{few}"


FARTHEST = 2
"""The largest `apart` of a sampling grid."""


@dataclass(frozen=True, slots=True)
class SamplingGrid:
    """The sampling grid of an input, whose rows start at `phase + k * period`.

    A sampled input has a row for each `k`. Rows of other lengths that are short, in a
    buffer without overlap, have period 1: the kernel spreads them over the ticks.
    """

    period: int
    phase: int
    apart: int = 0
    """The mean distance of rows: 0 below `ticks_apart`, 1 up to twice that, else 2."""
