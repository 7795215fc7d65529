"""The grammar of rows of delimited text (RFC 4180, as Arrow and `csv` read it)."""

import re


def value_pattern(delimiter: str) -> str:
    r"""Match a value; one that begins with a quote may have newlines and delimiters.

    It matches in one way only: Python before 3.11.5 repeats no group possessively. The
    quote that ends a value is one that no other follows.
    """
    rest = rf"[^{re.escape(delimiter)}\n]*"
    return rf'(?:"[^"]*(?:""[^"]*)*"(?!"){rest}|(?!"){rest})'


def row_pattern(delimiter: str) -> str:
    """Match a row without its newline."""
    value = value_pattern(delimiter)
    return f"{value}(?:{re.escape(delimiter)}{value})*"
