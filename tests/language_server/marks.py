"""Texts with a mark `|` at the cursor."""

from tiltpy.language_server.analysis import Analysis, analyse


def marked(text: str) -> tuple[Analysis, int]:
    """Analyse a text without its mark; the analysis, and where the mark was."""
    before, after = text.split("|")
    return analyse(before + after, "query.tilt"), len(before)
