"""The little HTML that notebooks show: escaped, and in the notebook's own colours.

And the printer of text beside it.
"""

from collections.abc import Iterable
from html import escape
from typing import Protocol

from tiltpy.visible import escape_lines, escape_text


class TextPrinter(Protocol):
    """The printer that IPython passes to `_repr_pretty_`."""

    def text(self, text: str) -> object:
        """Print a text."""


def format_paragraph(text: str) -> str:
    """Format a line of text."""
    return f"<p>{escape(escape_text(text))}</p>"


def format_preformatted(text: str) -> str:
    """Format a text as it stands."""
    return f'<pre style="text-align: left">{escape(escape_lines(text))}</pre>'


def format_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a table; all cells are text."""
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', head)}{body}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    shown = (f"<{tag}>{escape(escape_text(cell))}</{tag}>" for cell in cells)
    return "<tr>" + "".join(shown) + "</tr>"
