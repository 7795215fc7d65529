"""Grades of values in a random query: how far they are the same everywhere.

The generator grades every expression, so that nothing which holds only to rounding
decides a condition, a cast to an integer or a floor.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from tests.compare import ROUGH_REDUCTIONS
from tiltpy.ops import REDUCTIONS
from tiltpy.types import BOOL, F32, F64, STRING, Scalar

WHOLE = sorted(name for name, rule in REDUCTIONS.items() if rule.whole)
"""The reductions that look at a window as a whole."""
SUM_BITS = 8
"""At most 2^8 snapshots are summed, but in long windows over regular rows."""
ROUGH_BITS = 12
"""Sums that are compared to rounding stay below 2^12, so that tolerances hold."""


class Level(IntEnum):
    """The degree to which a value is the same under every order of evaluation."""

    EXACT = 0
    """No rounding yet: sums of it are exact too."""
    FIRM = 1
    """Rounded, but by single operations: the same bits everywhere."""
    ROUGH = 2
    """The same up to rounding."""


@dataclass(frozen=True, slots=True)
class Grade:
    """At most 2^magnitude (None: unbounded); if exact, a multiple of 2^-places."""

    level: Level = Level.EXACT
    places: int = 0
    magnitude: int | None = 0

    def join(self, other: "Grade") -> "Grade":
        """The grade of a value that is one or the other."""
        unbounded = self.magnitude is None or other.magnitude is None
        return Grade(
            max(self.level, other.level),
            max(self.places, other.places),
            None if unbounded else max(self.magnitude or 0, other.magnitude or 0),
        )

    def grown(self, bits: int) -> "Grade":
        """With a magnitude of some bits more."""
        if self.magnitude is None:
            return self
        return replace(self, magnitude=self.magnitude + bits)


def settle(scalar: Scalar, grade: Grade) -> Grade:
    """The grade after an operation that is exact but for its result's width."""
    if scalar in (BOOL, STRING):
        return Grade()
    if scalar.is_integer or scalar.is_temporal:
        widest = scalar.bits - (scalar.kind != "uint")
        found = widest if grade.magnitude is None else min(grade.magnitude, widest)
        return Grade(magnitude=found)
    if grade.level is Level.EXACT and not fits(scalar, grade, 0):
        return replace(grade, level=Level.FIRM)
    return grade


def fits(scalar: Scalar, grade: Grade, bits: int) -> bool:
    """Return whether a value with so many bits more is still exact in a float type."""
    width = 22 if scalar == F32 else 50
    found = grade.magnitude
    return found is not None and grade.places + max(found, 0) + bits <= width


def small(grade: Grade) -> bool:
    return grade.magnitude is not None and grade.magnitude <= ROUGH_BITS


def scaled(grade: Grade, most: int) -> Grade:
    """The grade of a product of so many."""
    return replace(
        grade, places=grade.places * most, magnitude=(grade.magnitude or 0) * most
    )


def sum_bits(most: int) -> int:
    """Return how many bits a sum of so many has more than each of them, at most."""
    return max(SUM_BITS, most.bit_length())


def reduced_grade(name: str, scalar: Scalar, grade: Grade, most: int) -> Grade:
    """The grade of a reduction's result, from that of the at most `most` elements."""
    if name in ROUGH_REDUCTIONS:
        return Grade(Level.ROUGH, 0, 2 * (grade.magnitude or 0))
    bits = sum_bits(most)
    if name == "count":
        return Grade(magnitude=bits)
    if name == "nunique":
        return Grade(magnitude=bits)
    if name in ("first", "last", "min", "max", "mode", "modes", "topk"):
        return grade
    if name in ("median", "quantile") and not scalar.is_temporal:
        return replace(grade, level=max(grade.level, Level.FIRM))
    if name in ("any", "all"):
        return Grade()
    if scalar.is_temporal:
        return settle(scalar, grade.grown(bits))
    if scalar.is_integer:
        unbounded = replace(grade, magnitude=None)
        return settle(scalar, unbounded if name == "product" else grade.grown(bits))
    exact = grade.level is Level.EXACT and fits(scalar, grade, bits)
    if name == "mean":
        return replace(grade, level=Level.FIRM if exact else Level.ROUGH)
    level = Level.EXACT if grade.level is Level.EXACT else Level.ROUGH
    grown = scaled(grade, most) if name == "product" else grade.grown(bits)
    return replace(grown, level=level)


def sound_reductions(
    scalar: Scalar, grade: Grade, most: int, *, firm: bool, exact: bool
) -> list[str]:
    """The reductions of such elements whose results can be compared.

    `firm`: the result may decide something; `exact`: it must agree to the bit.
    """
    if scalar == BOOL:
        found = ["sum", "count", "mean", "any", "all", "first", "last", "min", "max"]
        return [*found, *WHOLE] + ["var", "rms"] * (not firm)
    if scalar.is_temporal:
        return temporal_reductions(scalar, grade, most)
    if scalar == STRING:
        return [r.name for r in REDUCTIONS.values() if r.strings]
    if grade.level is Level.ROUGH:
        return ["count"] + ["sum", "mean"] * (small(grade) and not firm and not exact)
    wide = F64 if scalar.is_integer else scalar
    sums = grade.level is Level.EXACT and fits(wide, grade, sum_bits(most))
    loose = small(grade) and not exact and not firm
    found = ["count", "first", "last", "min", "max", *WHOLE]
    found += ["mean", "mean"] * (sums or loose)
    if scalar.is_integer:
        return [*found, "sum", "sum", "product"]
    short = grade.magnitude is not None and (
        fits(scalar, scaled(grade, most), 0)
        if grade.level is Level.EXACT
        else grade.magnitude <= 0
    )
    return found + ["sum", "sum"] * (sums or loose) + ["product"] * (short and sums)


def temporal_reductions(scalar: Scalar, grade: Grade, most: int) -> list[str]:
    """The reductions of times or durations whose results agree to the tick."""
    found = ["count", "first", "last", "min", "max", "mode", "modes", "nunique", "topk"]
    if scalar.kind == "time":
        return found
    sums = fits(F64, grade, sum_bits(most))
    return [*found, "sum", "sum"] + ["mean", "mean", "median", "quantile"] * sums
