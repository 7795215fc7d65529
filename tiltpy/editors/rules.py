"""The tokens that are coloured in a query, from the terminals of `grammar/tilt.lark`.

Both kinds of grammars are made of the same rules, and the rules of what the parser
reads, so that a word of the language is coloured as soon as it is one.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.text.grammar import terminals
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import (
    CONVOLVE,
    DATE_COMPONENTS,
    FUNCTIONS,
    PAIRS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    STRING_TESTS,
)
from tiltpy.types import NAMED

Kind = Literal[
    "comment",
    "string",
    "object",
    "number",
    "keyword",
    "declaration",
    "constant",
    "type",
    "builtin",
    "function",
    "operator",
    "punctuation",
    "name",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of token and the regular expression of one; the first that fits wins.

    Those of a `declaration` hold behind `input` only, to the end of the line.
    """

    kind: Kind
    pattern: str


CONSTANTS = ("true", "false", "phi", "φ", "inf", "nan")
BUILT_IN = (
    *FUNCTIONS, *REDUCTIONS, *PAIRS, CONVOLVE, *STRING_TESTS, *STRING_FUNCTIONS,
    *DATE_COMPONENTS, "TDom", "Rows",
)  # fmt: skip
BRACKETS = frozenset("()[]{},;:.=")
_KEYWORD = re.compile(r"(\w+)\(\?!\[\\w'\]\)")
"""The grammar's form of a word that is no part of a longer one."""


@cache
def rules() -> tuple[Rule, ...]:
    """List the rules in order; together they match everything but blanks."""
    patterns = dict(terminals())
    return (
        Rule("comment", patterns["COMMENT"]),
        Rule("string", patterns["STRING"]),
        Rule("object", patterns["OBJECT"]),
        Rule("number", patterns["DURATION"]),
        Rule("number", patterns["STEP"]),
        Rule("number", patterns["CELLS"]),
        Rule("keyword", patterns["CELLS_OF"]),
        Rule("number", patterns["NUMBER"]),
        Rule("builtin", patterns["REDUCE"]),
        Rule(
            "declaration", _words(word for word in keywords() if word not in RESERVED)
        ),
        Rule("keyword", _words(word for word in keywords() if word in RESERVED)),
        Rule("keyword", rf"(?<![\w.']){patterns['DISTINCT']}(?=[ \t]+~)"),
        Rule("constant", f"{_words(CONSTANTS)}|{patterns['INFINITY']}"),
        Rule("type", _words(NAMED)),
        Rule("builtin", _words(BUILT_IN) + r"(?=[ \t]*\()"),
        Rule("function", patterns["CALLEE"]),
        Rule("name", patterns["WORD"]),
        Rule("operator", _signs(patterns.values(), brackets=False)),
        Rule("punctuation", _signs(patterns.values(), brackets=True)),
    )


def keywords() -> list[str]:
    """List the words that the grammar knows, those of declarations among them."""
    matches = (_KEYWORD.fullmatch(pattern) for pattern in dict(terminals()).values())
    return [match[1] for match in matches if match]


def _words(words: Iterable[str]) -> str:
    """Match any of these words, but not as a field or a part of a longer one."""
    return rf"(?<![\w.'])(?:{'|'.join(sorted(set(words)))})(?![\w'])"


def _signs(patterns: Iterable[str], *, brackets: bool) -> str:
    """Match any sign of the grammar, longer ones first: brackets, or others."""
    signs: set[str] = set()
    for pattern in patterns:
        group = re.fullmatch(r"\(\?:(.*)\)", pattern)
        alternatives = re.findall(r"(?:\\.|[^|\\])+", group[1] if group else pattern)
        plain = [re.sub(r"\\(\W)", r"\1", sign) for sign in alternatives]
        if all(re.fullmatch(r"[^\w\s\\∞]{1,2}", sign) for sign in plain):
            signs.update(plain)
    chosen = [sign for sign in signs if (sign in BRACKETS) == brackets]
    ordered = sorted(chosen, key=lambda sign: (-len(sign), sign))
    return "|".join(re.escape(sign) for sign in ordered)
