"""Every error that is raised on purpose.

`TiltError` is what a user may catch. A `QueryError` is about the query and has a code,
a place and a way out; `QueryErrors` is all of them for one text. A `DataError` is about
what was bound to a query and names the input, the column and the first bad row, or the
key over which a run failed; a `StateError` is about the saved state of a live query. A
bug of ours is an `AssertionError` and never one of
these.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Span
from tiltpy.visible import escape_lines

Value = TypeVar("Value")

MAX_PLACES = 5
"""Places that an error shows at most."""


class TiltError(Exception):
    """Anything a user can cause; it can be sent to another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made of their message alone, and these have further arguments.
        return _rebuild, (type(self), self.args, vars(self))

    def __str__(self) -> str:
        return escape_lines(Exception.__str__(self))


def _rebuild(
    kind: type[TiltError], args: tuple[object, ...], state: dict[str, object]
) -> TiltError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class QueryError(TiltError):
    """Something is wrong with a query.

    `code` is like `E0103` (the reference lists them), `message` says what was found
    and what was expected, `hint` the way out (shown beside the carets). `notes`
    are further places, such as where the function was called in which it was found.
    """

    def __init__(self, code: str, message: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint
        self.notes: tuple[tuple[Span, str], ...] = ()

    def __str__(self) -> str:
        shown = [self.span.render(self.hint)]
        shown += [span.render(note) for span, note in self.notes]
        if len(shown) > MAX_PLACES:
            between = len(shown) - MAX_PLACES
            shown[MAX_PLACES - 1 : -1] = [f" ... and {between} places between"]
        head = f"error[{self.code}]: {escape_lines(self.message)}"
        return "\n".join([head, *shown])


class QueryErrors(QueryError):  # noqa: N818 - it is many of them
    """All errors of one text; the attributes are those of the first."""

    def __init__(self, errors: Sequence[QueryError]) -> None:
        first = errors[0]
        super().__init__(first.code, first.message, first.span, first.hint)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        shown = [str(error) for error in self.errors]
        if len(shown) == MAX_ERRORS:
            shown.append(f"these are the first {MAX_ERRORS} errors")
        return "\n\n".join(shown)


def collect_errors(calls: Iterable[Callable[[], Value]]) -> list[Value]:
    """Call each, and raise the `QueryError` of one, or those of all that have one."""
    values: list[Value] = []
    errors: list[QueryError] = []
    for call in calls:
        try:
            values.append(call())
        except QueryError as error:
            errors += each_error(error)
    if errors:
        raise errors[0] if len(errors) == 1 else QueryErrors(errors)
    return values


def each_error(error: QueryError) -> tuple[QueryError, ...]:
    """List the errors that an error stands for."""
    return error.errors if isinstance(error, QueryErrors) else (error,)


class ArgumentError(TiltError, TypeError):
    """An argument of the wrong kind; a `TypeError` for those who expect one."""


class TiltWarning(UserWarning):
    """Something that a query or its data may be, and seldom is on purpose."""


def warn(message: str) -> None:
    """Warn at the line outside this package that led here."""
    level, frame = 2, sys._getframe(1)  # noqa: SLF001 - as warnings itself does
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("tiltpy"):
        level, frame = level + 1, frame.f_back
    warnings.warn(escape_lines(message), TiltWarning, stacklevel=level)


class DataError(TiltError):
    """Data that does not fit the query it is bound to, or over which a run failed."""

    def __init__(
        self,
        message: str,
        *,
        input: str | None = None,
        column: str | None = None,
        row: int | None = None,
        key: str | None = None,
    ) -> None:
        where = [f"key {key}"] if key is not None else []
        where += [f"input '{input}'"] if input is not None else []
        where += [f"column '{column}'"] if column is not None else []
        where += [f"row {row}"] if row is not None else []
        super().__init__(f"{', '.join(where)}: {message}" if where else message)
        self.input = input
        self.column = column
        self.row = row
        self.key = key


class StateError(TiltError):
    """The saved state of a live query that cannot be used: damaged, or of another."""


class UnknownArgumentError(DataError, TypeError):
    """An argument of a run that is no option of it, and no input of the query.

    A `TypeError` for those who expect what Python raises.
    """
