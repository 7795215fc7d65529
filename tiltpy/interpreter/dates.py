"""Components of dates as queries mean them, by Python's own calendar and time zones."""

from datetime import UTC, datetime, timedelta
from typing import assert_never
from zoneinfo import ZoneInfo

from tiltpy.interpreter.scalars import fit
from tiltpy.ops import Component
from tiltpy.types import I64, NANOSECONDS, Unit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE = timedelta(days=146097)
"""400 years, after which the Gregorian calendar repeats."""
_EARLY = datetime(1400, 1, 1, tzinfo=UTC)
_LATE = datetime(2800, 1, 1, tzinfo=UTC)
"""The years outside of which a cycle is like the next: no zone is older, and the rules
of all go on."""


def date_component(component: Component, ticks: int, zone: str, unit: Unit) -> int:
    """Compute a component of the local date at a time in ticks of `unit`."""
    seconds = ticks * NANOSECONDS[unit] // NANOSECONDS["s"]
    if NANOSECONDS[unit] > NANOSECONDS["s"]:
        seconds = int(fit(seconds, I64))
    cycles = _cycles_beyond(seconds)
    near = timedelta(seconds=seconds) - cycles * _CYCLE
    local = (_EPOCH + near).astimezone(ZoneInfo(zone) if zone else UTC)
    return _component(component, local, 400 * cycles)


def _cycles_beyond(seconds: int) -> int:
    """Count the cycles between a time and the years that Python's calendar has."""
    cycle = round(_CYCLE.total_seconds())
    for limit in (_EARLY, _LATE):
        beyond = seconds - round((limit - _EPOCH).total_seconds())
        if (beyond < 0) == (limit is _EARLY):
            return beyond // cycle
    return 0


def _component(component: Component, local: datetime, years: int) -> int:
    match component:
        case "year":
            return local.year + years
        case "quarter":
            return (local.month + 2) // 3
        case "month":
            return local.month
        case "week":
            return local.isocalendar().week
        case "day":
            return local.day
        case "yearday":
            return local.timetuple().tm_yday
        case "weekday":
            return local.weekday()
        case "hour":
            return local.hour
        case "minute":
            return local.minute
        case "second":
            return local.second
        case _:
            assert_never(component)
