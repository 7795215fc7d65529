"""The first line of a cell `%%tilt`: its options."""

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from typing import NoReturn

from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import closest
from tiltpy.param_option import EXAMPLE, PARAM, add_param_option

USAGE = "%%%%tilt [NAME] [options]"  # argparse formats it
HELP = "see %%tilt?"


class CellArgumentsError(TiltError):
    """Something is wrong with the first line of a cell."""


@dataclass(frozen=True, slots=True)
class CellArguments:
    """The options of a cell.

    `name` and `query` are variables for the result and the query, `inputs` the
    variables of inputs by their names, `params` texts of values by parameters' names.
    """

    name: str | None
    start: str | None
    end: str | None
    params: dict[str, str]
    inputs: dict[str, str]
    query: str | None
    explain: bool
    plot: bool
    quiet: bool


class CellParser(ArgumentParser):
    """A parser whose errors are one line, and which never exits."""

    def error(self, message: str) -> NoReturn:
        raise CellArgumentsError(f"%%tilt: {message} ({HELP})")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Refuse words that are no options and have no meaning."""
        word = words[0]
        if not word.startswith("-"):
            self.error(f"{word}: one argument too many")
        name = word.partition("=")[0]
        near = closest(name, self._option_string_actions)
        hint = f"; did you mean {near}?" if near else ""
        raise CellArgumentsError(f"%%tilt has no option {name}{hint} ({HELP})")


def build_cell_parser() -> CellParser:
    """Build the parser of the first line."""
    parser = CellParser(
        prog="%%tilt",
        usage=USAGE,
        description="Run the query of this cell, over the variables called like its "
        "inputs.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="a variable for the result"
    )
    parser.add_argument(
        "--start", metavar="TIME", help="where the domain begins: a stamp, or ticks"
    )
    parser.add_argument("--end", metavar="TIME", help="where it ends")
    add_param_option(parser)
    parser.add_argument(
        "-i",
        "--input",
        metavar="NAME=VARIABLE",
        action="append",
        default=[],
        help="the variable of an input, where it is called otherwise; may be given "
        "again",
    )
    parser.add_argument(
        "--query", metavar="NAME", help="a variable for the compiled query"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="draw what refers to what, and do not run",
    )
    parser.add_argument(
        "--plot", action="store_true", help="draw the outputs instead of a table"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="show nothing of the result"
    )
    return parser


def read_cell_arguments(line: str) -> CellArguments:
    """Read the first line of a cell, without its `%%tilt`.

    Raises `CellArgumentsError`.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = f"%%tilt: {str(error).lower()}; close the quotes"
        raise CellArgumentsError(message) from None
    parser = build_cell_parser()
    args, rest = parser.parse_known_args(words)
    if rest:
        parser.refuse(rest)
    for option, name in (("NAME", args.name), ("--query", args.query)):
        if name is not None:
            _check_variable(option, name)
    inputs = _read_pairs("--input", args.input, "stock=prices")
    for name, variable in inputs.items():
        _check_variable(f"--input {name}=", variable)
    return CellArguments(
        args.name,
        args.start,
        args.end,
        _read_pairs(PARAM, args.param, EXAMPLE),
        inputs,
        args.query,
        args.explain,
        args.plot,
        args.quiet,
    )


def _check_variable(option: str, name: str) -> None:
    if not name.isidentifier() or iskeyword(name):
        where = "" if option == "NAME" else f"{option}: "
        raise CellArgumentsError(
            f"%%tilt: {where}expected the name of a variable, found '{name}' ({HELP})"
        )


def _read_pairs(option: str, texts: Iterable[str], example: str) -> dict[str, str]:
    """Read `NAME=VALUE`s of an option that may be given again."""
    pairs: dict[str, str] = {}
    for text in texts:
        matched = re.fullmatch(r"([^=]+)=(.*)", text, re.DOTALL)
        if matched is None:
            raise CellArgumentsError(
                f"%%tilt: {option} {text}: write {option} {example} ({HELP})"
            )
        if matched[1] in pairs:
            raise CellArgumentsError(
                f"%%tilt: {option} {matched[1]}=... is given twice; give it once"
            )
        pairs[matched[1]] = matched[2]
    return pairs
