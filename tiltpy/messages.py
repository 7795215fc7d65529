"""Names and types in messages: the nearest known name, the right article."""

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 100
"""Longer names are compared by their beginnings alone."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that is most like an unknown one; case matters least."""
    names = {other.lower(): other for other in sorted(known, reverse=True)}
    matches = get_close_matches(name[:LONGEST].lower(), names, 1, 0.63)
    return names[matches[0]] if matches else None


def article(noun: object) -> str:
    """Put the article before a noun: `a bool`, `an i64`, `an f32`, `a u8`."""
    text = str(noun)
    return f"an {text}" if text[:1] in "aeio" or text in ("f32", "f64") else f"a {text}"
