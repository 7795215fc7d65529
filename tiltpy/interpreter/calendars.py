"""Cells of calendars as queries mean them, by Python's dates and time zones."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tiltpy.types import NANOSECONDS, Calendar

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY = date(1970, 1, 5)
_SECOND = timedelta(seconds=1)


def cell_of(calendar: Calendar, time: int, count: int = 1) -> tuple[int, int]:
    """Find the cell `(start, end]` that holds a time, in ticks.

    Of more than one, `start` is that of the first of `count` cells.
    """
    tick = NANOSECONDS[calendar.unit]
    moment = _EPOCH + timedelta(seconds=time * tick // NANOSECONDS["s"])
    index = _index_of(calendar, moment.astimezone(_zone(calendar)).date())
    # A date may come twice; its cell goes on until the next date begins.
    while _first_instant(calendar, index + 1) <= moment:
        index += 1
    return _start(calendar, index - count + 1), _start(calendar, index + 1)


def _zone(calendar: Calendar) -> ZoneInfo:
    return ZoneInfo(calendar.zone or "UTC")


def _index_of(calendar: Calendar, day: date) -> int:
    """Number the cell that has a date."""
    if calendar.months:
        return (12 * (day.year - 1970) + day.month - 1) // calendar.months
    first = _MONDAY if calendar.step == "w" else _EPOCH.date()
    return (day - first).days // calendar.days


def _first_date(calendar: Calendar, index: int) -> date:
    """Find the date with which a cell begins."""
    if calendar.months:
        year, month = divmod(index * calendar.months, 12)
        return date(1970 + year, month + 1, 1)
    first = _MONDAY if calendar.step == "w" else _EPOCH.date()
    return first + index * timedelta(days=calendar.days)


def _first_instant(calendar: Calendar, index: int) -> datetime:
    """Find the first instant at which it is the first date of a cell, or later."""
    zone, day = _zone(calendar), _first_date(calendar, index)
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)

    def has_begun(moment: datetime) -> bool:
        return moment.astimezone(zone).date() >= day

    if not has_begun(midnight - _SECOND):
        return midnight
    early, late = midnight - timedelta(days=2), midnight  # clocks skip midnight
    while late - early > _SECOND:
        middle = early + (late - early) // 2
        middle -= timedelta(microseconds=middle.microsecond)
        early, late = (early, middle) if has_begun(middle) else (middle, late)
    return late


def _start(calendar: Calendar, index: int) -> int:
    """Find the tick before the first one of a cell."""
    nanoseconds = (_first_instant(calendar, index) - _EPOCH) // _SECOND * 10**9
    return nanoseconds // NANOSECONDS[calendar.unit] - 1
