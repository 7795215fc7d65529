"""Spans of the caller's Python source.

Queries built in Python carry spans of the caller's file, so that their errors look like
those of texts.
"""

import linecache
import sys
from functools import lru_cache
from itertools import islice
from types import FrameType

from tiltpy.source import Source, Span

_PACKAGE = __name__.partition(".")[0]


def caller_span() -> Span:
    """Find the expression outside of this package that is being evaluated."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return Span(Source("<python>", ""), 0, 0)
    code = frame.f_code
    position = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    source = _source(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    return _span(source, position, frame.f_lineno)


def _is_ours(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name == _PACKAGE or name.startswith(_PACKAGE + ".")


@lru_cache(maxsize=64)
def _source(filename: str, text: str) -> Source:
    return Source(filename, text)


def _span(
    source: Source,
    position: tuple[int | None, int | None, int | None, int | None],
    line: int,
) -> Span:
    """Find the span of a code position; of the whole line, if there is no better."""
    if line > len(source.line_starts):  # the text is not at hand (exec, a REPL)
        return Span(Source(source.name, "\n" * (line - 1)), line - 1, line - 1)
    first, last, left, right = position
    if first is None or last is None or left is None or right is None:
        text = source.line(line)
        start = source.line_starts[line - 1] + len(text) - len(text.lstrip())
        return Span(source, start, start + len(text.strip()))
    return Span(source, _offset(source, first, left), _offset(source, last, right))


def _offset(source: Source, line: int, column: int) -> int:
    """Convert a line and a column in UTF-8 bytes to a character's offset."""
    text = source.line(line).encode()[:column].decode(errors="replace")
    return source.line_starts[line - 1] + len(text)
