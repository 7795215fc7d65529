"""The aggregate of each built-in reduction; `finalize` lowers their states.

Sums of floats are doubles; `min` and `max` work on integers that order as the floats
do, with NaN beyond the end.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from tiltpy.aggregates.aggregate import Aggregate, Combine, State
from tiltpy.aggregates.central_moments import ORDERS, moments_of
from tiltpy.aggregates.user_defined import user_aggregate
from tiltpy.emit.builder import Block
from tiltpy.emit.floats import fma
from tiltpy.emit.values import LoopValue, numbers_of, zero
from tiltpy.ir.nodes import UserReduction
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    convert,
    disj,
    f64,
    greatest,
    i64,
    least,
    select,
)
from tiltpy.loops.nodes import Bin, CallFn, Convert, LExpr, Num
from tiltpy.ops import BinaryOp
from tiltpy.types import BOOL, F32, F64, I8, I16, I32, I64, U64, Scalar, Type, int_range


def _arithmetic(op: BinaryOp) -> Combine:
    def combine(_: Block, a: State, b: State) -> State:
        return (Bin(op, a[0], b[0], a[0].type),)

    return combine


def _accumulator(name: str, op: BinaryOp, neutral: int, scalar: Scalar) -> Aggregate:
    return Aggregate(
        name,
        (scalar,),
        (Num(float(neutral) if scalar.is_float else neutral, scalar),),
        lambda _block, _row, value: (convert(value.scalar, scalar),),
        _arithmetic(op),
        evict=_arithmetic("-") if op == "+" and scalar.is_integer else None,
    )


def _total(scalar: Scalar) -> Aggregate:
    return _accumulator("total", "+", 0, scalar)


def _squares(_block: Block, _row: LExpr, value: LoopValue) -> State:
    wide = convert(value.scalar, F64)
    return (Bin("*", wide, wide, F64),)


def _accumulate_square(_: Block, sums: State, square: State) -> State:
    """Add a square; that of a single is exact in a double, and need not be rounded."""
    match square:
        case (Bin(left=Convert(operand=operand) as root),) if operand.type == F32:
            return (fma(root, root, sums[0]),)
        case _:
            return (Bin("+", sums[0], square[0], F64),)


SQUARES = Aggregate(
    "squares",
    (F64,),
    (f64(0.0),),
    _squares,
    _arithmetic("+"),
    accumulate=_accumulate_square,
)


def _count(scalar: Scalar) -> Aggregate:
    zero, single = Num(0, scalar), Num(1, scalar)
    return Aggregate(
        "count",
        (scalar,),
        (zero,),
        lambda *_: (single,),
        _arithmetic("+"),
        evict=_arithmetic("-"),
    )


COUNT = _count(I64)
SHORT_COUNTS = tuple(map(_count, (I8, I16, I32)))


def short_count(cells: int) -> Aggregate:
    """The count for windows of at most so many cells, of the narrowest integers.

    No run has as many cells in a window as 32 bits do not hold, however long it is.
    """
    fits = (a for a in SHORT_COUNTS if cells <= int_range(a.types[0])[1])
    return next(fits, SHORT_COUNTS[-1])


FIRST = Aggregate(
    "first",
    (I64,),
    (Num(2**63 - 1, I64),),
    lambda _block, row, _value: (row,),
    lambda _, a, b: (least(a[0], b[0]),),
)
LAST = Aggregate(
    "last",
    (I64,),
    (i64(-1),),
    lambda _block, row, _value: (row,),
    lambda _, a, b: (greatest(a[0], b[0]),),
)


EXISTS = Aggregate(
    "exists",
    (BOOL,),
    (FALSE,),
    lambda *_: (TRUE,),
    lambda _, a, b: (disj(a[0], b[0]),),
    idempotent=True,
)
"""Existence: true if any snapshot contributes."""


@lru_cache
def value_aggregate(reduction: str, *scalars: Scalar) -> Aggregate:
    """The aggregate of `first` or `last` that keeps the value, and whether it has one.

    It serves where the row may be gone from memory by then, and where there are no rows
    but cells. The numbers of the value are of types `scalars`.
    """

    def combine(_: Block, a: State, b: State) -> State:
        kept, other = (a, b) if reduction == "first" else (b, a)
        pairs = zip(kept[1:], other[1:], strict=True)
        return (disj(a[0], b[0]), *(select(kept[0], x, y) for x, y in pairs))

    return Aggregate(
        f"{reduction}.value",
        (BOOL, *scalars),
        (FALSE, *map(zero, scalars)),
        lambda _block, _row, value: (TRUE, *numbers_of(value)),
        combine,
        ordered=True,
        idempotent=True,
    )


def _key(scalar: Scalar) -> Scalar:
    if scalar.is_float:
        return I32 if scalar == F32 else I64
    return scalar


def _extreme(name: str, scalar: Scalar) -> Aggregate:
    largest = name == "max"
    key = _key(scalar)
    low, high = (0, 1) if key == BOOL else int_range(key)

    def lift(_block: Block, _row: LExpr, value: LoopValue) -> State:
        plain = value.scalar
        return (CallFn(f"{name}_key", (plain,), key) if scalar.is_float else plain,)

    def combine(_: Block, a: State, b: State) -> State:
        if key == BOOL:
            return (Bin("||" if largest else "&&", a[0], b[0], BOOL),)
        return ((greatest if largest else least)(a[0], b[0]),)

    identity = low if largest else high
    return Aggregate(
        name,
        (key,),
        (Num(bool(identity) if key == BOOL else identity, key),),
        lift,
        combine,
        idempotent=True,
    )


def _sum_type(scalar: Scalar) -> Scalar:
    """The type that adds up values: exact 64-bit integers, or doubles."""
    if scalar.is_float:
        return F64
    return U64 if scalar.kind == "uint" else I64


def _mean_type(scalar: Scalar) -> Scalar:
    """The type of sums for a mean: doubles where 64-bit integers could wrap."""
    return F64 if scalar.is_float or scalar.bits == 64 else I64


def aggregate_for(
    reduction: str, element: Type, user_reductions: Mapping[str, UserReduction]
) -> Aggregate:
    """The aggregate that a reduction over elements of a type needs besides a count."""
    if reduction in user_reductions:
        return user_aggregate(user_reductions[reduction])
    if reduction in ORDERS:
        return moments_of(ORDERS[reduction])
    if not isinstance(element, Scalar):
        return _row_aggregate(reduction)
    match reduction:
        case "sum":
            return _total(_sum_type(element))
        case "product":
            return _accumulator("product", "*", 1, _sum_type(element))
        case "mean":
            return _total(_mean_type(element))
        case "rms":
            return SQUARES
        case "min" | "max":
            return _extreme(reduction, element)
        case "any" | "all":
            return _total(I64)
        case _:
            return _row_aggregate(reduction)


def _row_aggregate(reduction: str) -> Aggregate:
    """The aggregate of a reduction that reads no values, and so takes structs."""
    match reduction:
        case "count":
            return COUNT
        case "first":
            return FIRST
        case "last":
            return LAST
        case _:
            raise AssertionError(f"no reduction {reduction}")


def narrow_aggregate(
    reduction: str, element: Type, user_reductions: Mapping[str, UserReduction]
) -> Aggregate:
    """The aggregate of a reduction for trees of a few combines.

    Sums of `f32` round no worse than pairwise summation there, and are twice as fast.
    """
    aggregate = aggregate_for(reduction, element, user_reductions)
    if element == F32 and reduction in ("sum", "mean"):
        return replace(_total(F32), wider=aggregate)
    return aggregate
