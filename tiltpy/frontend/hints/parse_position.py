"""The position at which a text does not parse, as hints look at it."""

from collections.abc import Iterator
from itertools import islice

from tiltpy.frontend.surface.recovery import Lexeme, lex
from tiltpy.lean_dataclass import dataclass
from tiltpy.source import Source


@dataclass(frozen=True, slots=True)
class ParsePosition:
    """A token that does not fit, and what stands around it.

    `before` are the tokens of its statement before it, `opener` is the bracket that is
    open, and `complete` says whether a whole expression stands before it.
    """

    source: Source
    token: Lexeme
    before: tuple[Lexeme, ...]
    opener: Lexeme | None
    complete: bool

    @property
    def text(self) -> str:
        return self.word(self.token)

    @property
    def inside(self) -> str:
        """Return the open bracket, or an empty text."""
        return "" if self.opener is None else self.source.text[self.opener.start]

    @property
    def leads(self) -> bool:
        """Tell whether the token begins a line outside of brackets."""
        line = self.source.text.rfind("\n", 0, self.token.start) + 1
        return self.opener is None and line == self.token.start

    def word(self, mark: Lexeme) -> str:
        return self.source.text[mark.start : mark.end]

    def previous(self, count: int = 1) -> str:
        """Return the token that stands `count` before, or an empty text."""
        return self.word(self.before[-count]) if len(self.before) >= count else ""

    def after(self) -> Iterator[str]:
        """Go through the tokens that follow on the line."""
        stop = self.source.text.find("\n", self.token.end)
        end = len(self.source.text) if stop < 0 else stop
        return map(self.word, lex(self.source.text, self.token.end, end))

    def next(self, count: int = 1) -> str:
        return next(islice(self.after(), count - 1, None), "")

    @property
    def words(self) -> list[str]:
        """List the statement's tokens before this one."""
        return list(map(self.word, self.before))

    def adjacent_texts(self) -> Iterator[str]:
        """Join the token with neighbours that no space divides, longest first."""
        text, around = self.source.text, self.before[-2:]
        starts = [m.start for m in around if " " not in text[m.start : self.token.end]]
        ends = [self.token.end + 1, self.token.end]
        yield from (text[s:e] for s in starts for e in ends)
        yield from (text[self.token.start : e] for e in ends)
