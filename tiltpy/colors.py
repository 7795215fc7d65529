"""Colours of messages and previews: on a terminal, unless `NO_COLOR` is set."""

import os
import re
from typing import TextIO

BOLD, DIM, RED, YELLOW, BLUE, CYAN = "1", "2", "1;31", "1;33", "34", "36"

_HEAD = re.compile(r"^(error(?:\[\w+\])?:|warning:)", re.MULTILINE)
_GUTTER = re.compile(r"^( *-->| *\d* \|)(?= |$)", re.MULTILINE)
_CARETS = re.compile(r"(?<=\|\x1b\[0m)(\s+)(\^+)(.*)$", re.MULTILINE)
_BARE_CARETS = re.compile(r"^( *\|\s+)(\^+)", re.MULTILINE)


def has_colors(stream: TextIO) -> bool:
    """Tell whether a stream shows colours: a terminal, and nobody objects."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, color: str) -> str:
    """Put a text into a colour."""
    return f"\x1b[{color}m{text}\x1b[0m"


def embolden_message(message: str) -> str:
    """Mark an error or a warning by bold type alone, for coloured backgrounds."""
    painted = _HEAD.sub(lambda match: paint(match[1], BOLD), message)
    return _BARE_CARETS.sub(lambda match: match[1] + paint(match[2], BOLD), painted)


def paint_message(message: str) -> str:
    """Colour an error or a warning: its head, its carets, and the hint after them."""
    painted = _HEAD.sub(
        lambda match: paint(match[1], YELLOW if match[1] == "warning:" else RED),
        message,
    )
    painted = _GUTTER.sub(lambda match: paint(match[1], BLUE), painted)
    return _CARETS.sub(
        lambda match: match[1] + paint(match[2], RED) + paint(match[3], CYAN), painted
    )


def paint_preview(text: str) -> str:
    """Colour a preview: the names of columns, and φ, which is no value."""
    header, *rows = text.split("\n")
    return "\n".join([paint(header, BOLD), *(_paint_gaps(row) for row in rows)])


def _paint_gaps(row: str) -> str:
    return re.sub(r"(?<!\S)φ(?!\S)", lambda match: paint(match[0], DIM), row)
