"""Names: new ones, and what to say about those that nobody knows."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def fresh_name(name: str, taken: Collection[str]) -> str:
    """The name, or the first of `name_2`, `name_3`, ... that is not taken."""
    fresh, count = name, 1
    stem = name.rstrip("'")
    while fresh in taken:
        count += 1
        fresh = f"{stem}_{count}{name[len(stem) :]}"
    return fresh


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """A hint with the nearest known name, or with all of a few, or nothing."""
    names = sorted(set(known))
    close = get_close_matches(name[:100], names, 1, 0.6)
    if close:
        return f"did you mean {prefix}{close[0]}?"
    if 0 < len(names) <= 8:
        return "there is " + ", ".join(prefix + n for n in names)
    return ""
