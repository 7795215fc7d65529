"""Splitting a text that does not parse into what look like its statements.

A statement starts with a keyword and a name, `name =`, or `~name[...] =`, at the start
of a line that is outside of brackets or indented no deeper than the statement before,
or after a `;` outside of brackets. It is a guess, made only to find more errors than
the first.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from tiltpy.lean_dataclass import dataclass

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r\n\f]|\#[^\n]*)+)
      | (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)
      | (?P<word>~?[^\W\d]\w*'*)
      | (?P<number>\.?\d[\w.]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<mark>//|==|!=|<=|>=|&&|\|\||.)
    """,
    re.VERBOSE,
)
_HEAD = re.compile(
    r"""(?:distinct[ \t]+)?(?:
        (?P<keyword>unit|param|input|output|def|reduction|function|func|fn)(?![\w'])(?!\s*=)
        (?:[ \t]+~?(?P<subject>\w+'*))?
      | (?P<name>[^\W\d]\w*'*)\s*=(?!=)
      | ~(?P<object>[^\W\d]\w*'*)\s*(?:
            (?:\[[^\]\n]*\]?)?\s*=(?!=)
          | \[[^\]\n]*\][ \t]*(?!(?:with|if|for|in)\b)[~\w({]
        ))
    """,
    re.VERBOSE,
)


_CALLABLE = ("def", "reduction", "function", "func", "fn")
"""Keywords before what can be called, here or in other languages."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token of a text: its kind (a group of the pattern above) and its offsets."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A likely statement: its offsets, its keyword, the name it defines."""

    start: int
    end: int
    keyword: str = ""
    name: str = ""


def lex(text: str, start: int = 0, end: int | None = None) -> Iterator[Lexeme]:
    """Split a text between two offsets into tokens, without blanks and comments."""
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        if match.lastgroup != "blank":
            assert match.lastgroup is not None
            yield Lexeme(match.lastgroup, match.start(), match.end())


def split_statements(text: str) -> list[Fragment]:
    """Split a text; the fragments are in order, and together hold all of its tokens."""
    fragments: list[Fragment] = []
    depth = indent = end = 0
    separated = False
    for lexeme in lex(text):
        column = lexeme.start - (text.rfind("\n", 0, lexeme.start) + 1)
        leads = not text[lexeme.start - column : lexeme.start].strip()
        fragment = None
        outside = depth == 0 and (leads or separated)
        if lexeme.kind == "word" and (outside or (leads and column <= indent)):
            fragment = _read_head(text, lexeme.start)
        if fragment is not None or not fragments:
            fragments[-1:] = [replace(last, end=end) for last in fragments[-1:]]
            fragments.append(fragment or Fragment(lexeme.start, lexeme.end))
            depth, indent = 0, column
        separated = text[lexeme.start] == ";"
        depth = max(0, depth + (lexeme.kind == "open") - (lexeme.kind == "close"))
        end = lexeme.end
    fragments[-1:] = [replace(last, end=end) for last in fragments[-1:]]
    return fragments


def _read_head(text: str, start: int) -> Fragment | None:
    """Read the head of a statement at an offset, or return None if none is there."""
    match = _HEAD.match(text, start)
    if match is None:
        return None
    keyword = match["keyword"] or ""
    subject = match["subject"] or ""
    if match["object"] or (keyword == "input" and subject):
        return Fragment(start, start, keyword, "~" + (match["object"] or subject))
    callee = f"{subject}()" if subject else ""
    by_keyword = {"param": subject, **dict.fromkeys(_CALLABLE, callee)}
    name = match["name"] or by_keyword.get(keyword, "")
    return Fragment(start, start, keyword, name)


def find_unclosed(text: str, start: int, end: int) -> Lexeme | None:
    """Find the last bracket between two offsets that is opened and never closed."""
    stack: list[Lexeme] = []
    for lexeme in lex(text, start, end):
        if lexeme.kind == "open":
            stack.append(lexeme)
        elif lexeme.kind == "close" and stack:
            stack.pop()
    return stack[-1] if stack else None
