"""`.tilt` text -> functional IR."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from tiltpy.argument_checks import check_argument, check_text
from tiltpy.errors import TiltError
from tiltpy.frontend.elaboration.declarations import Override
from tiltpy.frontend.elaboration.query import elaborate
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.query_files import read_query
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.frontend.surface.timestamps import parse_stamp
from tiltpy.frontend.text.program import read_expression, read_program
from tiltpy.ir.nodes import Query
from tiltpy.source import Source, Span
from tiltpy.types import STRING


def parse(
    text: str, *, name: str = "<query>", params: Mapping[str, object] | None = None
) -> Query:
    """Parse the query of a `.tilt` text.

    `name` is what errors call the text. `params` gives values for its parameters:
    numbers, bools, `timedelta`s, `datetime`s, ticks (whole numbers) for durations, or
    texts that are read as the language's own literals, like "30s", or are a stamp;
    those of strings are taken as they are. Raises a `QueryErrors` that holds everything
    that is wrong with the text.
    """
    values = check_argument(
        "params", {} if params is None else params, Mapping, "a dict"
    )
    program = read_program(source_of(check_text("name", name), text))
    strings = {
        node.name.text
        for node in program.statements
        if isinstance(node, syntax.Param) and node.type.text == STRING.name
    }
    overrides = {
        key: _override(key, value, is_string=key in strings)
        for key, value in values.items()
    }
    return elaborate(program, overrides)


def reread(text: str, *, name: str) -> Query:
    """Parse the printed form of a query, in which functions are written out.

    The limits of texts and statements do not apply: the query was within them, and its
    printed form is longer.
    """
    return elaborate(read_program(Source(name, text)), {}, is_printed=True)


def parse_file(
    path: str | Path, *, params: Mapping[str, object] | None = None
) -> Query:
    """Parse the query of a `.tilt` file (UTF-8)."""
    text = read_query(path)
    return parse(text, name=str(path), params=params)


def _override(name: str, value: object, *, is_string: bool) -> Override:
    match value:
        case str() if is_string:
            source = source_of(f"parameter {name}", value)
            return syntax.Text(value, Span(source, 0, len(value)))
        case bool() | int() | float() | timedelta() | date():
            return value
        case str() if (nanoseconds := parse_stamp(value)) is not None:
            span = Span(Source(f"parameter {name}", value), 0, len(value))
            return syntax.Moment(nanoseconds, span)
        case str():
            return read_expression(source_of(f"parameter {name}", value))
        case _:
            kind = type(value).__name__
            raise TiltError(
                f"parameter '{name}': a {kind} is no number, bool, string, duration or "
                "time"
            )
