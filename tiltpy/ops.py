"""Operators, math functions and reductions: one table each.

Both IRs, the interpreter and the code generator name operators by these entries; what
each of them does with types, φ and NaN is in the language reference. All that is
asked of a function or a reduction besides its code is in its row. The functions that
Python has (`frontend/python/functions.py`, `reductions.py`) are written from the rows.
"""

import operator
from collections.abc import Callable
from typing import Any, Literal, get_args

from tiltpy.lean_dataclass import dataclass

ARITHMETIC = ("+", "-", "*", "/", "//", "%")
COMPARISON = ("==", "!=", "<", "<=", ">", ">=")
LOGICAL = ("&&", "||")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The comparisons as functions of two constants."""
BinaryOp = Literal[
    "+", "-", "*", "/", "//", "%",
    "==", "!=", "<", "<=", ">", ">=", "&&", "||",
]  # fmt: skip
UnaryOp = Literal["-", "!"]

PRECEDENCE: dict[str, int] = {
    "?:": 1,
    "||": 2,
    "&&": 3,
    "==": 4, "!=": 4,
    "<": 5, "<=": 5, ">": 5, ">=": 5,
    "+": 6, "-": 6,
    "*": 7, "/": 7, "//": 7, "%": 7,
    "unary": 8,
    "postfix": 9,
}  # fmt: skip
"""Binding strength; binary operators associate to the left, `?:` to the right."""


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A math function of scalars: `result` says how its type follows the arguments'.

    `float`: integers become f64 first, f32 stays; `same`: the arguments' joined type;
    `bool`: float arguments, a bool result.
    """

    name: str
    result: Literal["float", "same", "bool"]
    doc: str
    """The docstring of its Python function."""
    parameters: tuple[str, ...] = ("x",)
    """The names of its arguments in Python."""
    numpy: str = ""
    """NumPy's name of it, where that is another."""
    exact: bool = False
    """Whether all engines agree to the last bit, which no math library promises."""
    times: bool = False
    """Whether it takes times, and gives one."""
    durations: bool = False
    """Whether it takes durations, and gives one."""

    @property
    def arity(self) -> int:
        """The number of its arguments."""
        return len(self.parameters)


_FUNCTION_RULES = (
    FunctionRule("sqrt", "float", "The square root."),
    FunctionRule("exp", "float", "The exponential function."),
    FunctionRule("exp2", "float", "2 to the power of x."),
    FunctionRule("log", "float", "The natural logarithm."),
    FunctionRule("log2", "float", "The logarithm to base 2."),
    FunctionRule("log10", "float", "The logarithm to base 10."),
    FunctionRule("log1p", "float", "log(1 + x), exact for small x."),
    FunctionRule("expm1", "float", "exp(x) - 1, exact for small x."),
    FunctionRule("sin", "float", "The sine."),
    FunctionRule("cos", "float", "The cosine."),
    FunctionRule("tan", "float", "The tangent."),
    FunctionRule("asin", "float", "The arc sine.", numpy="arcsin"),
    FunctionRule("acos", "float", "The arc cosine.", numpy="arccos"),
    FunctionRule("atan", "float", "The arc tangent.", numpy="arctan"),
    FunctionRule("sinh", "float", "The hyperbolic sine."),
    FunctionRule("cosh", "float", "The hyperbolic cosine."),
    FunctionRule("tanh", "float", "The hyperbolic tangent."),
    FunctionRule("floor", "float",
        "The greatest whole number at or below x, as a float.", exact=True),
    FunctionRule("ceil", "float", "The least whole number at or above x, as a float.",
        exact=True),
    FunctionRule("round", "float",
        "The nearest whole number, halves to even, as a float.", numpy="rint",
        exact=True),
    FunctionRule("trunc", "float", "The whole part of x, as a float.", exact=True),
    FunctionRule("cbrt", "float", "The cube root."),
    FunctionRule("pow", "float", "The power of x to y.", parameters=("x", "y"),
        numpy="float_power"),
    FunctionRule("atan2", "float", "The angle of the point (y, x).",
        parameters=("y", "x"), numpy="arctan2"),
    FunctionRule("hypot", "float", "The length of (x, y).", parameters=("x", "y")),
    FunctionRule("fma", "float", "The value of x * y + z, rounded once.",
        parameters=("x", "y", "z"), exact=True),
    FunctionRule("abs", "same", "The magnitude, in the type of x.", exact=True,
        durations=True),
    FunctionRule("sign", "same", "-1, 0 or 1 in the type of x; NaN of NaN.",
        exact=True),
    FunctionRule("min", "same", "The smaller of two values. NaN is let through.",
        parameters=("x", "y"), exact=True, times=True, durations=True),
    FunctionRule("max", "same", "The greater of two values. NaN is let through.",
        parameters=("x", "y"), exact=True, times=True, durations=True),
    FunctionRule("is_nan", "bool", "Test whether x is NaN.", exact=True),
    FunctionRule("is_inf", "bool", "Test whether x is infinite.", exact=True),
    FunctionRule("is_finite", "bool", "Test whether x is neither infinite nor NaN.",
        exact=True),
)  # fmt: skip
FUNCTIONS = {rule.name: rule for rule in _FUNCTION_RULES}
"""`round` rounds halves to even. `abs` of the least integer wraps; `sign` of NaN is
NaN. `min` and `max` let NaN through and order -0 before +0."""


StringTest = Literal["starts_with", "ends_with", "contains", "matches"]
STRING_TESTS: dict[StringTest, str] = {
    "starts_with": "Whether a string starts with another.",
    "ends_with": "Whether a string ends with another.",
    "contains": "Whether a string has another in it.",
    "matches": "Whether a regular expression (RE2) matches anywhere in a string.",
}
"""Questions about a string that a constant one decides: `matches` takes a regular
expression (RE2), which may match anywhere. They are asked once for each string that
there is, and looked up in the loop."""

StringFunction = Literal[
    "lower", "upper", "trim", "substr", "split", "concat", "len", "number",
]  # fmt: skip
"""`number` is what casts of strings do."""
STRING_FUNCTIONS: dict[StringFunction, tuple[str, str]] = {
    "lower": ("s: Value", "The string with each letter in lower case."),
    "upper": ("s: Value", "The string with each letter in upper case."),
    "trim": ("s: Value", "The string without white space at both ends."),
    "substr": ("s: Value, start: Value, length: Value | None = None",
        "The characters from position `start` on, `length` at most; the first is 0."),
    "split": ("s: Value, separator: Value, n: Value",
        "The n-th part between separators, from 0; φ where there is none."),
    "concat": ("first: Value, *others: Value", "The strings, one behind the other."),
    "len": ("s: Value", "The number of characters, as i64."),
}  # fmt: skip
"""Functions of strings, each with the parameters and the docstring of its Python
function. A query may use their names as well. What is constant beside the string is a
literal or a parameter: each is computed once for each string that there is."""


Component = Literal[
    "year", "quarter", "month", "week", "day", "yearday", "weekday",
    "hour", "minute", "second",
]  # fmt: skip
DATE_COMPONENTS: dict[Component, str] = {
    "year": "The year.",
    "quarter": "The quarter of the year, from 1.",
    "month": "The month, from 1.",
    "week": "The week of ISO 8601, from 1: week 1 has the first Thursday of the year.",
    "day": "The day of the month, from 1.",
    "yearday": "The day of the year, from 1.",
    "weekday": "The day of the week: 0 is Monday, 6 is Sunday.",
    "hour": "The hour of the day, from 0.",
    "minute": "The minute of the hour, from 0.",
    "second": "The second of the minute, from 0.",
}
"""Components of the date and the time of day in a zone, as `i64`; each with the
docstring of its Python function. The calendar is the Gregorian one for all of time."""


@dataclass(frozen=True, slots=True)
class ReductionRule:
    """A built-in reduction (section 6.1.2 of the paper).

    `result` says how the result's type follows the element's: `sum`: 64-bit of the
    integer's signedness (bool: i64), floats keep theirs; `keep`: the element's type;
    `float`: f32 for f32, else f64; `f64`; `i64`; `bool`; `top`: a struct of `n` fields
    of the element's type; `modes`: of `n` pairs of that type and a count.
    """

    name: str
    result: Literal["sum", "keep", "float", "f64", "i64", "bool", "top", "modes"]
    doc: str
    """The docstring of its Python function."""
    active_doc: str
    """The docstring of `name_active`, which reduces the events alive at a time."""
    symbol: str = ""
    """The paper's operator for it inside `⊕(...)`."""

    # What it takes

    bools: bool = True
    """Whether bools may be reduced (they count as 0 and 1 in sums and means)."""
    strings: bool = False
    """Whether strings may be reduced; they are in order of their UTF-8 bytes."""
    structs: bool = False
    """Whether structs may be reduced, of which it looks at no field."""
    times: bool = False
    """Whether times may be reduced; the result is a time, but for `i64`."""
    durations: Literal["", "ticks", "rounded", "float"] = ""
    """What it makes of durations: nothing; a duration, as of integers; a duration,
    computed in f64 and rounded to ticks; an f64. Those of `i64` and `top` take them."""
    ddof: bool = False
    """Whether `ddof=` may be given."""
    parameter: Literal["", "q", "n"] = ""
    """The constant that it takes besides the window: a quantile or a number."""

    # How it is computed

    whole: bool = False
    """Whether it looks at a window as a whole: it has no merge."""
    picks_row: bool = False
    """Whether it picks a row by its time, whatever the values are."""
    additive: bool = False
    """Whether it is made of a sum of numbers."""
    moments: int = 0
    """The highest central moment that it is made of, if it is."""
    never_null: bool = True
    """Whether it has a value wherever the window has a snapshot."""
    exact: bool = True
    """Whether it is free of rounding over small multiples of 1/8."""


_REDUCTION_RULES = (
    ReductionRule("sum", "sum",
        "The sum: 64-bit for integers and bools, else in the type of x.",
        "The sum over the events alive at a time.",
        symbol="+", durations="ticks", additive=True),
    ReductionRule("product", "sum",
        "The product: 64-bit for integers, else in the type of x.",
        "The product over the events alive at a time.",
        symbol="*", bools=False),
    ReductionRule("count", "i64",
        "The number of snapshots; 0 where there is none.",
        "The number of events alive at a time; 0 where there is none.",
        strings=True, structs=True, times=True, additive=True),
    ReductionRule("mean", "float",
        "The mean: f32 for f32, else f64.",
        "The mean over the events alive at a time.",
        durations="rounded", additive=True),
    ReductionRule("var", "float",
        "The variance: the population's, or the sample's with `ddof=1`.",
        "The variance over the events alive at a time; of the sample with `ddof=1`.",
        ddof=True, moments=2, never_null=False, exact=False),
    ReductionRule("std", "float",
        "The standard deviation: the population's, or the sample's with `ddof=1`.",
        "The standard deviation over the events alive at a time; see `var_active`.",
        durations="rounded", ddof=True, moments=2, never_null=False, exact=False),
    ReductionRule("min", "keep",
        "The least value of a window, or the smaller of two. NaN is let through.",
        "The least value of the events alive at a time.",
        symbol="<", strings=True, times=True, durations="ticks"),
    ReductionRule("max", "keep",
        "The greatest value of a window, or the greater of two. NaN is let through.",
        "The greatest value of the events alive at a time.",
        symbol=">", strings=True, times=True, durations="ticks"),
    ReductionRule("first", "keep",
        "The value of the first snapshot.",
        "The value of the event alive that started first.",
        strings=True, times=True, durations="ticks", picks_row=True),
    ReductionRule("last", "keep",
        "The value of the last snapshot.",
        "The value of the event alive that started last.",
        strings=True, times=True, durations="ticks", picks_row=True),
    ReductionRule("any", "bool",
        "True if any of the bools is.",
        "True if any of the bools alive at a time is."),
    ReductionRule("all", "bool",
        "True if all of the bools are.",
        "True if all of the bools alive at a time are."),
    ReductionRule("rms", "float",
        "The root of the mean square.",
        "The root of the mean square of the events alive at a time.",
        durations="rounded", additive=True, exact=False),
    ReductionRule("skew", "float",
        "The skewness, biased, as SciPy's default.",
        "The skewness, biased, over the events alive at a time.",
        durations="float", moments=3, exact=False),
    ReductionRule("kurtosis", "float",
        "The excess kurtosis, biased, as SciPy's default.",
        "The excess kurtosis, biased, over the events alive at a time.",
        durations="float", moments=4, exact=False),
    ReductionRule("median", "f64",
        "The middle value in order, or the mean of the two middle ones, as f64.",
        "The middle value of the events alive at a time, as f64.",
        durations="rounded", whole=True),
    ReductionRule("quantile", "f64",
        "The value below which a share `q` of [0, 1] lies, interpolated, as f64.",
        "The value below which a share `q` of the events alive at a time lies, as f64.",
        durations="rounded", parameter="q", whole=True),
    ReductionRule("mode", "keep",
        "The most frequent value, of several the one that came first.",
        "The most frequent value of the events alive at a time.",
        strings=True, times=True, durations="ticks", whole=True),
    ReductionRule("nunique", "i64",
        "The number of different values.",
        "The number of different values of the events alive at a time.",
        strings=True, times=True, whole=True),
    ReductionRule("topk", "top",
        "The `n` greatest values (64 at most) as the fields `top1`, `top2`, ...",
        "The `n` greatest values of the events alive at a time, as `top1`, `top2`, ...",
        strings=True, times=True, parameter="n", whole=True),
    ReductionRule("modes", "modes",
        "The `n` most frequent values (64 at most) as `mode1`, `count1`, `mode2`, ...",
        "The `n` most frequent values of the events alive at a time, and their counts.",
        strings=True, times=True, parameter="n", whole=True),
)  # fmt: skip
REDUCTIONS = {rule.name: rule for rule in _REDUCTION_RULES}
"""All but the `whole` ones have a merge. `any` and `all` take bools only. `count`
takes any payload and is 0 over no snapshot, where every other reduction is φ."""

WHOLE_WINDOW = frozenset(rule.name for rule in _REDUCTION_RULES if rule.whole)
"""The holistic aggregates, whose state has no bounded size."""

QuantileMethod = Literal["linear", "lower", "higher", "nearest", "midpoint"]
QUANTILE_METHODS: tuple[QuantileMethod, ...] = get_args(QuantileMethod)
"""What a quantile between two values is, as NumPy calls it; `linear` if none is named.
Of values that are equally near the one at an even position is the nearest."""

MOST_TOP = 64
"""The greatest `n` of `topk` and `modes`: how many values they give, at most."""

REDUCTION_SYMBOLS = {rule.symbol: rule.name for rule in _REDUCTION_RULES if rule.symbol}
"""The paper's operator spellings inside `⊕(...)`."""


@dataclass(frozen=True, slots=True)
class PairRule:
    """A reduction of two expressions of elements, of those where neither is φ.

    Those that `pick` return the first expression of an element that the second chooses;
    the others are fields of the library's reduction `pairs`, of numbers as f64.
    """

    name: str
    parameters: tuple[str, str]
    doc: str
    pick: bool = False


PAIRS = {
    rule.name: rule
    for rule in (
        PairRule("cov", ("y", "x"),
            "The covariance of two expressions, the population's."),
        PairRule("corr", ("y", "x"),
            "Pearson's correlation of two expressions; φ where one does not vary."),
        PairRule("slope", ("y", "x"),
            "The slope of y over x by least squares; φ where x does not vary."),
        PairRule("intercept", ("y", "x"),
            "The value at x = 0 of the line of y over x by least squares."),
        PairRule("argmax", ("x", "key"),
            "The value where the key is greatest, of several the earliest.", pick=True),
        PairRule("argmin", ("x", "key"),
            "The value where the key is least, of several the earliest.", pick=True),
    )
}  # fmt: skip
"""Reductions of pairs. Functions and reductions of a query may have their names."""
CONVOLVE = "convolve"
"""The weighted sum of a window's samples; a query may use this name as well."""
