"""Times, durations and lifetimes on a command line, in the ticks of a query."""

import re
from collections.abc import Callable

from tiltpy.cli.arguments import ArgumentsError
from tiltpy.errors import TiltError
from tiltpy.time_literals import ticks_of, time_of
from tiltpy.types import (
    Duration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    Unit,
    UntilNext,
)


def length(option: str, text: str, unit: Unit | None) -> int:
    """A number of ticks above 0: as it stands, or as a duration such as `1h30m`."""
    found = _read(ticks_of, option, text, unit)
    if found <= 0:
        raise ArgumentsError(f"{option} {text}: expected a length above 0")
    return found


def time(option: str, text: str, unit: Unit | None) -> int:
    """A time in ticks: as it stands, or as a stamp such as `2013-03-01T09:30`."""
    return _read(time_of, option, text, unit)


def _read(
    convert: Callable[[str, Unit | None], int],
    option: str,
    text: str,
    unit: Unit | None,
) -> int:
    try:
        return convert(text, unit)
    except TiltError as error:
        raise ArgumentsError(f"{option} {text}: {error}") from error


def lifetime(text: str, unit: Unit | None) -> Lifetime:
    """A lifetime as a query would say it: `point`, `until_next max 1d`, ..."""

    def ticks(word: str) -> int:
        return length("--lifetime", word, unit)

    match re.findall(r"[^\s(),]+", text):
        case ["point"]:
            return Point()
        case ["duration", word]:
            return Duration(ticks(word))
        case ["sampled", word]:
            return Sampled(ticks(word))
        case ["until_next"]:
            return UntilNext()
        case ["until_next", "max", word]:
            return UntilNext(ticks(word))
        case ["interval"]:
            return Interval()
        case ["interval", start, end]:
            return Interval(start, end)
        case _:
            raise ArgumentsError(
                f"--lifetime {text}: expected point, duration 10s, sampled 1s, "
                "until_next, until_next max 1d or interval(start, end)"
            )
