"""Spacing of the formatter: the spaces between two tokens of one line."""

from dataclasses import dataclass

OPEN = ("LPAR", "LSQB", "LBRACE")
CLOSE = ("RPAR", "RSQB", "RBRACE")
_SIGNS = ("PLUS", "MINUS", "NOT", "TIMES", "LESS", "GREATER")
_OPERATORS = (*_SIGNS, "FACTOR", "EQUALITY", "ORDERING", "AND", "OR")
_BEFORE_SIGNS = (
    *OPEN, *_OPERATORS, "COMMA", "COLON", "SEMICOLON", "EQUAL", "QMARK",
    "RETURN", "IN", "IF",
)  # fmt: skip
"""After these a sign is a prefix (or a reduction's name), not an operator."""


@dataclass(slots=True)
class Item:
    """A token or a comment, and the line breaks before it."""

    kind: str
    text: str
    breaks: int = 0
    first: bool = False
    """Whether a statement starts here, or a comment that stands before one."""
    starts_part: bool = False
    """Whether a part of a block starts here, or an argument with a name."""


class Spacing:
    """Goes through a statement's items and says where a space stands."""

    def __init__(self) -> None:
        self.brackets = ["NONE"]
        self.questions = [0]
        self.last = "NONE"
        self.tight = True
        """Whether no space follows the last item."""

    def before(self, item: Item) -> bool:
        """Tell whether a space stands before an item; it becomes the last one."""
        kind = item.kind
        prefix = kind in _SIGNS and self.last in (*_BEFORE_SIGNS, "NONE")
        within, field = self.brackets[-1], self._is_field(kind)
        space = not (self.tight or self._leans_left(kind, field))
        self.tight = (
            prefix
            or kind in ("LPAR", "LSQB", "DOT", "CALLEE", "REDUCE", "OBJECT")
            or (within == "LSQB" and kind in _OPERATORS)
            or (within == "LPAR" and kind == "EQUAL")
        )
        if kind == "OBJECT":
            self.tight = False
        self._track(kind, field)
        self.last = kind
        return space

    def _is_field(self, kind: str) -> bool:
        """Tell whether a colon follows a name, as in `{ a: f64 }` and `f(a: f64)`."""
        within = self.brackets[-1] in ("LBRACE", "LPAR")
        return kind == "COLON" and within and not self.questions[-1]

    def _leans_left(self, kind: str, field: bool) -> bool:
        within = self.brackets[-1]
        if kind in ("COMMA", "SEMICOLON", "DOT", "RPAR", "RSQB", "LSQB") or field:
            return True
        if within == "LSQB" and kind in _OPERATORS:
            return True
        return within == "LPAR" and kind == "EQUAL"

    def _track(self, kind: str, field: bool) -> None:
        if kind in OPEN:
            self.brackets.append(kind)
            self.questions.append(0)
        elif kind in CLOSE:
            self.brackets.pop()
            self.questions.pop()
        elif kind == "QMARK":
            self.questions[-1] += 1
        elif kind == "COLON" and not field and self.questions[-1]:
            self.questions[-1] -= 1
