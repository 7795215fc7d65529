"""Syntax highlighting of queries: a Pygments lexer and a TextMate grammar."""
