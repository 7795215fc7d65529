"""Input and output of commands: queries, messages, previews."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.cli.arguments import ArgumentsError, parameters
from tiltpy.colors import BOLD, has_colors, paint, paint_message, paint_preview
from tiltpy.errors import QueryError, TiltError, TiltWarning
from tiltpy.frontend.surface.size_limits import read_start
from tiltpy.messages import quantity
from tiltpy.runtime.arrow.display import format_lines
from tiltpy.visible import escape_lines

STDIN = "-"
"""The standard input among paths."""
FAILED = 1
"""The exit code where the data or the run failed."""
WRONG = 2
"""The exit code where the query or the arguments are wrong."""
ROWS = 10
"""Rows of a result that are shown."""


def read_text(path: str) -> str:
    """Read the text of a query's file, or of the standard input."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise ArgumentsError("-: the standard input is closed")
            return read_start(sys.stdin.buffer).decode("utf-8-sig")
        with Path(path).open("rb") as file:
            return read_start(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentsError(
            f"{display_name(path)}: is not text in UTF-8 (byte {error.start}); "
            "expected a query, a .tilt file"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentsError(f"{path}: not readable: {reason}") from error


def read_query(path: str, params: Sequence[str] = ()) -> tilt.CompiledQuery:
    """Compile the query of a file; `params` are values as `NAME=VALUE`."""
    text, values = read_text(path), parameters(params)
    try:
        return tilt.parse(text, name=display_name(path), params=values)
    except QueryError:
        raise
    except TiltError as error:
        raise ArgumentsError(str(error)) from error


def display_name(path: str) -> str:
    """Name a query's file as messages do."""
    return "<stdin>" if path == STDIN else path


def report(error: TiltError) -> int:
    """Print an error on stderr, and return the exit code that it stands for."""
    report_line(str(error))
    return WRONG if isinstance(error, QueryError | ArgumentsError) else FAILED


def report_line(message: str) -> None:
    """Print a message on stderr; errors of queries say themselves what they are."""
    prefix = "" if message.startswith("error[") else "error: "
    _print_message(f"{prefix}{escape_lines(message)}")


def _print_message(text: str) -> None:
    """Print an error or a warning on stderr, in colours on a terminal."""
    print(paint_message(text) if has_colors(sys.stderr) else text, file=sys.stderr)


def note(text: str) -> None:
    """Print on stderr what was done."""
    print(escape_lines(text), file=sys.stderr)


def say(text: str) -> None:
    """Print on stdout; names and paths may hold anything."""
    print(escape_lines(text))


def say_preview(
    name: str, table: Any, rows: int, count: int, noun: str = "snapshot"
) -> None:
    """Print the name and the head of an output on stdout, in colours on a terminal."""
    title, text = escape_lines(f"~{name}"), format_preview(table, rows, count, noun)
    if has_colors(sys.stdout):
        title, text = paint(title, BOLD), paint_preview(text)
    print(f"{title}\n{text}")


def report_warning(
    show: Callable[..., object], message: Warning | str, *args: Any, **options: Any
) -> None:
    """Print a warning of ours on stderr without its line; `show` all others."""
    if isinstance(message, TiltWarning):
        _print_message(f"warning: {escape_lines(str(message))}")
    else:
        show(message, *args, **options)


def format_preview(
    table: Any, rows: int = ROWS, count: int | None = None, noun: str = "snapshot"
) -> str:
    """Format the head of an Arrow table in columns, φ for nulls, and its row count.

    `rows` are shown. `count` is the number of rows if the table is a head itself, and
    `noun` what a row is.
    """
    lines = format_lines(table.slice(0, rows))
    count = len(table) if count is None else count
    note = f", the first {rows} shown" if count > rows else ""
    return "\n".join([*lines, quantity(count, noun) + note])
