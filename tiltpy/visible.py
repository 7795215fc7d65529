"""Names and strings as people see them: quoted, and invisible characters escaped.

A string of the data, a name or a path may hold control sequences of a terminal
(`ESC [ 2 J`), direction marks, or lone surrogates, which no file takes. All text that
is shown goes through here, and other Unicode stays as it is. The escapes are those of
the language's strings.
"""

import re

_HIDDEN = (
    "\\x00-\\x1f\\x7f-\\x9f"  # C0, DEL, C1
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # directions
    "\\u2028\\u2029"  # separators of lines and paragraphs
    "\\ud800-\\udfff"  # lone surrogates
)
_ALL = re.compile(f"[{_HIDDEN}]")
_IN_LINES = re.compile(f"(?![\\n\\t])[{_HIDDEN}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_QUOTED = {"\\": "\\\\", '"': '\\"', **_SHORT}
_WORD = re.compile(r"[^\W\d]\w*'*")


def escape_text(text: str) -> str:
    """Escape what cannot be seen in a name or a value, on one line."""
    return _ALL.sub(_escape, text)


def escape_lines(text: str) -> str:
    """Escape what cannot be seen in a text, but for line breaks and tabs."""
    return _IN_LINES.sub(_escape, text)


def escape_json(text: str) -> str:
    """Escape a text of JSON by JSON's escapes: it still parses to one value."""
    return _IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def format_name(name: str) -> str:
    """Format the name of a field or a column, quoted if it is no word."""
    return name if _WORD.fullmatch(name) else quote_string(name)


def quote_string(text: str) -> str:
    """Format a string as a literal of the language, which shows every character."""
    return f'"{"".join(map(_quote, text))}"'


def _quote(character: str) -> str:
    if character in _QUOTED:
        return _QUOTED[character]
    visible = character.isprintable()
    return character if visible else f"\\u{{{ord(character):X}}}"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character, f"\\u{{{ord(character):X}}}")
