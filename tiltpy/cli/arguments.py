"""Arguments of a command line: names, values, and whole numbers.

All that is wrong with them is an `ArgumentsError`, which ends the command with code 2.
"""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence

from tiltpy.errors import TiltError
from tiltpy.memory_sizes import size_of
from tiltpy.messages import closest
from tiltpy.param_option import EXAMPLE, PARAM


class ArgumentsError(TiltError):
    """Something is wrong with the arguments of a command."""


def add_input_option(
    parser: ArgumentParser, option: str, value: str, meaning: str
) -> None:
    """Add an option of inputs, whose values `assign` reads.

    `value` is what its values are called, `meaning` what they say of an input.
    """
    parser.add_argument(
        option,
        metavar=f"[NAME=]{value}",
        action="append",
        default=[],
        help=f"{meaning}. Without NAME= it is for every input",
    )


def assign(
    option: str,
    texts: Sequence[str],
    names: Sequence[str],
    *,
    bare_is_for_all: bool = False,
) -> dict[str, str]:
    """Read `NAME=VALUE` for each name.

    A bare `VALUE` is for the only name there is, or with `bare_is_for_all` for all
    names that have no other value.
    """
    named: dict[str, str] = {}
    bare: list[str] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name in names:
            if name in named:
                raise ArgumentsError(
                    f"{option} {name}=... is given twice; give it once"
                )
            named[name] = value
        elif equals and name.isidentifier():
            raise ArgumentsError(f"{option} {text}: {explain_unknown(name, names)}")
        else:
            value = text
            bare.append(text)
        if not value:  # as of a variable of the shell that is not set
            raise ArgumentsError(f"{option} {text}: it has no value; give one")
    if bare and not bare_is_for_all and len(names) != 1:
        raise ArgumentsError(
            f"{option} {bare[0]}: say for which of {join_names(names)}: "
            f"{option} {next(iter(names), 'name')}={bare[0]}"
        )
    if len(bare) > 1 or (bare and named and len(names) == 1):
        raise ArgumentsError(f"{option} is given twice; give it once, or one per name")
    return {name: named.get(name, *bare) for name in names if name in named or bare}


def explain_unknown(name: str, names: Iterable[str]) -> str:
    """Say that a name is unknown, with the closest known one."""
    known = list(names)
    nearest = closest(name, known)
    hint = f"did you mean '{nearest}'?" if nearest else f"known: {join_names(known)}"
    return f"there is no '{name}'; {hint}"


def join_names(names: Iterable[str]) -> str:
    """List names for a message, in order."""
    return ", ".join(f"'{name}'" for name in names) or "none"


def parameters(texts: Sequence[str]) -> dict[str, str]:
    """Read `-p NAME=VALUE`s; the query's own types decide what the values mean."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentsError(
                f"{PARAM} {text}: write {PARAM} NAME=VALUE, as in {PARAM} {EXAMPLE}"
            )
        if name in values:
            raise ArgumentsError(f"{PARAM} {name}=... is given twice; give it once")
        values[name] = value
    return values


def positive_reader(option: str) -> Callable[[str], int]:
    """Make a reader of whole numbers above zero, for argparse."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) == 0:
            raise ArgumentsError(f"{option} {text}: expected a whole number above 0")
        return int(text)

    return read


def size(option: str, text: str) -> int:
    """Read a size in bytes, such as `2GB`."""
    try:
        return size_of(text)
    except TiltError as error:
        raise ArgumentsError(f"{option}: {error}") from error
