"""The query text of a command: from a file, or from the standard input as `-`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import tiltpy as tilt
from tiltpy.cli.arguments import ArgumentsError, parameters
from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.surface.size_limits import read_start

STDIN = "-"


def read_text(path: str) -> str:
    """The text of a query's file."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise ArgumentsError("-: the standard input is closed")
            return read_start(sys.stdin.buffer).decode("utf-8-sig")
        with Path(path).open("rb") as file:
            return read_start(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentsError(
            f"{name_of(path)}: is not text in UTF-8 (byte {error.start}); "
            "expected a query, a .tilt file"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentsError(f"{path}: not readable: {reason}") from error


def read_query(path: str, params: Sequence[str] = ()) -> tilt.CompiledQuery:
    """The query of a file, with the values of its parameters as `NAME=VALUE`."""
    text, given = read_text(path), parameters(params)
    try:
        return tilt.parse(text, name=name_of(path), params=given)
    except QueryError:
        raise
    except TiltError as error:
        raise ArgumentsError(str(error)) from error


def name_of(path: str) -> str:
    """How messages call a query's file."""
    return "<stdin>" if path == STDIN else path
