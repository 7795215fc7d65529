"""Times and durations as people give them to a run, in the ticks of a query."""

import re
from datetime import UTC, date, datetime, timedelta
from operator import index
from typing import SupportsIndex, cast

from tiltpy.errors import TiltError
from tiltpy.frontend.durations import is_duration, parse_duration
from tiltpy.source import Source, Span
from tiltpy.types import NANOSECONDS, Unit

Length = int | str | timedelta
Moment = int | str | date | datetime

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)"
    r"(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?(\D.*)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ticks_of(given: object, unit: Unit | None) -> int:
    """A length in ticks: a number of them, a duration like "1h30m", a `timedelta`."""
    if isinstance(given, timedelta):
        return _whole_ticks(_length(given), unit)
    if (ticks := _whole_number(given)) is not None:
        return ticks
    if isinstance(given, str) and _INTEGER.fullmatch(given):
        return int(given)
    if not isinstance(given, str) or not is_duration(given):
        raise TiltError("expected ticks or a duration like 1h30m")
    place = Span(Source("<duration>", given), 0, len(given))
    return _whole_ticks(parse_duration(given, place).nanoseconds, unit)


def time_of(given: object, unit: Unit | None) -> int:
    """A time in ticks: a number of them, a `datetime`, or a stamp of ISO 8601.

    A stamp without an offset is read like a column of stamps without a time zone, one
    with an offset (`+01:00`, `Z`) like a column with one.
    """
    if (ticks := _whole_number(given)) is not None:
        return ticks
    match given:
        case str() if _INTEGER.fullmatch(given):
            return int(given)
        case str():
            return _whole_ticks(_parse_stamp(given), unit)
        case datetime():
            return _whole_ticks(_nanoseconds(given), unit)
        case date():
            midnight = datetime(given.year, given.month, given.day, tzinfo=UTC)
            return _whole_ticks(_nanoseconds(midnight), unit)
        case _:
            raise TiltError("expected ticks, a stamp like 2013-03-01 or a datetime")


def is_number(given: str) -> bool:
    """Whether a text is a number of ticks."""
    return _INTEGER.fullmatch(given) is not None


def has_offset(stamp: str) -> bool:
    """Whether a stamp of ISO 8601 says its distance from UTC."""
    match = _STAMP.fullmatch(stamp)
    return match is not None and match[3] is not None


def _whole_number(given: object) -> int | None:
    """A whole number, numpy's too; None for anything else."""
    try:
        return None if isinstance(given, bool) else index(cast(SupportsIndex, given))
    except TypeError:
        return None


def _parse_stamp(text: str) -> int:
    match = _STAMP.fullmatch(text)
    try:
        stamp = datetime.fromisoformat(match[1] + (match[3] or "")) if match else None
    except ValueError:
        stamp = None
    if match is None or stamp is None:
        raise TiltError("expected ticks or a stamp like 2013-03-01T09:30:00")
    return _nanoseconds(stamp) + int((match[2] or "").ljust(9, "0"))


def _nanoseconds(stamp: datetime) -> int:
    return _length((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - _EPOCH)


def _length(given: timedelta) -> int:
    """In nanoseconds; pandas has a subclass that counts those too."""
    try:
        whole = int(given // timedelta(microseconds=1)) * 1000
    except ValueError:  # pandas' NaT is a datetime too
        raise TiltError("is no time") from None
    return whole + int(getattr(given, "nanoseconds", 0))


def _whole_ticks(nanoseconds: int, unit: Unit | None) -> int:
    if unit is None:
        raise TiltError(
            "the query counts in plain ticks; give a number, or say 'unit s' (or "
            "another) in the query"
        )
    whole, rest = divmod(nanoseconds, NANOSECONDS[unit])
    if rest:
        raise TiltError(f"is no whole number of the query's ticks (1{unit})")
    return whole
