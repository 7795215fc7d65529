"""Names: new ones, and what to say about those that nobody knows."""

from collections.abc import Collection, Iterable

from tiltpy.messages import closest

FEW = 8
"""As many known names are all said."""


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
    close = closest(name, names)
    if close is not None:
        return f"did you mean {prefix}{close}?"
    if 0 < len(names) <= FEW:
        return "there is " + ", ".join(prefix + n for n in names)
    return ""
