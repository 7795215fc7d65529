"""Source texts, and spans of them: the places that errors show.

The lowest layer. A `Span` is a half-open range of characters of a `Source`; it
renders itself as the caret picture that every error shows. Queries built in Python
carry spans of the caller's file, so both frontends report places the same way.
"""

from bisect import bisect_right
from dataclasses import field
from re import finditer

from tiltpy.lean_dataclass import dataclass
from tiltpy.text_columns import count_columns
from tiltpy.visible import escape_lines, escape_text

CLIP = 60
"""Lines longer than three times that are shown in part only."""


@dataclass(frozen=True, slots=True)
class Source:
    """A named text: a `.tilt` file, a string, or the caller's Python file."""

    name: str
    text: str
    line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = (match.end() for match in finditer("\n", self.text))
        object.__setattr__(self, "line_starts", (0, *ends))

    def position(self, offset: int) -> tuple[int, int]:
        """Find the line and the column of a character, both counted from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line (counted from 1), without its end."""
        start = self.line_starts[number - 1]
        stop = self.text.find("\n", start)
        line = self.text[start:] if stop < 0 else self.text[start:stop]
        return line.removesuffix("\r")  # lines end in both on Windows


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{escape_text(self.source.name)}:{line}:{column}"

    def quote(self, otherwise: str) -> str:
        """Quote a short text as it was written, in a query; else `otherwise`."""
        text = self.source.text[self.start : self.end]
        short = 0 < len(text) <= CLIP and "\n" not in text
        return text if short and not self.source.name.endswith(".py") else otherwise

    def join(self, other: "Span") -> "Span":
        """Join two spans (of one source) to the smallest that covers both."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def render(self, note: str) -> str:
        """Render the line, carets under the span, and a note after them."""
        number, column = self.source.position(self.start)
        text, column = _clip(self.source.line(number), column)
        before, after = escape_lines(text[: column - 1]), text[column - 1 :]
        marked = escape_lines(after[: self.end - self.start])
        margin = len(str(number)) + 2
        lead = "\t".join(" " * count_columns(text) for text in before.split("\t"))
        carets = "^" * max(1, count_columns(marked))
        bar = " " * margin + "|"
        return (
            f"{' ' * (margin - 2)}--> {self}\n{bar}\n"
            f"{number:>{margin - 1}} | {escape_lines(text)}\n"
            f"{bar} {lead}{carets} {escape_text(note)}".rstrip()
        )


def _clip(line: str, column: int) -> tuple[str, int]:
    """Clip a very long line around a column; the text, and the column in it."""
    if len(line) <= 3 * CLIP:
        return line, column
    start, stop = max(0, column - 1 - CLIP), column - 1 + 2 * CLIP
    head, tail = "…" if start else "", "…" if stop < len(line) else ""
    return f"{head}{line[start:stop]}{tail}", column - start + len(head)


UNKNOWN = Span(Source("<unknown>", ""), 0, 0)
"""The place of nodes that no user wrote (made by passes out of nothing)."""
