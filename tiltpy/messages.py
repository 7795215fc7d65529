"""Names and types in messages: the nearest known name, articles, plurals."""

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 100
"""Longer names are compared by their beginnings alone."""
_TWO_SLIPS, _THREE_SLIPS = 6, 9
"""The lengths of names from which they may have more than one slip."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that is most like an unknown one; case matters least."""
    names = {other.lower(): other for other in sorted(known, reverse=True)}
    matches = get_close_matches(name[:LONGEST].lower(), names, 1, 0.63)
    return names[matches[0]] if matches else None


def nearest_spelling(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that an unknown one is a misspelling of.

    A letter more, less, other or swapped with its neighbour is a slip. Short names have
    one, names of 6 letters two, of 9 three: `meen` is `mean`, but `argmax` is no `max`.
    """
    allowed = 1 + (len(name) >= _TWO_SLIPS) + (len(name) >= _THREE_SLIPS)
    counted = [
        (_slips(name[:LONGEST].lower(), other.lower()), other)
        for other in sorted(set(known))
        if abs(len(other) - len(name)) <= allowed
    ]
    slips, nearest = min(counted, default=(allowed + 1, ""))
    return nearest if slips <= allowed and len(name) > 1 + slips else None


def _slips(name: str, other: str) -> int:
    """Count the slips between two names: their restricted edit distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            changed = before[j - 1] + (letter != wanted)
            row.append(min(changed, before[j] + 1, row[j - 1] + 1))
            swapped = i > 1 < j and letter == other[j - 2] and wanted == name[i - 2]
            if swapped:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]


_AN = "f32", "f64", "ndarray"


def article(noun: object) -> str:
    """Put the article before a noun: `a bool`, `an i64`, `an f32`, `a u8`."""
    text = str(noun)
    return f"an {text}" if text[:1] in "aeio" or text in _AN else f"a {text}"


def quantity(number: int, noun: str) -> str:
    """Put a number before a noun: `1 snapshot`, `1,024 snapshots`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
