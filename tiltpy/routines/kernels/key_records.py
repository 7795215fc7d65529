"""Items of numbers and truths in the records of keys."""

from tiltpy.loops.build import i64, mul
from tiltpy.loops.nodes import LExpr
from tiltpy.routines.catalogue import RECORD_BYTES, RECORD_NUMBERS


def number_of(code: LExpr) -> LExpr:
    """Find the item of a key, from that of the first one on, which is a number."""
    return mul(code, i64(RECORD_NUMBERS))


def truth_of(code: LExpr) -> LExpr:
    """Find the item of a key likewise, which is a bool."""
    return mul(code, i64(RECORD_BYTES))
