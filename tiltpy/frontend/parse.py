"""`.tilt` text -> functional IR."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from tiltpy.errors import TiltError
from tiltpy.frontend.declarations import Override
from tiltpy.frontend.elaborate import elaborate
from tiltpy.frontend.statements import read_expression, read_program
from tiltpy.ir.nodes import Query
from tiltpy.source import Source


def parse(
    text: str, *, name: str = "<query>", params: Mapping[str, object] | None = None
) -> Query:
    """The query of a `.tilt` text.

    `name` is what errors call the text. `params` gives values for its parameters:
    numbers, bools, `timedelta`s, ticks (whole numbers) for durations, or texts that are
    read as the language's own literals, like "30s". Raises a `QueryErrors` that holds
    everything that is wrong with the text.
    """
    given = params or {}
    overrides = {key: _override(key, value) for key, value in given.items()}
    return elaborate(read_program(Source(name, text)), overrides)


def parse_file(
    path: str | Path, *, params: Mapping[str, object] | None = None
) -> Query:
    """The query of a `.tilt` file (UTF-8)."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "the system says no more").lower()
        raise TiltError(f"{path}: not readable: {reason}") from None
    except UnicodeDecodeError as error:
        raise TiltError(f"{path}: not UTF-8 at byte {error.start}") from None
    return parse(text, name=str(path), params=params)


def _override(name: str, value: object) -> Override:
    match value:
        case bool() | int() | float() | timedelta():
            return value
        case str():
            return read_expression(Source(f"parameter {name}", value))
        case _:
            kind = type(value).__name__
            raise TiltError(
                f"parameter '{name}': a {kind} is no number, bool or duration"
            )
