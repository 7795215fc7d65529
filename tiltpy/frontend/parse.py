"""`.tilt` text -> functional IR."""

from collections.abc import Mapping
from pathlib import Path

from tiltpy.argument_checks import check_text
from tiltpy.frontend.elaboration.query import elaborate
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.query_files import read_query
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.frontend.text.parameter_values import read_values
from tiltpy.frontend.text.program import read_program
from tiltpy.ir.nodes import Query
from tiltpy.source import Source


def parse(
    text: str, *, name: str = "<query>", params: Mapping[str, object] | None = None
) -> Query:
    """Parse the query of a `.tilt` text.

    `name` is what errors call the text. `params` gives values for its parameters, see
    `parameter_values.read_values`. Raises a `QueryErrors` that holds everything that is
    wrong with the text.
    """
    return set_parameters(read(text, name=name), params)


def set_parameters(
    program: syntax.Program, params: Mapping[str, object] | None
) -> Query:
    """Elaborate a query that was parsed, with values of its parameters."""
    return elaborate(program, read_values(program, params))


def read(text: str, *, name: str) -> syntax.Program:
    """Parse the text of a query, without values of parameters."""
    return read_program(source_of(check_text("name", name), text))


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
