"""Times, durations and lifetimes on a command line, in the ticks of a query."""

from collections.abc import Callable

from tiltpy.cli.arguments import ArgumentsError
from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.lifetimes import Lifetime, make_lifetime
from tiltpy.time_literals import ticks_of, time_of
from tiltpy.types import Unit


def length(option: str, text: str, unit: Unit | None) -> int:
    """Read a number of ticks above 0, which may be a duration such as `1h30m`."""
    ticks = _convert(ticks_of, option, text, unit)
    if ticks <= 0:
        raise ArgumentsError(f"{option} {text}: expected a length above 0")
    return ticks


def time(option: str, text: str, unit: Unit | None) -> int:
    """Read a time: a number of ticks, or a stamp such as `2013-03-01T09:30`."""
    return _convert(time_of, option, text, unit)


def _convert(
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
    """Read a lifetime in the query's syntax: `point`, `until_next max 1d`, ..."""
    from tiltpy.frontend.text.program import (  # noqa: PLC0415 - late
        read_lifetime,
    )

    try:
        node = read_lifetime(source_of("--lifetime", text))
    except QueryError as error:
        raise ArgumentsError(
            f"--lifetime {text}: expected point, duration 10s, sampled 1s, "
            "until_next, until_next max 1d or interval(start, end)"
        ) from error
    arguments: list[int | str] = []
    if node.length is not None:
        span = node.length.span
        arguments.append(length("--lifetime", text[span.start : span.end], unit))
    if node.columns is not None:
        arguments += [column.text for column in node.columns]
    return make_lifetime(node.kind, *arguments)
