"""Times and durations as arguments of a run, in the ticks of a query."""

import re
from datetime import date, datetime, timedelta

import numpy as np

from tiltpy.argument_checks import refusal, whole_number
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.frontend.surface.durations import is_duration, parse_duration
from tiltpy.frontend.surface.timestamps import (
    STAMP,
    length_of,
    nanoseconds_of,
    parse_stamp,
)
from tiltpy.source import Source, Span
from tiltpy.types import NANOSECONDS, Unit

Length = int | str | timedelta | np.timedelta64
Moment = int | str | date | datetime | np.datetime64

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)


def ticks_of(value: object, unit: Unit | None) -> int:
    """Read a length in ticks: a number, a duration like "1h30m", a `timedelta`."""
    if isinstance(value, timedelta | np.timedelta64):
        return _whole_ticks(length_of(value), unit)
    if (ticks := whole_number(value)) is not None:
        return ticks
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if not isinstance(value, str) or not is_duration(value):
        message = "expected ticks or a duration like 1h30m"
        raise refusal(message, is_of_type=isinstance(value, str))
    span = Span(Source("<duration>", value), 0, len(value))
    return _whole_ticks(parse_duration(value, span).nanoseconds, unit)


def time_of(value: object, unit: Unit | None) -> int:
    """Read a time in ticks: a number of them, a `datetime`, or a stamp of ISO 8601.

    A stamp without an offset is read like a column of stamps without a time zone, one
    with an offset (`+01:00`, `Z`) like a column with one.
    """
    if not isinstance(value, np.timedelta64) and (t := whole_number(value)) is not None:
        return t
    match value:
        case str() if _INTEGER.fullmatch(value):
            return int(value)
        case str():
            return _whole_ticks(_parse_stamp(value), unit)
        case date() | np.datetime64():
            return _whole_ticks(nanoseconds_of(value), unit)
        case _:
            raise ArgumentError("expected ticks, a stamp like 2013-03-01 or a datetime")


def is_number(text: str) -> bool:
    """Tell whether a text is a number of ticks."""
    return _INTEGER.fullmatch(text) is not None


def has_offset(stamp: str) -> bool:
    """Tell whether a stamp of ISO 8601 says its distance from UTC."""
    match = STAMP.fullmatch(stamp)
    return match is not None and match[3] is not None


def _parse_stamp(text: str) -> int:
    nanoseconds = parse_stamp(text)
    if nanoseconds is None:
        raise TiltError("expected ticks or a stamp like 2013-03-01T09:30:00")
    return nanoseconds


def _whole_ticks(nanoseconds: int, unit: Unit | None) -> int:
    if unit is None:
        raise TiltError(
            "the query counts in plain ticks; give a number, or say 'unit s' (or "
            "another) in the query"
        )
    whole, rest = divmod(nanoseconds, NANOSECONDS[unit])
    if rest:
        raise TiltError(f"is not a whole number of the query's ticks (1{unit})")
    return whole
