"""Colours for queries: Pygments, and editors that read TextMate grammars."""
