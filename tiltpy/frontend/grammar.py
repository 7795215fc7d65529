"""The parser of `grammar/tilt.lark`, built once."""

from functools import cache
from importlib.resources import files

from lark import Lark

STARTS = ["start", "expr"]
"""What can be parsed: a whole text (or any run of statements), one expression."""


def grammar_text() -> str:
    """The text of `grammar/tilt.lark`."""
    return (files("tiltpy.grammar") / "tilt.lark").read_text(encoding="utf-8")


@cache
def parser() -> Lark:
    """The LALR parser with its contextual lexer."""
    return Lark(
        grammar_text(),
        parser="lalr",
        lexer="contextual",
        start=STARTS,
        propagate_positions=True,
        maybe_placeholders=True,
    )
