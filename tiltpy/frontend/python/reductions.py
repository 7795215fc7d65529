"""Reductions for queries in Python, named as in the language.

Each takes a window, like `x[t - "10s" : t]`, or an expression of a window's element,
like `w.price * w.size`; `where` is a condition over the same element. Those of pairs
take two expressions of one window. Over no snapshot the result is φ. Those of the
events alive at a time take a point reference of an input, like `sum_active(x[t])`, or
an expression of it. This file is written from the tables in `tiltpy/ops.py` by
`pytest --update-golden tests/frontend/test_python_functions.py`.
"""

from __future__ import annotations

from tiltpy.frontend.python.expressions import Expression, Value
from tiltpy.frontend.python.windows import reduce_or_call, reduce_pair, reduce_window

__all__ = [
    "sum", "product", "count", "mean", "var", "std", "min", "max", "first", "last",
    "any", "all", "rms", "skew", "kurtosis", "median", "quantile", "mode", "nunique",
    "topk", "modes", "sum_active", "product_active", "count_active", "mean_active",
    "var_active", "std_active", "min_active", "max_active", "first_active",
    "last_active", "any_active", "all_active", "rms_active", "skew_active",
    "kurtosis_active", "median_active", "quantile_active", "mode_active",
    "nunique_active", "topk_active", "modes_active", "cov", "corr", "slope",
    "intercept", "argmax", "argmin",
]  # fmt: skip


def sum(x: Value, where: Value | None = None) -> Expression:
    """The sum: 64-bit for integers and bools, else in the type of x."""
    return reduce_window("sum", x, where)


def product(x: Value, where: Value | None = None) -> Expression:
    """The product: 64-bit for integers, else in the type of x."""
    return reduce_window("product", x, where)


def count(x: Value, where: Value | None = None) -> Expression:
    """The number of snapshots; 0 where there is none."""
    return reduce_window("count", x, where)


def mean(x: Value, where: Value | None = None) -> Expression:
    """The mean: f32 for f32, else f64."""
    return reduce_window("mean", x, where)


def var(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The variance: the population's, or the sample's with `ddof=1`."""
    return reduce_window("var", x, where, ddof=ddof)


def std(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The standard deviation: the population's, or the sample's with `ddof=1`."""
    return reduce_window("std", x, where, ddof=ddof)


def min(x: Value, y: Value | None = None, where: Value | None = None) -> Expression:
    """The least value of a window, or the smaller of two. NaN is let through."""
    return reduce_or_call("min", x, y, where)


def max(x: Value, y: Value | None = None, where: Value | None = None) -> Expression:
    """The greatest value of a window, or the greater of two. NaN is let through."""
    return reduce_or_call("max", x, y, where)


def first(x: Value, where: Value | None = None) -> Expression:
    """The value of the first snapshot."""
    return reduce_window("first", x, where)


def last(x: Value, where: Value | None = None) -> Expression:
    """The value of the last snapshot."""
    return reduce_window("last", x, where)


def any(x: Value, where: Value | None = None) -> Expression:
    """True if any of the bools is."""
    return reduce_window("any", x, where)


def all(x: Value, where: Value | None = None) -> Expression:
    """True if all of the bools are."""
    return reduce_window("all", x, where)


def rms(x: Value, where: Value | None = None) -> Expression:
    """The root of the mean square."""
    return reduce_window("rms", x, where)


def skew(x: Value, where: Value | None = None) -> Expression:
    """The skewness, biased, as SciPy's default."""
    return reduce_window("skew", x, where)


def kurtosis(x: Value, where: Value | None = None) -> Expression:
    """The excess kurtosis, biased, as SciPy's default."""
    return reduce_window("kurtosis", x, where)


def median(x: Value, where: Value | None = None) -> Expression:
    """The middle value in order, or the mean of the two middle ones, as f64."""
    return reduce_window("median", x, where)


def quantile(
    x: Value, q: Value, where: Value | None = None, method: str = "linear"
) -> Expression:
    """The value below which a share `q` of [0, 1] lies, interpolated, as f64."""
    return reduce_window("quantile", x, where, q, method=method)


def mode(x: Value, where: Value | None = None) -> Expression:
    """The most frequent value, of several the one that came first."""
    return reduce_window("mode", x, where)


def nunique(x: Value, where: Value | None = None) -> Expression:
    """The number of different values."""
    return reduce_window("nunique", x, where)


def topk(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` greatest values (64 at most) as the fields `top1`, `top2`, ..."""
    return reduce_window("topk", x, where, n)


def modes(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` most frequent values (64 at most) as `mode1`, `count1`, `mode2`, ..."""
    return reduce_window("modes", x, where, n)


def sum_active(x: Value, where: Value | None = None) -> Expression:
    """The sum over the events alive at a time."""
    return reduce_window("sum_active", x, where)


def product_active(x: Value, where: Value | None = None) -> Expression:
    """The product over the events alive at a time."""
    return reduce_window("product_active", x, where)


def count_active(x: Value, where: Value | None = None) -> Expression:
    """The number of events alive at a time; 0 where there is none."""
    return reduce_window("count_active", x, where)


def mean_active(x: Value, where: Value | None = None) -> Expression:
    """The mean over the events alive at a time."""
    return reduce_window("mean_active", x, where)


def var_active(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The variance over the events alive at a time; of the sample with `ddof=1`."""
    return reduce_window("var_active", x, where, ddof=ddof)


def std_active(x: Value, where: Value | None = None, ddof: int = 0) -> Expression:
    """The standard deviation over the events alive at a time; see `var_active`."""
    return reduce_window("std_active", x, where, ddof=ddof)


def min_active(x: Value, where: Value | None = None) -> Expression:
    """The least value of the events alive at a time."""
    return reduce_window("min_active", x, where)


def max_active(x: Value, where: Value | None = None) -> Expression:
    """The greatest value of the events alive at a time."""
    return reduce_window("max_active", x, where)


def first_active(x: Value, where: Value | None = None) -> Expression:
    """The value of the event alive that started first."""
    return reduce_window("first_active", x, where)


def last_active(x: Value, where: Value | None = None) -> Expression:
    """The value of the event alive that started last."""
    return reduce_window("last_active", x, where)


def any_active(x: Value, where: Value | None = None) -> Expression:
    """True if any of the bools alive at a time is."""
    return reduce_window("any_active", x, where)


def all_active(x: Value, where: Value | None = None) -> Expression:
    """True if all of the bools alive at a time are."""
    return reduce_window("all_active", x, where)


def rms_active(x: Value, where: Value | None = None) -> Expression:
    """The root of the mean square of the events alive at a time."""
    return reduce_window("rms_active", x, where)


def skew_active(x: Value, where: Value | None = None) -> Expression:
    """The skewness, biased, over the events alive at a time."""
    return reduce_window("skew_active", x, where)


def kurtosis_active(x: Value, where: Value | None = None) -> Expression:
    """The excess kurtosis, biased, over the events alive at a time."""
    return reduce_window("kurtosis_active", x, where)


def median_active(x: Value, where: Value | None = None) -> Expression:
    """The middle value of the events alive at a time, as f64."""
    return reduce_window("median_active", x, where)


def quantile_active(
    x: Value, q: Value, where: Value | None = None, method: str = "linear"
) -> Expression:
    """The value below which a share `q` of the events alive at a time lies, as f64."""
    return reduce_window("quantile_active", x, where, q, method=method)


def mode_active(x: Value, where: Value | None = None) -> Expression:
    """The most frequent value of the events alive at a time."""
    return reduce_window("mode_active", x, where)


def nunique_active(x: Value, where: Value | None = None) -> Expression:
    """The number of different values of the events alive at a time."""
    return reduce_window("nunique_active", x, where)


def topk_active(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` greatest values of the events alive at a time, as `top1`, `top2`, ..."""
    return reduce_window("topk_active", x, where, n)


def modes_active(x: Value, n: Value, where: Value | None = None) -> Expression:
    """The `n` most frequent values of the events alive at a time, and their counts."""
    return reduce_window("modes_active", x, where, n)


def cov(y: Value, x: Value, where: Value | None = None) -> Expression:
    """The covariance of two expressions, the population's."""
    return reduce_pair("cov", y, x, where)


def corr(y: Value, x: Value, where: Value | None = None) -> Expression:
    """Pearson's correlation of two expressions; φ where one does not vary."""
    return reduce_pair("corr", y, x, where)


def slope(y: Value, x: Value, where: Value | None = None) -> Expression:
    """The slope of y over x by least squares; φ where x does not vary."""
    return reduce_pair("slope", y, x, where)


def intercept(y: Value, x: Value, where: Value | None = None) -> Expression:
    """The value at x = 0 of the line of y over x by least squares."""
    return reduce_pair("intercept", y, x, where)


def argmax(x: Value, key: Value, where: Value | None = None) -> Expression:
    """The value where the key is greatest, of several the earliest."""
    return reduce_pair("argmax", x, key, where)


def argmin(x: Value, key: Value, where: Value | None = None) -> Expression:
    """The value where the key is least, of several the earliest."""
    return reduce_pair("argmin", x, key, where)
