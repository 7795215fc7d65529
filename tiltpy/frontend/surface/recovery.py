"""Cutting a text that does not parse into what look like its statements.

A statement starts with a keyword and a name, `name =`, or `~name[...] =`, at the start
of a line that is outside of brackets or indented no deeper than the statement before,
or after a `;` outside of brackets. It is a guess, made only to find more errors than
the first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r\n\f]|\#[^\n]*)+)
      | (?P<string>"(?:[^"\\\n]++|\\.)*+"?)
      | (?P<word>~?[^\W\d]\w*'*)
      | (?P<number>\.?\d[\w.]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<mark>//|==|!=|<=|>=|&&|\|\||.)
    """,
    re.VERBOSE,
)
_HEAD = re.compile(
    r"""(?P<keyword>unit|param|input|output|def|reduction|function|func|fn)(?![\w'])(?!\s*=)
        (?:[ \t]+~?(?P<subject>\w+'*))?
      | (?P<name>[^\W\d]\w*'*)\s*=(?!=)
      | ~(?P<object>[^\W\d]\w*'*)\s*(?:
            (?:\[[^\]\n]*\]?)?\s*=(?!=)
          | \[[^\]\n]*\][ \t]*(?!(?:with|if|for|in)\b)[~\w({]
        )
    """,
    re.VERBOSE,
)


_CALLED = ("def", "reduction", "function", "func", "fn")
"""Keywords before what is called later, here or in other languages."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A token of a text: its kind (a group of the pattern above) and its place."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What looks like a statement: its place, its keyword, and the name it gives."""

    start: int
    end: int
    keyword: str = ""
    name: str = ""


def marks(text: str, start: int = 0, end: int | None = None) -> Iterator[Mark]:
    """The tokens of a stretch of text, without blanks and comments."""
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        if match.lastgroup != "blank":
            assert match.lastgroup is not None
            yield Mark(match.lastgroup, match.start(), match.end())


def pieces(text: str) -> list[Piece]:
    """The pieces of a text, in order; together they hold all of its tokens."""
    found: list[Piece] = []
    depth = indent = end = 0
    separated = False
    for mark in marks(text):
        column = mark.start - (text.rfind("\n", 0, mark.start) + 1)
        leads = not text[mark.start - column : mark.start].strip()
        piece = None
        outside = depth == 0 and (leads or separated)
        if mark.kind == "word" and (outside or (leads and column <= indent)):
            piece = _head(text, mark.start)
        if piece is not None or not found:
            found[-1:] = [replace(last, end=end) for last in found[-1:]]
            found.append(piece or Piece(mark.start, mark.end))
            depth, indent = 0, column
        separated = text[mark.start] == ";"
        depth = max(0, depth + (mark.kind == "open") - (mark.kind == "close"))
        end = mark.end
    found[-1:] = [replace(last, end=end) for last in found[-1:]]
    return found


def _head(text: str, start: int) -> Piece | None:
    match = _HEAD.match(text, start)
    if match is None:
        return None
    keyword = match["keyword"] or ""
    subject = match["subject"] or ""
    if match["object"] or (keyword == "input" and subject):
        return Piece(start, start, keyword, "~" + (match["object"] or subject))
    callee = f"{subject}()" if subject else ""
    named = {"param": subject, **dict.fromkeys(_CALLED, callee)}.get(keyword, "")
    name = match["name"] or named
    return Piece(start, start, keyword, name)


def unclosed(text: str, start: int, end: int) -> Mark | None:
    """The last bracket of a stretch that is opened and never closed."""
    stack: list[Mark] = []
    for mark in marks(text, start, end):
        if mark.kind == "open":
            stack.append(mark)
        elif mark.kind == "close" and stack:
            stack.pop()
    return stack[-1] if stack else None
