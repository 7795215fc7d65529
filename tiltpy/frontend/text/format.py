"""The one way to write a query: spaces, indentation, blank lines.

It works on the tokens of the text and keeps what the writer meant by comments, line
breaks and blank lines (at most one in a row), so that nothing is ever lost. Statements
get a line each; the lines inside of brackets are indented by four.
"""

import re
from dataclasses import dataclass

from lark import ParseTree, Token, Tree, UnexpectedInput

from tiltpy.errors import QueryErrors
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.frontend.text.grammar import parser
from tiltpy.frontend.text.program import read_program
from tiltpy.frontend.text.spacing import CLOSE, OPEN, Item, Spacing

_INDENT = 4
_PARTS = ("BINDING", "RETURN")
_COMMENT = re.compile(r"#[^\n]*")


def format_source(text: str, *, name: str = "<query>") -> str:
    """Format the text of a query; comments and grouping stay.

    Raises a `QueryErrors` if it does not read; what it means is not looked at.
    """
    source = source_of(name, text)
    parsing = parser().parse_interactive(text, start="start")
    try:
        tokens = list(parsing.iter_parse())
        tree = parsing.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        raise QueryErrors(read_program(source).errors) from None
    return _Layout().text(_normal(_items(text, tokens, tree)))


def _items(text: str, tokens: list[Token], tree: ParseTree) -> list[Item]:
    """List the tokens and comments of a text that parses, and line breaks between."""
    starts = {node.meta.start_pos for node in tree.children if isinstance(node, Tree)}
    objects = {node.meta.start_pos for node in tree.find_data("local_object")}
    items: list[Item] = []
    end = 0
    for token in [*tokens, Token("$END", "", start_pos=len(text), end_pos=len(text))]:
        assert token.start_pos is not None
        assert token.end_pos is not None
        for comment in _COMMENT.finditer(text, end, token.start_pos):
            breaks = text.count("\n", end, comment.start())
            items.append(Item("COMMENT", comment.group().rstrip(), breaks))
            end = comment.end()
        breaks = text.count("\n", end, token.start_pos)
        first = token.start_pos in starts and token.type != "$END"
        item = Item(token.type, str(token), breaks, first)
        item.starts_part = item.kind in _PARTS or token.start_pos in objects
        items.append(item)
        end = token.end_pos
    for item, after in zip(items[-2::-1], items[:0:-1], strict=True):
        item.first |= item.kind == "COMMENT" and (after.first or after.kind == "$END")
    return items[:-1]


def _normal(items: list[Item]) -> list[Item]:
    """Put a `;` only between bindings of one line, no `,` before a `}` on its line."""
    normal: list[Item] = []
    depth = broken = 0
    for item in items:
        if item.kind == "SEMICOLON":
            broken += item.breaks
            continue
        item.breaks += broken
        broken = 0
        if item.kind in CLOSE and not item.breaks and normal[-1].kind == "COMMA":
            normal.pop()
        depth += (item.kind in OPEN) - (item.kind in CLOSE)
        joins = item.starts_part and depth and not item.breaks
        if joins and normal[-1].kind not in (*OPEN, "COMMA", "COMMENT"):
            normal.append(Item("SEMICOLON", ";"))
        normal.append(item)
    return normal


@dataclass(slots=True)
class _Bracket:
    """An open bracket: how deep the line that it stands on is indented."""

    kind: str
    level: int


class _Layout:
    """Puts items on lines."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.brackets: list[_Bracket] = []
        self.level = 0
        self.spacing = Spacing()

    def text(self, items: list[Item]) -> str:
        """Format all items, with a line break at the end."""
        for position, item in enumerate(items):
            if item.first and item.kind != "COMMENT":
                self.brackets.clear()
                self.spacing = Spacing()
            self._lead(item, items[position - 1] if position else None)
            self.parts.append(item.text)
            self._track(item)
        return "".join(self.parts) + ("\n" if items else "")

    def _lead(self, item: Item, before: Item | None) -> None:
        """Add the blanks before an item."""
        space = self.spacing.before(item)
        if before is None:
            return
        comment = item.kind == "COMMENT"
        breaks = max(item.breaks, 1 if item.first and not comment else 0)
        if breaks == 0:
            self.parts.append("  " if comment else " " if space else "")
            return
        if comment and item.first:
            self.brackets.clear()
        self.level = self._level(item, before)
        blank = breaks > 1 and before.kind not in OPEN and item.kind not in CLOSE
        self.parts.append("\n\n" if blank else "\n")
        self.parts.append(" " * (self.level * _INDENT))

    def _level(self, item: Item, before: Item) -> int:
        """Find how deep a line that starts with an item is indented."""
        if item.first or not self.brackets:
            return 0 if item.first else 1
        innermost = self.brackets[-1]
        if item.kind in CLOSE:
            return innermost.level
        leads = item.starts_part or item.kind == "COMMENT"
        leads |= before.kind in ("LBRACE", "COMMA", "COMMENT")
        goes_on = innermost.kind == "LBRACE" and not leads
        return innermost.level + (2 if goes_on else 1)

    def _track(self, item: Item) -> None:
        if item.kind in OPEN:
            self.brackets.append(_Bracket(item.kind, self.level))
        elif item.kind in CLOSE:
            self.brackets.pop()
        if item.first:
            self.level = 0
