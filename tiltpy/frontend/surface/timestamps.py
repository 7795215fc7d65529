"""Instants as people write them: stamps of ISO 8601, dates, `datetime`s, numpy's.

All count nanoseconds from 1970, and so do lengths. What says no distance from UTC is
read like a column of stamps without a time zone.
"""

import re
from datetime import UTC, date, datetime, timedelta

import numpy as np

from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.surface.syntax import Moment
from tiltpy.source import Span
from tiltpy.types import NANOSECONDS, Unit

STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)"
    r"(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?(\D.*)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = NANOSECONDS["d"]
_NUMPY_UNITS: dict[str, int] = {"W": 7 * _DAY, "D": _DAY} | dict(NANOSECONDS.items())


def parse_stamp(text: str) -> int | None:
    """Parse a stamp like `2013-03-01T09:30:00` to nanoseconds; None if it is none."""
    match = STAMP.fullmatch(text)
    try:
        stamp = datetime.fromisoformat(match[1] + (match[3] or "")) if match else None
    except ValueError:
        stamp = None
    if match is None or stamp is None:
        return None
    return nanoseconds_of(stamp) + int((match[2] or "").ljust(9, "0"))


def nanoseconds_of(instant: date | np.datetime64) -> int:
    """Convert a date's midnight, a `datetime` or a `numpy.datetime64`."""
    if isinstance(instant, np.datetime64):
        months = np.datetime_data(instant.dtype)[0] in ("Y", "M")
        days: np.datetime64 = instant.astype("datetime64[D]") if months else instant
        return _numpy_nanoseconds(days)
    if not isinstance(instant, datetime):
        instant = datetime(instant.year, instant.month, instant.day, tzinfo=UTC)
    zoned = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return length_of(zoned - _EPOCH)


def length_of(length: timedelta | np.timedelta64) -> int:
    """Convert a length; pandas has a subclass of `timedelta` with nanoseconds."""
    if isinstance(length, np.timedelta64):
        return _numpy_nanoseconds(length)
    try:
        whole = int(length // timedelta(microseconds=1)) * 1000
    except ValueError:  # pandas' NaT is a datetime too
        raise TiltError("is not a time") from None
    return whole + int(getattr(length, "nanoseconds", 0))


def _numpy_nanoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Convert without numpy's arithmetic, which wraps."""
    if np.isnat(value):
        raise TiltError("is not a time")
    unit, steps = np.datetime_data(value.dtype)
    if unit not in _NUMPY_UNITS:
        raise TiltError(
            f"has numpy's unit '{unit}', which is no fixed number of nanoseconds; use "
            "one from 'ns' to 'W'"
        )
    return int(value.view(np.int64)) * steps * _NUMPY_UNITS[unit]


def moment_in_ticks(moment: Moment, unit: Unit | None) -> int:
    """Convert an instant to ticks, of which it must be a whole number."""
    if unit is None:
        raise QueryError(
            "E0110",
            "a stamp in a query of plain ticks",
            moment.span,
            "say what a tick is, like `unit s`",
        )
    ticks, rest = divmod(moment.nanoseconds, NANOSECONDS[unit])
    if rest:
        finer = max(
            (u for u, n in NANOSECONDS.items() if moment.nanoseconds % n == 0),
            key=NANOSECONDS.__getitem__,
        )
        raise QueryError(
            "E0110",
            f"this is not a whole number of ticks, which are 1{unit} here",
            moment.span,
            f"write `unit {finer}`",
        )
    return ticks


def read_moment(text: str, span: Span) -> Moment:
    """Read the instant that a text says."""
    nanoseconds = parse_stamp(text)
    if nanoseconds is None:
        raise QueryError(
            "E0004",
            f'"{text[:40]}" is not a time',
            span,
            'times are like "2013-03-01", "2013-03-01T09:30:00.5" or '
            '"2013-03-01T09:30+01:00"',
        )
    return Moment(nanoseconds, span)
