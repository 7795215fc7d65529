"""What stands between the quotes of a string literal."""

import re

from tiltpy.errors import QueryError
from tiltpy.source import Span

_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|.)", re.DOTALL)
_PLAIN = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r"}


def unescape(text: str, span: Span) -> str:
    """The characters that a literal stands for; `span` is where it does."""

    def character(match: re.Match[str]) -> str:
        written = match[1]
        if written in _PLAIN:
            return _PLAIN[written]
        code = int(written[2:-1], 16) if written.startswith("u{") else -1
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise QueryError(
                "E0004",
                f"`\\{written}` is no character",
                span,
                r"there are \" \\ \n \t \r and \u{1F600}; a regular expression's "
                r"own \d is written \\d",
            )
        return chr(code)

    return _ESCAPE.sub(character, text)
