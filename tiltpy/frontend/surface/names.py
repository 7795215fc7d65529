"""Names: the reserved words, new names, and hints for unknown ones."""

from collections.abc import Collection, Iterable

from tiltpy.messages import closest

RESERVED = (
    "unit", "param", "input", "output", "def", "reduction", "return",
    "for", "in", "if", "with", "true", "false", "phi", "φ", "inf", "nan",
    "reduce", "TDom",
)  # fmt: skip
"""Not for locals, parameters and time variables. They stay legal as fields, columns
and temporal objects, which a dot, a declaration or `~` tells apart."""
_ACTIVE = "_active"
LISTED_NAMES = 8
"""The most known names that a hint lists."""


def split_active(name: str) -> tuple[str, bool]:
    """Split a reduction's name from `_active`; returns whether it has that suffix."""
    bare = name.removesuffix(_ACTIVE)
    return bare, bare != name


def fresh_name(name: str, taken: Collection[str]) -> str:
    """Make the name, or the first of `name_2`, `name_3`, ... that is not taken."""
    fresh, count = name, 1
    stem = name.rstrip("'")
    while fresh in taken:
        count += 1
        fresh = f"{stem}_{count}{name[len(stem) :]}"
    return fresh


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Hint at the nearest known name, or list the known names if there are few.

    `prefix` stands before each name; the hint is empty if there is none to give.
    """
    names = sorted(set(known))
    close = closest(name, names)
    if close is not None:
        return f"did you mean {prefix}{close}?"
    if 0 < len(names) <= LISTED_NAMES:
        return "there is " + ", ".join(prefix + n for n in names)
    return ""
