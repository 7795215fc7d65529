"""How errors are said, and the exit codes of the command."""

import sys
from collections.abc import Callable
from typing import Any

from tiltpy.cli.arguments import ArgumentsError
from tiltpy.errors import QueryError, TiltError, TiltWarning
from tiltpy.visible import visible_lines

FAILED = 1
"""The data or the run failed."""
WRONG = 2
"""The query or the arguments are wrong."""


def report(error: TiltError) -> int:
    """Say on stderr what a user has to know; the exit code that it stands for."""
    report_line(str(error))
    return WRONG if isinstance(error, QueryError | ArgumentsError) else FAILED


def report_line(message: str) -> None:
    """Say a message on stderr; the errors of queries say themselves what they are."""
    prefix = "" if message.startswith("error[") else "error: "
    print(f"{prefix}{visible_lines(message)}", file=sys.stderr)


def say(text: str) -> None:
    """Print on stdout; names and paths may hold anything."""
    print(visible_lines(text))


def report_warning(
    show: Callable[..., object], message: Warning | str, *of: Any, **more: Any
) -> None:
    """Say a warning of ours on stderr without a place in Python; `show` the others."""
    if isinstance(message, TiltWarning):
        print(f"warning: {visible_lines(str(message))}", file=sys.stderr)
    else:
        show(message, *of, **more)
