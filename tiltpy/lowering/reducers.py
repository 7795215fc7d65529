"""What each built-in reduction keeps while a window slides, and what it makes of it.

A *state* is a tuple of numbers with an associative merge (section 6.1.2 of the paper:
init, acc, deacc, result). Where integers make the inverse exact, a leaving snapshot is
taken out again (`inverse`); everything else is merged anew from partial results, so
that no rounding error, NaN or infinity outlives the window it was in.

Sums of floats are kept in doubles; `min` and `max` work on integers that order as the
floats do, with NaN beyond the end.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce

from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    TRUE,
    conj,
    convert,
    eq,
    f64,
    greatest,
    i64,
    least,
    lt,
    ne,
    select,
)
from tiltpy.loops.nodes import Bin, CallFn, LExpr, Num
from tiltpy.lowering.values import Lowered
from tiltpy.ops import BinaryOp
from tiltpy.types import BOOL, F32, F64, I32, I64, U64, Scalar, int_range

State = tuple[LExpr, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """One kind of state.

    `lift(row, value)` is the state of one snapshot, `merge` is associative and
    `identity` its neutral element; `inverse(state, leaving)` undoes a merge exactly.
    `join` merges states of which neither is the identity. `widen` turns a state into
    one of the kind `wider`, which rounds less over many snapshots.
    """

    name: str
    types: tuple[Scalar, ...]
    identity: tuple[Num, ...] = field(compare=False)
    lift: Callable[[LExpr, LExpr], State] = field(compare=False)
    merge: Callable[[State, State], State] = field(compare=False)
    inverse: Callable[[State, State], State] | None = field(default=None, compare=False)
    joined: Callable[[State, State], State] | None = field(default=None, compare=False)
    wider: "Kept | None" = field(default=None, compare=False)

    def join(self, a: State, b: State) -> State:
        """Merge states of which neither is the identity."""
        return (self.joined or self.merge)(a, b)

    def widen(self, state: State) -> State:
        """The state as one of the kind `wider`."""
        if self.wider is None:
            return state
        kinds = self.wider.types
        return tuple(convert(s, kind) for s, kind in zip(state, kinds, strict=True))


def _arithmetic(op: BinaryOp) -> Callable[[State, State], State]:
    def merge(a: State, b: State) -> State:
        return (Bin(op, a[0], b[0], a[0].type),)

    return merge


def _total(scalar: Scalar) -> Kept:
    exact = not scalar.is_float
    return Kept(
        "total",
        (scalar,),
        (Num(0 if exact else 0.0, scalar),),
        lambda _, value: (convert(value, scalar),),
        _arithmetic("+"),
        _arithmetic("-") if exact else None,
    )


def _squares(_: LExpr, value: LExpr) -> State:
    wide = convert(value, F64)
    return (Bin("*", wide, wide, F64),)


SQUARES = Kept("squares", (F64,), (f64(0.0),), _squares, _arithmetic("+"))
COUNT = Kept(
    "count",
    (I64,),
    (i64(0),),
    lambda _row, _value: (i64(1),),
    _arithmetic("+"),
    _arithmetic("-"),
)
SHORT_COUNT = Kept(
    "count",
    (I32,),
    (Num(0, I32),),
    lambda _row, _value: (Num(1, I32),),
    _arithmetic("+"),
)
"""Of a window over cells: its length is known, and fits."""
FIRST = Kept(
    "first",
    (I64,),
    (Num(2**63 - 1, I64),),
    lambda row, _: (row,),
    lambda a, b: (least(a[0], b[0]),),
)
LAST = Kept(
    "last",
    (I64,),
    (i64(-1),),
    lambda row, _: (row,),
    lambda a, b: (greatest(a[0], b[0]),),
)


def _product(scalar: Scalar) -> Kept:
    one = Num(1.0 if scalar.is_float else 1, scalar)
    return Kept(
        "product",
        (scalar,),
        (one,),
        lambda _, value: (convert(value, scalar),),
        _arithmetic("*"),
    )


def _key(scalar: Scalar) -> Scalar:
    if scalar.is_float:
        return I32 if scalar == F32 else I64
    return scalar


def _extreme(name: str, scalar: Scalar) -> Kept:
    largest = name == "max"
    key = _key(scalar)
    low, high = (0, 1) if key == BOOL else int_range(key)

    def lift(_: LExpr, value: LExpr) -> State:
        return (CallFn(f"{name}_key", (value,), key) if scalar.is_float else value,)

    def merge(a: State, b: State) -> State:
        if key == BOOL:
            return (Bin("||" if largest else "&&", a[0], b[0], BOOL),)
        return ((greatest if largest else least)(a[0], b[0]),)

    identity = low if largest else high
    return Kept(
        name,
        (key,),
        (Num(bool(identity) if key == BOOL else identity, key),),
        lift,
        merge,
    )


def lift_where(kept: Kept, value: Lowered, contributes: LExpr, row: LExpr) -> State:
    """The state of a snapshot, the identity where it does not contribute."""
    state = kept.lift(row, value.value if value.value is not None else i64(0))
    if contributes == TRUE:
        return state
    return tuple(
        select(contributes, part, nothing)
        for part, nothing in zip(state, kept.identity, strict=True)
    )


def moments_of(order: int, kind: Scalar = F64) -> Kept:
    """Count, mean and central sums of powers, merged by Pébay's update formulas.

    Equal values merge without any error, so their variance is exactly 0.
    """

    def lift(_: LExpr, value: LExpr) -> State:
        wide = convert(value, kind)
        spread = Bin("-", wide, wide, kind)  # 0, but NaN for an infinity or a NaN
        return (Num(1.0, kind), wide, *([spread] * (order - 1)))

    def join(a: State, b: State) -> State:
        return _merge_moments(a, b, order)

    nothing = Num(0.0, kind)

    def merge(a: State, b: State) -> State:
        no_a, no_b = eq(a[0], nothing), eq(b[0], nothing)
        return tuple(
            select(no_a, right, select(no_b, left, both))
            for left, right, both in zip(a, b, join(a, b), strict=True)
        )

    kinds, zeros = (kind,) * (order + 1), (nothing,) * (order + 1)
    return Kept(f"moments{order}", kinds, zeros, lift, merge, joined=join)


def _merge_moments(a: State, b: State, order: int) -> State:
    """The counts may be constants, which then cost nothing."""
    (na, ma, *sa), (nb, mb, *sb) = a, b
    n = plus(na, nb)
    delta = minus(mb, ma)
    share = over(Num(1.0, n.type), n)
    step = times(delta, times(nb, share))
    cross = times(delta, delta, times(na, nb, share))
    merged = [n, plus(ma, step), plus(sa[0], sb[0], cross)]
    if order >= 3:
        part = times(delta, share)
        twist = minus(times(na, sb[0]), times(nb, sa[0]))
        third = plus(times(cross, part, minus(na, nb)), times(f64(3.0), part, twist))
        merged.append(plus(sa[1], sb[1], third))
    if order >= 4:
        shape = plus(minus(times(na, na), times(na, nb)), times(nb, nb))
        spread = plus(times(na, na, sb[0]), times(nb, nb, sa[0]))
        twist = minus(times(na, sb[1]), times(nb, sa[1]))
        fourth = plus(
            times(cross, part, part, shape),
            times(f64(6.0), part, part, spread),
            times(f64(4.0), part, twist),
        )
        merged.append(plus(sa[2], sb[2], fourth))
    return tuple(merged)


def times(*factors: LExpr) -> LExpr:
    """A product of floats of one type, constants folded."""
    return reduce(lambda a, b: _folded("*", a, b), factors)


def plus(*terms: LExpr) -> LExpr:
    """A sum of floats."""
    return reduce(lambda a, b: _folded("+", a, b), terms)


def minus(left: LExpr, right: LExpr) -> LExpr:
    """A difference of floats."""
    return _folded("-", left, right)


def over(left: LExpr, right: LExpr) -> LExpr:
    """A quotient of floats."""
    return _folded("/", left, right)


_FOLDS: dict[BinaryOp, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _folded(op: BinaryOp, left: LExpr, right: LExpr) -> LExpr:
    """An operator on floats; of constants, its value."""
    match left, right:
        case Num(value=a), Num(value=b) if (op, b) != ("/", 0):
            return Num(_FOLDS[op](a, b), left.type)
        case _:
            return Bin(op, left, right, left.type)


NARROW_MOMENTS = moments_of(2, F32)
"""Of a few `f32` that are neither tiny nor huge."""


def _sum_type(scalar: Scalar) -> Scalar:
    """What sums of a type are kept in: exact 64-bit integers, or doubles."""
    if scalar.is_float:
        return F64
    return U64 if scalar.kind == "uint" else I64


def _mean_type(scalar: Scalar) -> Scalar:
    """Sums for a mean: 64-bit integers could wrap, so they are taken in doubles."""
    return F64 if scalar.is_float or scalar.bits == 64 else I64


def kept_for(reduction: str, element: Scalar) -> Kept:
    """The state that a reduction over elements of a type needs, besides the count."""
    match reduction:
        case "count":
            return COUNT
        case "sum":
            return _total(_sum_type(element))
        case "product":
            return _product(_sum_type(element))
        case "mean":
            return _total(_mean_type(element))
        case "rms":
            return SQUARES
        case "var" | "std":
            return moments_of(2)
        case "skew":
            return moments_of(3)
        case "kurtosis":
            return moments_of(4)
        case "min" | "max":
            return _extreme(reduction, element)
        case "any" | "all":
            return _total(I64)
        case "first":
            return FIRST
        case "last":
            return LAST
        case _:
            raise AssertionError(f"no reduction {reduction}")


def narrow_for(reduction: str, element: Scalar) -> Kept:
    """As `kept_for`, for trees of a few merges.

    Sums of `f32` round no worse than pairwise summation there, and are twice as fast.
    """
    kept = kept_for(reduction, element)
    if element == F32 and reduction in ("sum", "mean"):
        return replace(_total(F32), wider=kept)
    return kept


def finish(node: Reduce, state: State, count: LExpr) -> tuple[LExpr, LExpr]:
    """The value of a reduction and whether there is one, from its state and count.

    `first` and `last` are not here: their state is a row.
    """
    some = lt(Num(0, count.type), count)
    match node.reduction:
        case "count":
            return convert(count, I64), TRUE
        case "sum" | "product":
            return convert(state[0], node.type), some
        case "any":
            return ne(state[0], i64(0)), some
        case "all":
            return eq(state[0], convert(count, I64)), some
        case "mean":
            return convert(_mean(state[0], count), node.type), some
        case "rms":
            mean = convert(_mean(state[0], count), node.type)
            return CallFn("sqrt", (mean,), node.type), some
        case "min" | "max":
            if node.type.is_float:
                return CallFn("from_key", (state[0],), node.type), some
            return state[0], some
        case "var" | "std":
            free = minus(state[0], f64(float(node.ddof)))
            spread = convert(_share(state[2], free), node.type)
            if node.reduction == "std":
                spread = CallFn("sqrt", (spread,), node.type)
            return spread, conj(some, lt(Num(node.ddof, count.type), count))
        case "skew" | "kurtosis":
            return convert(_shape(node.reduction, state), node.type), some
        case _:
            raise AssertionError(f"no reduction {node.reduction}")


def _mean(total: LExpr, count: LExpr) -> LExpr:
    """A sum divided by a number of snapshots.

    An `f32` by a constant is multiplied by the reciprocal and corrected by the
    remainder, which gives the quotient to the bit at a fraction of a division's price
    (Markstein's method; tried for all mantissas and all counts up to 20,000).
    """
    if total.type != F32:
        return over(convert(total, F64), convert(count, F64))
    if not isinstance(count, Num):
        return Bin("/", total, convert(count, F32), F32)
    number = float(count.value)
    share = Num(1.0 / number, F32)
    quotient = Bin("*", total, share, F32)
    rest = CallFn("fma", (quotient, Num(-number, F32), total), F32)
    corrected = CallFn("fma", (rest, share, quotient), F32)
    return select(CallFn("is_finite", (quotient,), BOOL), corrected, quotient)


def _share(total: LExpr, number: LExpr) -> LExpr:
    """A double divided by another; by a constant to within a rounding error."""
    if isinstance(number, Num) and number.value > 0:
        return times(total, f64(1.0 / number.value))
    return over(total, number)


def _shape(reduction: str, state: State) -> LExpr:
    n, _, second, third, *fourth = state
    if reduction == "skew":
        root = CallFn("sqrt", (second,), F64)
        scaled = Bin("*", CallFn("sqrt", (n,), F64), third, F64)
        return Bin("/", Bin("/", scaled, second, F64), root, F64)
    scaled = Bin("*", n, fourth[0], F64)
    ratio = Bin("/", Bin("/", scaled, second, F64), second, F64)
    return Bin("-", ratio, f64(3.0), F64)
