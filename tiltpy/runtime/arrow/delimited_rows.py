"""The grammar of rows of delimited text (RFC 4180, as Arrow and `csv` read it)."""

import re


def row_pattern(delimiter: str) -> str:
    r"""Match a row without its newline; values that begin with a quote may have some.

    It matches in one way only: Python before 3.11.5 repeats no group possessively. The
    quote that ends a value is one that no other follows.
    """
    sign = re.escape(delimiter)
    rest = rf"[^{sign}\n]*"
    value = rf'(?:"[^"]*(?:""[^"]*)*"(?!"){rest}|(?!"){rest})'
    return f"{value}(?:{sign}{value})*"
