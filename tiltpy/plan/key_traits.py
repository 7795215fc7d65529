"""Properties of an output by key that hold whatever its rows are."""

from typing import Literal

from tiltpy.lean_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EdgeShift:
    """The ticks by which boundaries of an object are later than edges of an input.

    They are `low` to `high` ticks later. `is_derived`: such a boundary may be where a
    snapshot of the object starts as well as where one ends.
    """

    input: str
    edge: Literal["start", "end"]
    low: int = 0
    high: int = 0
    is_derived: bool = False

    def by(self, low: int, high: int) -> "EdgeShift":
        """Make the shift of an object that sees these boundaries so much later."""
        return EdgeShift(
            self.input, self.edge, self.low + low, self.high + high, is_derived=True
        )


@dataclass(frozen=True, slots=True)
class KeyTraits:
    """Properties of an output by key that hold whatever the rows are.

    `sparse`: it is φ for a key without rows. `dense`: it may have a snapshot in each
    cell. `steady`: without new rows of its key it comes to an end, or to a last
    snapshot. `apart`: no two of its cells see a row that lasts for a tick.
    `open_ended`: the cells so far do not tell whether its last snapshot goes on.
    `shifts`: where it has boundaries, by the edges of its rows; None if nobody knows.
    """

    sparse: bool
    dense: bool
    steady: bool
    apart: bool = False
    open_ended: bool = False
    shifts: tuple[EdgeShift, ...] | None = None
