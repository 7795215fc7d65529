"""Hints for `distinct` where it does not parse, and for what SQL calls so."""

from tiltpy.frontend.hints.parse_position import ParsePosition

ELSEWHERE = ("distinct", "unique", "dedup", "dedupe", "changes", "timeline", "state")
"""The word as it may be written, in lower case."""


def hint_distinct(position: ParsePosition) -> str:
    """Hint at the place of `distinct`, before a definition."""
    text, words = position.text, position.words
    if text == position.previous() == "distinct":
        return "leave one of them out"
    if text.lower() in ELSEWHERE and position.next().startswith("~"):
        return f"write distinct {position.next()}[t] = ..." if not words else ""
    if text == "distinct" and words[:1] and words[0].startswith("~"):
        return f"`distinct` comes first: distinct {words[0]}[t] = ..."
    if words[:1] == ["distinct"] and text == ",":
        return "each object has a definition of its own"
    if position.previous() != "distinct":
        return ""
    if position.inside == "(":
        return "write nunique(~x[t - 10 : t]) to count distinct values"
    if words[0] == "output":
        return f"write distinct {text}[t] = ... where it is defined"
    if "=" in words and text.startswith("~"):
        name = words[words.index("=") - 1]
        name = next((word for word in words if word.startswith("~")), f"~{name}")
        return f"`distinct` comes before the definition: distinct {name}[t] = ..."
    name = text if text.isidentifier() and text not in ("input", "def") else "y"
    return f"an object is distinct: distinct ~{name}[t] = ..."
