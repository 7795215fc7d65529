"""Math functions and reductions for queries in Python, named as in the language.

Functions of integers compute in f64 and return it (f32 stays f32), but for `abs`,
`sign`, `min` and `max`, which keep the type. All are φ where an argument is.
"""

from tiltpy.errors import QueryError
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import (
    Expression,
    Value,
    call,
    combine,
    lift,
)
from tiltpy.frontend.surface import syntax
from tiltpy.limits import MAX_ELEMENT

# -- functions ------------------------------------------------------------------------


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


def round(x: Value) -> Expression:  # noqa: A001
    """The nearest whole number, halves to even, as a float."""
    return call("round", x)


def trunc(x: Value) -> Expression:
    """The whole part of x, as a float."""
    return call("trunc", x)


def cbrt(x: Value) -> Expression:
    """The cube root."""
    return call("cbrt", x)


def abs(x: Value) -> Expression:  # noqa: A001
    """The magnitude, in the type of x."""
    return call("abs", x)


def sign(x: Value) -> Expression:
    """-1, 0 or 1 in the type of x; NaN of NaN."""
    return call("sign", x)


def is_nan(x: Value) -> Expression:
    """Whether x is NaN."""
    return call("is_nan", x)


def is_inf(x: Value) -> Expression:
    """Whether x is infinite."""
    return call("is_inf", x)


def is_finite(x: Value) -> Expression:
    """Whether x is neither infinite nor NaN."""
    return call("is_finite", x)


def pow(x: Value, y: Value) -> Expression:  # noqa: A001
    """The power of x to y."""
    return call("pow", x, y)


def atan2(y: Value, x: Value) -> Expression:
    """The angle of the point (y, x)."""
    return call("atan2", y, x)


def hypot(x: Value, y: Value) -> Expression:
    """The length of (x, y)."""
    return call("hypot", x, y)


# -- reductions -----------------------------------------------------------------------
# Each takes a window, like x[t - "10s" : t], or an expression of a window's element,
# like w.price * w.size; `where` is a condition over the same element. Over no snapshot
# the result is φ.


def reduced_element(name: str, x: Value, where: Value | None) -> Expression:
    """What a reduction goes over: an element, and φ where a condition is not true."""
    element = lift(x)
    if where is not None:
        span = caller_span()
        if not isinstance(where, Expression | bool):
            way = f"write ddof={where}" if name in ("var", "std") else "like w > 0"
            message = f"`where` is a condition, not {where!r}"
            raise QueryError("E0206", message, span, way)
        condition = lift(where)
        node = syntax.Conditional(
            condition.syntax, element.syntax, syntax.Phi(span), span
        )
        element = combine(node, [condition, element])
    if element.parts.size > MAX_ELEMENT:
        raise QueryError(
            "E0303",
            f"the element of this {name} has more than {MAX_ELEMENT:,} parts",
            caller_span(),
            "define an object for what is used many times, and reduce its window",
        )
    return element


def _reduce(
    name: str, x: Value, where: Value | None, *parameter: Value, ddof: int = 0
) -> Expression:
    element = reduced_element(name, x, where)
    if ddof:
        return call(name, element, ddof=ddof)
    return call(name, element, *parameter)


def sum(x: Value, where: Value | None = None) -> Expression:  # noqa: A001
    """The sum: 64-bit for integers and bools, else in the type of x."""
    return _reduce("sum", x, where)


def product(x: Value, where: Value | None = None) -> Expression:
    """The product: 64-bit for integers, else in the type of x."""
    return _reduce("product", x, where)


def count(x: Value, where: Value | None = None) -> Expression:
    """How many snapshots there are; 0 where there is none."""
    return _reduce("count", x, where)


def mean(x: Value, where: Value | None = None) -> Expression:
    """The mean: f32 for f32, else f64."""
    return _reduce("mean", x, where)


def rms(x: Value, where: Value | None = None) -> Expression:
    """The root of the mean square."""
    return _reduce("rms", x, where)


def skew(x: Value, where: Value | None = None) -> Expression:
    """The skewness, biased, as SciPy's default."""
    return _reduce("skew", x, where)


def kurtosis(x: Value, where: Value | None = None) -> Expression:
    """The excess kurtosis, biased, as SciPy's default."""
    return _reduce("kurtosis", x, where)


def first(x: Value, where: Value | None = None) -> Expression:
    """The value of the first snapshot."""
    return _reduce("first", x, where)


def last(x: Value, where: Value | None = None) -> Expression:
    """The value of the last snapshot."""
    return _reduce("last", x, where)


def any(x: Value, where: Value | None = None) -> Expression:  # noqa: A001
    """Whether any of the bools is true."""
    return _reduce("any", x, where)


def all(x: Value, where: Value | None = None) -> Expression:  # noqa: A001
    """Whether all of the bools are true."""
    return _reduce("all", x, where)


def var(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The variance: the population's, or the sample's with `ddof=1`."""
    return _reduce("var", x, where, ddof=ddof)


def std(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The standard deviation: the population's, or the sample's with `ddof=1`."""
    return _reduce("std", x, where, ddof=ddof)


def median(x: Value, where: Value | None = None) -> Expression:
    """The middle value in order, or the mean of the two middle ones, as f64."""
    return _reduce("median", x, where)


def quantile(x: Value, q: Value, where: Value | None = None) -> Expression:
    """The value below which a share `q` of [0, 1] lies, interpolated, as f64."""
    return _reduce("quantile", x, where, q)


def mode(x: Value, where: Value | None = None) -> Expression:
    """The most frequent value, of several the one that came first."""
    return _reduce("mode", x, where)


def nunique(x: Value, where: Value | None = None) -> Expression:
    """How many different values there are."""
    return _reduce("nunique", x, where)


def topk(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` greatest values (64 at most) as the fields `top1`, `top2`, ..."""
    return _reduce("topk", x, where, n)


def min(x: Value, y: Value | None = None, where: Value | None = None) -> Expression:  # noqa: A001
    """The least value of a window, or the smaller of two. NaN is let through."""
    return _reduce("min", x, where) if y is None else _of_two("min", x, y, where)


def max(x: Value, y: Value | None = None, where: Value | None = None) -> Expression:  # noqa: A001
    """The greatest value of a window, or the greater of two. NaN is let through."""
    return _reduce("max", x, where) if y is None else _of_two("max", x, y, where)


def _of_two(name: str, x: Value, y: Value, where: Value | None) -> Expression:
    if where is not None:
        raise QueryError(
            "E0206",
            f"{name} takes one window, with a condition, or two values",
            caller_span(),
            f"write {name}(a, {name}(b, c)) for three",
        )
    return call(name, x, y)


# -- reductions of the events alive at a time -----------------------------------------
# Each takes a point reference of an input, like x[t], or an expression of it: the
# window (t-1, t] of the input, reduced. Over no event the result is φ.


def sum_active(x: Value, where: Value | None = None) -> Expression:
    """The sum over the events alive at a time."""
    return _reduce("sum_active", x, where)


def product_active(x: Value, where: Value | None = None) -> Expression:
    """The product over the events alive at a time."""
    return _reduce("product_active", x, where)


def count_active(x: Value, where: Value | None = None) -> Expression:
    """How many events are alive at a time; 0 where there is none."""
    return _reduce("count_active", x, where)


def mean_active(x: Value, where: Value | None = None) -> Expression:
    """The mean over the events alive at a time."""
    return _reduce("mean_active", x, where)


def var_active(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The variance over the events alive at a time; of the sample with `ddof=1`."""
    return _reduce("var_active", x, where, ddof=ddof)


def std_active(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The standard deviation over the events alive at a time; see `var_active`."""
    return _reduce("std_active", x, where, ddof=ddof)


def min_active(x: Value, where: Value | None = None) -> Expression:
    """The least value of the events alive at a time."""
    return _reduce("min_active", x, where)


def max_active(x: Value, where: Value | None = None) -> Expression:
    """The greatest value of the events alive at a time."""
    return _reduce("max_active", x, where)


def first_active(x: Value, where: Value | None = None) -> Expression:
    """The value of the event alive that started first."""
    return _reduce("first_active", x, where)


def last_active(x: Value, where: Value | None = None) -> Expression:
    """The value of the event alive that started last."""
    return _reduce("last_active", x, where)


def any_active(x: Value, where: Value | None = None) -> Expression:
    """Whether any of the bools alive at a time is true."""
    return _reduce("any_active", x, where)


def all_active(x: Value, where: Value | None = None) -> Expression:
    """Whether all of the bools alive at a time are true."""
    return _reduce("all_active", x, where)


def rms_active(x: Value, where: Value | None = None) -> Expression:
    """The root of the mean square of the events alive at a time."""
    return _reduce("rms_active", x, where)


def skew_active(x: Value, where: Value | None = None) -> Expression:
    """The skewness, biased, over the events alive at a time."""
    return _reduce("skew_active", x, where)


def kurtosis_active(x: Value, where: Value | None = None) -> Expression:
    """The excess kurtosis, biased, over the events alive at a time."""
    return _reduce("kurtosis_active", x, where)


def median_active(x: Value, where: Value | None = None) -> Expression:
    """The middle value of the events alive at a time, as f64."""
    return _reduce("median_active", x, where)


def quantile_active(x: Value, q: Value, where: Value | None = None) -> Expression:
    """The value below which a share `q` of the events alive at a time lies, as f64."""
    return _reduce("quantile_active", x, where, q)


def mode_active(x: Value, where: Value | None = None) -> Expression:
    """The most frequent value of the events alive at a time."""
    return _reduce("mode_active", x, where)


def nunique_active(x: Value, where: Value | None = None) -> Expression:
    """How many different values the events alive at a time have."""
    return _reduce("nunique_active", x, where)


def topk_active(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` greatest values of the events alive at a time, as `top1`, `top2`, ..."""
    return _reduce("topk_active", x, where, n)
