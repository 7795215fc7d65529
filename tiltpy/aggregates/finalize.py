"""Lowering of states to results: the last step of each window."""

from dataclasses import replace
from math import floor, frexp, ldexp

from tiltpy.aggregates.aggregate import State
from tiltpy.aggregates.user_defined import code_of
from tiltpy.emit.builder import Block
from tiltpy.emit.floats import minus, over, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    TRUE,
    conj,
    convert,
    eq,
    f64,
    i64,
    is_power_of_two,
    lt,
    ne,
)
from tiltpy.loops.nodes import Bin, CallFn, LExpr, Num
from tiltpy.ops import REDUCTIONS
from tiltpy.types import F32, F64, I64, Scalar

OCCUPIED = frozenset({"sum", "product", "min", "max", "any"})
"""Reductions that need no count of a window, but whether anything contributes."""


def finish(block: Block, node: Reduce, state: State, count: LExpr) -> LoopValue:
    """Lower a state and a count to the result; `first` and `last` have rows instead."""
    reduction = block.builder.user_reductions.get(node.reduction)
    if reduction is not None:
        return code_of(reduction).finish(block, state)
    assert isinstance(node.type, Scalar)
    return LoopValue(node.type, *_built_in(node, node.type, state, count))


def _built_in(
    node: Reduce, scalar: Scalar, state: State, count: LExpr
) -> tuple[LExpr, LExpr]:
    none = Num(0.0 if count.type.is_float else 0, count.type)
    occupied = lt(none, count)
    match node.reduction:
        case "count":
            return convert(count, I64), TRUE
        case "sum" | "product":
            return convert(state[0], scalar), occupied
        case "any":
            return ne(state[0], i64(0)), occupied
        case "all":
            return eq(state[0], convert(count, I64)), occupied
        case "mean":
            return convert(_mean(state[0], count), scalar), occupied
        case "rms":
            return _root(_mean(state[0], count), scalar), occupied
        case "min" | "max":
            if scalar.is_float:
                return CallFn("from_key", (state[0],), scalar), occupied
            return state[0], occupied
        case "var" | "std":
            free = minus(state[0], f64(float(node.ddof)))
            variance = _divide(state[2], free)
            if node.reduction == "std":
                spread = _root(variance, scalar)
            else:
                spread = convert(variance, scalar)
            return spread, conj(
                occupied, lt(Num(none.value + node.ddof, count.type), count)
            )
        case "skew" | "kurtosis":
            return convert(_shape(node.reduction, state), scalar), occupied
        case _:
            raise AssertionError(f"no reduction {node.reduction}")


def _root(square: LExpr, scalar: Scalar) -> LExpr:
    """The square root of a double: squares of `f32` may leave the range of `f32`."""
    return convert(CallFn("sqrt", (square,), F64), scalar)


def _mean(total: LExpr, count: LExpr) -> LExpr:
    """A sum divided by a number of snapshots."""
    if total.type != F32:
        return over(convert(total, F64), convert(count, F64))
    if not isinstance(count, Num):
        return Bin("/", total, convert(count, F32), F32)
    if _divides_single(total, count):
        return _divide_single(total, int(count.value))
    return Bin("*", total, Num(1.0 / count.value, F32), F32)


def _divides_single(total: LExpr, count: LExpr) -> bool:
    """Return whether the divisor is a constant whose reciprocal takes two products."""
    constant = isinstance(count, Num) and not is_power_of_two(count)
    return constant and total.type == F32


def _divide_single(total: LExpr, number: int) -> LExpr:
    """Divide an `f32` by a constant exactly: multiply by its reciprocal in two parts.

    The rest of the reciprocal cannot change the quotient, as long as the number has few
    digits and no product underflows (Brisebarre, Muller and Raina). The first part is
    rounded down, so that both are positive and an infinity stays one. -0 becomes +0.
    """
    share = 1.0 / number
    mantissa, exponent = frexp(share)
    high = ldexp(floor(ldexp(mantissa, 24)), exponent - 24)
    rest = CallFn("fma", (total, Num(share - high, F32), Num(0.0, F32)), F32)
    return CallFn("fma", (total, Num(high, F32), rest), F32)


def _divide(total: LExpr, number: LExpr) -> LExpr:
    """Divide doubles; by a constant to within a rounding error."""
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


_NEVER = lt(i64(1), i64(0))
"""False, but no constant, so that dependent flags are variables as elsewhere."""


def finish_cells(
    block: Block,
    node: Reduce,
    state: State,
    count: LExpr,
    *,
    certain: bool,
    cells: int,
) -> LoopValue:
    """Lower the state of a window over `cells` cells; `certain`: each contributes.

    Then the result is null nowhere or everywhere, if the reduction says so of itself.
    """
    shared = node.reduction == "mean" and _divides_single(state[0], count)
    if node.reduction in ("sum", "mean") and state[0].type.is_float and not shared:
        # A sum of negative zeros is +0, too.
        state = (Bin("+", state[0], Num(0.0, state[0].type), state[0].type),)
    result = finish(block, node, state, count)
    rule = REDUCTIONS.get(node.reduction)  # none if a user defines it
    if certain and rule is not None and (rule.never_null or rule.ddof):
        return replace(result, valid=TRUE if node.ddof < cells else _NEVER)
    return result
