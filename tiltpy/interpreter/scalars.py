"""Scalars as queries mean them: the interpreter's values, operators and reductions.

A number is a Python `bool`, `int` or `float`; `fit` brings the exact result of an
operation into its type (integers wrap, `f32` rounds). Reductions are exact up to one
rounding at the end, so that a compiled reduction can only be worse, never better.
Strings are Python's own, and stand in the order of their UTF-8 bytes.
"""

import math
from collections.abc import Callable, Sequence
from ctypes import c_float
from fractions import Fraction
from typing import Any

import numpy as np

from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.types import DURATION, F32, F64, Scalar, int_range

Number = bool | int | float
Atom = Number | str
"""The value of a scalar."""


def identical(a: object, b: object) -> bool:
    """Tell whether two values, or φ, are identical.

    All NaNs are one value, both zeros are one, and structs are compared field by field.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return all(identical(a[name], b[name]) for name in a)
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return a == b


def unsign_zero(value: Any) -> Any:
    """Replace each zero in a value by `+0.0`."""
    if isinstance(value, dict):
        return {name: unsign_zero(field) for name, field in value.items()}
    return value + 0.0 if isinstance(value, float) else value


def fit(value: Number, scalar: Scalar) -> Number:
    """Fit a value into a type: integers and ticks wrap, `f32` rounds to the nearest."""
    if scalar.is_integer or scalar.is_temporal:
        least, greatest = int_range(scalar)
        return (int(value) - least) % (greatest - least + 1) + least
    if scalar.is_float:
        return _round_to_single(value) if scalar == F32 else float(value)
    return bool(value)


def _round_to_single(value: Number) -> float:
    """Round to the nearest `f32`; from wide integers too, with one rounding."""
    if isinstance(value, int) and abs(value) >= 2**53:
        # Keep what decides the rounding: the leading bits and whether any bit follows.
        low = value.bit_length() - 50
        value = ((value >> low) | bool(value & ((1 << low) - 1))) << low
    return c_float(value).value


def cast(value: Number, scalar: Scalar) -> Number | None:
    """Cast, saturating; NaN to an integer is 0; to bool is `!= 0`.

    A float becomes the nearest tick, halves to even; φ if it is not finite.
    """
    if scalar.is_temporal:
        return ticks(value)
    if not scalar.is_integer:
        return value != 0 if scalar.kind == "bool" else fit(value, scalar)
    if isinstance(value, float) and math.isnan(value):
        return 0
    least, greatest = int_range(scalar)
    return int(min(max(value, least), greatest))


def ticks(value: Number) -> int | None:
    """Convert a number to ticks: the nearest, halves to even; φ if it is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    least, greatest = int_range(DURATION)
    return min(max(round(value), least), greatest)


def temporal(
    op: str, left: Number, right: Number, result: Scalar, number: Scalar | None
) -> Number | None:
    """Apply an operator of times and durations.

    `left` and `right` are ticks or numbers, `result` is the type of the result and
    `number` that of a number beside a time or a duration.
    """
    if op in _COMPARE:
        return _COMPARE[op](left, right)
    if result == F64:
        return _divide(float(left), float(right))
    if number == F64:
        return ticks(_ARITHMETIC[op](float(left), float(right)))
    if op in ("//", "%") and right == 0:
        return None
    return fit(_ARITHMETIC[op](left, right), result)


def binary(op: str, left: Number, right: Number, scalar: Scalar) -> Number | None:
    """Apply arithmetic or a comparison; integers by zero are φ.

    `op` is the operator's sign, `scalar` the type of the result.
    """
    if op in _COMPARE:
        return _COMPARE[op](left, right)
    if scalar.is_integer and right == 0 and op in ("//", "%"):
        return None
    return fit(_ARITHMETIC[op](left, right), scalar)


def _divide(left: Number, right: Number) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _floor_divide(left: Number, right: Number) -> Number:
    return left // right if right != 0 else _divide(left, right)


def _modulo(left: Number, right: Number) -> Number:
    return left % right if right != 0 else math.nan


def compare_strings(op: str, left: str, right: str) -> bool:
    """Compare strings, by their bytes."""
    return _COMPARE[op](left.encode(), right.encode())


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "//": _floor_divide,
    "%": _modulo,
}


def minimum(values: Sequence[Number]) -> Number:
    """Find the least value; NaN if one is, and -0 before +0."""
    nan = next((v for v in values if v != v), None)  # noqa: PLR0124 - NaN alone
    return min(values, key=_order) if nan is None else nan


def maximum(values: Sequence[Number]) -> Number:
    """Find the greatest value; NaN if one is, and -0 before +0."""
    nan = next((v for v in values if v != v), None)  # noqa: PLR0124 - NaN alone
    return max(values, key=_order) if nan is None else nan


def _order(value: Number) -> tuple[Number, float]:
    return value, math.copysign(1.0, value)


def _sign(value: Number) -> Number:
    return 1 if value > 0 else -1 if value < 0 else value  # NaN and zeros stay


_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "sign": _sign,
    "min": lambda a, b: minimum((a, b)),
    "max": lambda a, b: maximum((a, b)),
    "is_nan": math.isnan,
    "is_inf": math.isinf,
    "is_finite": math.isfinite,
}


def call(function: str, arguments: Sequence[Number], scalar: Scalar) -> Number:
    """Apply a math function.

    Those of floats are computed in double and rounded once.
    """
    if function == "fma":
        x, y, z = (float(fit(each, scalar)) for each in arguments)
        return _fma(x, y, z, scalar)
    if function in _FUNCTIONS:
        return fit(_FUNCTIONS[function](*arguments), scalar)
    with np.errstate(all="ignore"):
        ufunc = getattr(np, FUNCTIONS[function].numpy or function)
        return fit(float(ufunc(*map(float, arguments))), scalar)


def _fma(x: float, y: float, z: float, scalar: Scalar) -> float:
    """Compute `x * y + z` with one rounding."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        return x * y + z  # which zero
    double = _round_to_double(exact)
    if scalar != F32 or math.isinf(double):
        return double
    # Keep what decides the second rounding: whether the first one cut anything off.
    odd = int(math.ldexp(math.frexp(double)[0], 53)) % 2
    if Fraction(double) != exact and not odd:
        towards = math.inf if exact > Fraction(double) else -math.inf
        double = math.nextafter(double, towards)
    return _round_to_single(double)


def reduce(
    name: str, values: Sequence[Number], scalar: Scalar, ddof: int
) -> Number | None:
    """Reduce one value or more, none of them φ.

    `name` is the reduction, `scalar` the type of its result; `ddof` is subtracted from
    the count of a variance.
    """
    match name:
        case "sum":
            return fit(_sum(values), scalar)
        case "product":
            return fit(math.prod(values), scalar)
        case "min":
            return minimum(values)
        case "max":
            return maximum(values)
        case "first":
            return values[0]
        case "last":
            return values[-1]
        case "any":
            return any(values)
        case "all":
            return all(values)
        case _ if scalar.is_temporal and REDUCTIONS[name].durations == "rounded":
            value = reduce(name, values, F64, ddof)
            return None if value is None else ticks(value)
        case "mean":
            return fit(_sum(values) / len(values), scalar)
        case "rms":
            return fit(math.sqrt(_mean_square(values)), scalar)
        case "var" | "std" | "skew" | "kurtosis":
            if len(values) <= ddof:
                return None
            return fit(_moment(name, values, ddof), scalar)
        case _:
            raise AssertionError(f"no reduction {name}")


def reduce_strings(name: str, values: Sequence[str]) -> str:
    """Reduce one string or more."""
    match name:
        case "min":
            return min(values, key=str.encode)
        case "max":
            return max(values, key=str.encode)
        case "first":
            return values[0]
        case "last":
            return values[-1]
        case _:
            raise AssertionError(f"no reduction {name} of strings")


def _sum(values: Sequence[Number]) -> Number:
    """Sum up: exactly for integers, else rounded once; a sum that is zero is +0."""
    if not isinstance(values[0], float):
        return sum(values)
    if not all(map(math.isfinite, values)):
        return sum(v for v in values if not math.isfinite(v))
    try:
        return math.fsum(values) + 0.0
    except OverflowError:  # on the way: the sum itself may be finite
        return _round_to_double(sum(map(Fraction, values)))


def _mean_square(values: Sequence[Number]) -> float:
    if not all(map(math.isfinite, values)):
        return math.nan if any(map(math.isnan, values)) else math.inf
    return _round_to_double(
        Fraction(sum(Fraction(v) ** 2 for v in values), len(values))
    )


def _moment(name: str, values: Sequence[Number], ddof: int) -> float:
    """Compute a variance or its kin from exact central moments."""
    if not all(map(math.isfinite, values)):
        return math.nan
    second = _central(values, 2)
    match name:
        case "var" | "std":
            unbiased = _round_to_double(second * len(values) / (len(values) - ddof))
            return unbiased if name == "var" else math.sqrt(unbiased)
        case _ if second == 0:
            return math.nan
        case "skew":
            third = _round_to_double(_central(values, 3))
            return _divide(third, float(_round_to_double(second) ** 1.5))
        case _:
            return _round_to_double(_central(values, 4) / second**2) - 3.0


def _central(values: Sequence[Number], order: int) -> Fraction:
    """Compute the mean of `(x - mean)^order`, exactly."""
    ratios = [v.as_integer_ratio() for v in values]
    scale = max(denominator for _, denominator in ratios)  # powers of two, all of them
    whole = [n * (scale // d) for n, d in ratios]
    count, total = len(whole), sum(whole)
    powers = sum((count * each - total) ** order for each in whole)
    return Fraction(powers, count ** (order + 1) * scale**order)


def _round_to_double(exact: Fraction | int) -> float:
    """Round to the nearest double; infinite beyond the greatest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
