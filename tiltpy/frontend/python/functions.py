"""Math functions for queries in Python, named as in the language.

Functions of integers compute in f64 and return it (f32 stays f32), but for `abs` and
`sign`, which keep the type. All are φ where an argument is. Those of a date take a time
zone like "Europe/Berlin", else they are of UTC. Those of strings take constants beside
a string, but for `concat`. This file is written from the tables in `tiltpy/ops.py` by
`pytest --update-golden tests/frontend/test_python_functions.py`.
"""

from __future__ import annotations

from tiltpy.frontend.python.expressions import Expression, Value, call, call_given

__all__ = [
    "sqrt", "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "floor", "ceil", "round",
    "trunc", "cbrt", "pow", "atan2", "hypot", "fma", "abs", "sign", "is_nan", "is_inf",
    "is_finite", "year", "quarter", "month", "week", "day", "yearday", "weekday",
    "hour", "minute", "second", "lower", "upper", "trim", "substr", "split", "concat",
    "len",
]  # fmt: skip


def sqrt(x: Value) -> Expression:
    """The square root."""
    return call("sqrt", x)


def exp(x: Value) -> Expression:
    """The exponential function."""
    return call("exp", x)


def exp2(x: Value) -> Expression:
    """2 to the power of x."""
    return call("exp2", x)


def log(x: Value) -> Expression:
    """The natural logarithm."""
    return call("log", x)


def log2(x: Value) -> Expression:
    """The logarithm to base 2."""
    return call("log2", x)


def log10(x: Value) -> Expression:
    """The logarithm to base 10."""
    return call("log10", x)


def log1p(x: Value) -> Expression:
    """log(1 + x), exact for small x."""
    return call("log1p", x)


def expm1(x: Value) -> Expression:
    """exp(x) - 1, exact for small x."""
    return call("expm1", x)


def sin(x: Value) -> Expression:
    """The sine."""
    return call("sin", x)


def cos(x: Value) -> Expression:
    """The cosine."""
    return call("cos", x)


def tan(x: Value) -> Expression:
    """The tangent."""
    return call("tan", x)


def asin(x: Value) -> Expression:
    """The arc sine."""
    return call("asin", x)


def acos(x: Value) -> Expression:
    """The arc cosine."""
    return call("acos", x)


def atan(x: Value) -> Expression:
    """The arc tangent."""
    return call("atan", x)


def sinh(x: Value) -> Expression:
    """The hyperbolic sine."""
    return call("sinh", x)


def cosh(x: Value) -> Expression:
    """The hyperbolic cosine."""
    return call("cosh", x)


def tanh(x: Value) -> Expression:
    """The hyperbolic tangent."""
    return call("tanh", x)


def floor(x: Value) -> Expression:
    """The greatest whole number at or below x, as a float."""
    return call("floor", x)


def ceil(x: Value) -> Expression:
    """The least whole number at or above x, as a float."""
    return call("ceil", x)


def round(x: Value) -> Expression:
    """The nearest whole number, halves to even, as a float."""
    return call("round", x)


def trunc(x: Value) -> Expression:
    """The whole part of x, as a float."""
    return call("trunc", x)


def cbrt(x: Value) -> Expression:
    """The cube root."""
    return call("cbrt", x)


def pow(x: Value, y: Value) -> Expression:
    """The power of x to y."""
    return call("pow", x, y)


def atan2(y: Value, x: Value) -> Expression:
    """The angle of the point (y, x)."""
    return call("atan2", y, x)


def hypot(x: Value, y: Value) -> Expression:
    """The length of (x, y)."""
    return call("hypot", x, y)


def fma(x: Value, y: Value, z: Value) -> Expression:
    """The value of x * y + z, rounded once."""
    return call("fma", x, y, z)


def abs(x: Value) -> Expression:
    """The magnitude, in the type of x."""
    return call("abs", x)


def sign(x: Value) -> Expression:
    """-1, 0 or 1 in the type of x; NaN of NaN."""
    return call("sign", x)


def is_nan(x: Value) -> Expression:
    """Test whether x is NaN."""
    return call("is_nan", x)


def is_inf(x: Value) -> Expression:
    """Test whether x is infinite."""
    return call("is_inf", x)


def is_finite(x: Value) -> Expression:
    """Test whether x is neither infinite nor NaN."""
    return call("is_finite", x)


def year(time: Value, zone: str | Expression | None = None) -> Expression:
    """The year."""
    return call_given("year", time, zone)


def quarter(time: Value, zone: str | Expression | None = None) -> Expression:
    """The quarter of the year, from 1."""
    return call_given("quarter", time, zone)


def month(time: Value, zone: str | Expression | None = None) -> Expression:
    """The month, from 1."""
    return call_given("month", time, zone)


def week(time: Value, zone: str | Expression | None = None) -> Expression:
    """The week of ISO 8601, from 1: week 1 has the first Thursday of the year."""
    return call_given("week", time, zone)


def day(time: Value, zone: str | Expression | None = None) -> Expression:
    """The day of the month, from 1."""
    return call_given("day", time, zone)


def yearday(time: Value, zone: str | Expression | None = None) -> Expression:
    """The day of the year, from 1."""
    return call_given("yearday", time, zone)


def weekday(time: Value, zone: str | Expression | None = None) -> Expression:
    """The day of the week: 0 is Monday, 6 is Sunday."""
    return call_given("weekday", time, zone)


def hour(time: Value, zone: str | Expression | None = None) -> Expression:
    """The hour of the day, from 0."""
    return call_given("hour", time, zone)


def minute(time: Value, zone: str | Expression | None = None) -> Expression:
    """The minute of the hour, from 0."""
    return call_given("minute", time, zone)


def second(time: Value, zone: str | Expression | None = None) -> Expression:
    """The second of the minute, from 0."""
    return call_given("second", time, zone)


def lower(s: Value) -> Expression:
    """The string with each letter in lower case."""
    return call_given("lower", s)


def upper(s: Value) -> Expression:
    """The string with each letter in upper case."""
    return call_given("upper", s)


def trim(s: Value) -> Expression:
    """The string without white space at both ends."""
    return call_given("trim", s)


def substr(s: Value, start: Value, length: Value | None = None) -> Expression:
    """The characters from position `start` on, `length` at most; the first is 0."""
    return call_given("substr", s, start, length)


def split(s: Value, separator: Value, n: Value) -> Expression:
    """The n-th part between separators, from 0; φ where there is none."""
    return call_given("split", s, separator, n)


def concat(first: Value, *others: Value) -> Expression:
    """The strings, one behind the other."""
    return call_given("concat", first, *others)


def len(s: Value) -> Expression:
    """The number of characters, as i64."""
    return call_given("len", s)
