"""What to say about names that nobody knows."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """A hint with the nearest known name, or with all of a few, or nothing."""
    names = sorted(set(known))
    close = get_close_matches(name[:100], names, 1, 0.6)
    if close:
        return f"did you mean {prefix}{close[0]}?"
    if 0 < len(names) <= 8:
        return "there is " + ", ".join(prefix + n for n in names)
    return ""
