"""The values of literals in a text: numbers, and strings with their escapes."""

import re

from tiltpy.errors import QueryError
from tiltpy.limits import MAX_DIGITS
from tiltpy.source import Span

_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|.)", re.DOTALL)
_PLAIN = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r"}


def parse_number(text: str, span: Span) -> int | float:
    """Evaluate a number literal; what no type holds is an error."""
    if text.isdecimal():
        digits = text.lstrip("0") or "0"
        if len(digits) > MAX_DIGITS or int(digits) > 2**64 - 1:
            raise QueryError(
                "E0203",
                "this integer is beyond the range of every integer type",
                span,
                "the greatest is 18446744073709551615 (u64); write a float, like 1e30",
            )
        return int(digits)
    value = float(text)
    if value == float("inf"):
        hint = "write ∞, or a smaller number"
        raise QueryError("E0203", "this float is beyond the range of f64", span, hint)
    return value


def unescape(text: str, span: Span) -> str:
    """Replace the escapes in the text between a string's quotes."""

    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in _PLAIN:
            return _PLAIN[escape]
        code = int(escape[2:-1], 16) if escape.startswith("u{") else -1
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise QueryError(
                "E0004",
                f"`\\{escape}` is no character",
                span,
                r"there are \" \\ \n \t \r and \u{1F600}; a regular expression's "
                r"own \d is written \\d",
            )
        return chr(code)

    return _ESCAPE.sub(character, text)
