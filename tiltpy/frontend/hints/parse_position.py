"""The place where a text does not parse, as advice looks at it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tiltpy.frontend.surface.recovery import Mark, marks
from tiltpy.source import Source


@dataclass(frozen=True, slots=True)
class Spot:
    """A token that does not fit, and what stands around it.

    `before` are those of its statement, `opener` is the bracket that is open, and
    `complete` is whether a whole expression stands before it.
    """

    source: Source
    found: Mark
    before: tuple[Mark, ...]
    opener: Mark | None
    complete: bool

    @property
    def text(self) -> str:
        return self.word(self.found)

    @property
    def inside(self) -> str:
        """The open bracket, or nothing."""
        return "" if self.opener is None else self.source.text[self.opener.start]

    @property
    def leads(self) -> bool:
        """Whether it begins a line outside of brackets."""
        line = self.source.text.rfind("\n", 0, self.found.start) + 1
        return self.opener is None and line == self.found.start

    def word(self, mark: Mark) -> str:
        return self.source.text[mark.start : mark.end]

    def previous(self, count: int = 1) -> str:
        """The token that stands `count` before, or nothing."""
        return self.word(self.before[-count]) if len(self.before) >= count else ""

    def after(self) -> Iterator[str]:
        """The tokens that follow on the line."""
        stop = self.source.text.find("\n", self.found.end)
        end = len(self.source.text) if stop < 0 else stop
        return map(self.word, marks(self.source.text, self.found.end, end))

    def next(self, count: int = 1) -> str:
        return next(islice(self.after(), count - 1, None), "")

    @property
    def words(self) -> list[str]:
        """The tokens before it in the statement."""
        return list(map(self.word, self.before))

    def joined(self) -> Iterator[str]:
        """It and the tokens that stand right beside it, the longest first."""
        text, around = self.source.text, self.before[-2:]
        starts = [m.start for m in around if " " not in text[m.start : self.found.end]]
        ends = [self.found.end + 1, self.found.end]
        yield from (text[s:e] for s in starts for e in ends)
        yield from (text[self.found.start : e] for e in ends)
