"""Checks of the Python API's arguments: of the expected kind, or an `ArgumentError`."""

from collections.abc import Iterable, Sequence
from operator import index
from os import PathLike, fsencode
from pathlib import Path
from typing import Any, TypeVar

from tiltpy.errors import ArgumentError, TiltError
from tiltpy.messages import article

T = TypeVar("T")


def check_argument(
    name: str, value: T, kind: type[Any] | tuple[type[Any], ...], wanted: str
) -> T:
    """Return the value of the argument `name`; refuse it if it is not of a kind.

    `kind` is a type as `isinstance` takes it, `wanted` how the message calls it.
    """
    if not isinstance(value, kind):
        actual = "None" if value is None else article(type(value).__name__)
        raise ArgumentError(f"{name}: expected {wanted}, found {actual}")
    return value


def check_flag(name: str, value: bool) -> bool:
    """Return a flag; refuse what would merely count as true or false."""
    return check_argument(name, value, bool, "True or False")


def check_choice(name: str, value: T, choices: Sequence[str]) -> T:
    """Return one of a few words; refuse all else, and list them."""
    *others, last = map(repr, choices)
    expected = f"{', '.join(others)} or {last}"
    check_argument(name, value, str, expected)
    if value not in choices:
        raise TiltError(f"{name}={value!r}: expected {expected}")
    return value


def has_items(value: object) -> bool:
    """Tell whether a value has items; an array of numpy without axes has none."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def refusal(message: str, *, is_of_type: bool) -> TiltError:
    """Make the error about a value: an `ArgumentError` if its type is wrong, too."""
    return TiltError(message) if is_of_type else ArgumentError(message)


def check_text(name: str, value: object) -> str:
    """Return a text that can be written in UTF-8; refuse all else."""
    check_argument(name, value, str, "a text (str)")
    text = str(value)
    if not text.isascii() and text.encode(errors="replace").decode() != text:
        raise TiltError(f"{name}: {text} has half a character (a lone surrogate)")
    return text


def check_path(name: str, value: object) -> Path:
    """Return a path that the system can be asked for; refuse all else."""
    if not isinstance(value, str | PathLike):
        check_argument(name, value, str, "a path (str or Path)")
    path = Path(value)  # type: ignore[arg-type]
    if value == "":
        raise TiltError(f"{name}: an empty text is not a path")
    if "\0" in str(path):
        raise TiltError(f"{name}: {path} is not a path: it has a NUL")
    try:
        fsencode(path)
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise TiltError(f"{name}: {shown} is not a path: it has no bytes") from None
    return path


def whole_number(value: Any) -> int | None:
    """Read a whole number, numpy's too; None for anything else."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None
