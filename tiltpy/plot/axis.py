"""The time axis: dates in their zone where they can be told apart, else a count.

A count is of ticks, or of nanoseconds and the like after a stamp: floats, which the
libraries draw with, hold days to a third of a microsecond only, and years up to 9999.
"""

from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tiltpy.lean_dataclass import dataclass
from tiltpy.plot.series import Clock, Times
from tiltpy.types import NANOSECONDS, Unit

LEAST_SPAN = 10**7
"""Nanoseconds below which an axis has a count after its first stamp, and no dates."""
FIRST_YEAR, LAST_YEAR = -719_162, 2_932_896
"""Days after 1970: of the years 1 to 9999."""
EXACT = 2**53
"""Up to here, floats hold every whole number."""
NUMPY_UNITS = {"d": "D"}


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The axis for times from `first` to `last`: their positions, and its label.

    Dates are in `days` after 1970. A count is in units of `unit` after `origin`.
    """

    clock: Clock
    first: int
    last: int
    is_dates: bool = False
    origin: int = 0
    unit: float = 1.0
    label: str = ""

    def positions(self, times: Times) -> NDArray[np.float64]:
        """Convert times to days or counts."""
        return self.days(times) if self.is_dates else self.counts(times)

    def heights(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert values that are times to positions, with NaN where a line ends."""
        if self.is_dates:
            assert self.clock.unit is not None
            return values * (NANOSECONDS[self.clock.unit] / NANOSECONDS["d"])
        return (values - self.origin) / self.unit

    def limits(self) -> tuple[float, float]:
        """Compute the positions of the axis's two ends."""
        first, last = self.positions(
            np.array([self.first, self.last], np.int64)
        ).tolist()
        edge = (last - first) / 100
        return first - edge, last + edge

    def days(self, times: Times) -> NDArray[np.float64]:
        """Convert times to days after 1970."""
        assert self.clock.unit is not None
        day = NANOSECONDS["d"] // NANOSECONDS[self.clock.unit]
        return times // day + (times % day) / day

    def counts(self, times: Times) -> NDArray[np.float64]:
        """Convert times to counts after the origin."""
        after = times - np.int64(self.origin)
        # Times before the origin are there only if it is 0.
        counts = after.view(np.uint64) if self.origin else after
        return counts.astype(np.float64) / self.unit


def make_time_axis(clock: Clock, first: int, last: int) -> TimeAxis:
    """Make the axis for times from the first to the last."""
    if clock.unit is None:
        if first > -EXACT and last < EXACT:
            return TimeAxis(clock, first, last, label="ticks")
        label = f"ticks after {first}"
        return TimeAxis(clock, first, last, origin=first, label=label)
    length = NANOSECONDS[clock.unit]
    span = (last - first) * length
    day = NANOSECONDS["d"] // length
    in_years = FIRST_YEAR * day < first and last < LAST_YEAR * day
    if in_years and (span >= LEAST_SPAN or length >= LEAST_SPAN):
        return TimeAxis(clock, first, last, is_dates=True, label=clock.zone or "")
    unit = readable_unit(span)
    return TimeAxis(
        clock,
        first,
        last,
        origin=first,
        unit=NANOSECONDS[unit] / length,
        label=f"{unit} after {_stamp(clock, first)}",
    )


def readable_unit(length: float) -> Unit:
    """Find the greatest unit of which a length in nanoseconds has at least five."""
    fitting = (unit for unit in NANOSECONDS if NANOSECONDS[unit] * 5 <= max(length, 5))
    return max(fitting, key=NANOSECONDS.__getitem__)


def _stamp(clock: Clock, time: int) -> str:
    """Format a time, in the clock's zone where that is possible."""
    assert clock.unit is not None
    unit = NUMPY_UNITS.get(clock.unit, clock.unit)
    offset, zone = offset_at(clock, time), clock.zone
    if offset is None:
        offset, zone = timedelta(), "UTC"
    moved = time + offset // timedelta(microseconds=1) * 1000 // NANOSECONDS[clock.unit]
    text = str(np.array(moved, np.int64).view(f"M8[{unit}]")).replace("T", " ")
    return f"{text} {zone}" if clock.zone else text


def offset_at(clock: Clock, time: int) -> timedelta | None:
    """Find the UTC offset of the clock's zone at a time; None beyond the calendar."""
    assert clock.unit is not None
    if clock.tz is None:
        return timedelta()
    seconds = time * NANOSECONDS[clock.unit] // NANOSECONDS["s"]
    try:
        stamp = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
        return stamp.astimezone(clock.tz).utcoffset() or timedelta()
    except OverflowError:
        return None
