"""Operators, math functions and reductions: one table each.

Both IRs, the interpreter and the code generator name operators by these entries; what
each of them does with types, φ and NaN is written in `grammar/README.md`.
"""

from dataclasses import dataclass
from typing import Literal

ARITHMETIC = ("+", "-", "*", "/", "//", "%")
COMPARISON = ("==", "!=", "<", "<=", ">", ">=")
LOGICAL = ("&&", "||")
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
class Function:
    """A math function of scalars: `result` says how its type follows the arguments'.

    `float`: integers become f64 first, f32 stays; `same`: the arguments' joined type;
    `bool`: float arguments, a bool result.
    """

    name: str
    arity: int
    result: Literal["float", "same", "bool"]


FUNCTIONS = {
    f.name: f
    for f in (
        *(
            Function(name, 1, "float")
            for name in (
                "sqrt", "exp", "exp2", "log", "log2", "log10", "log1p", "expm1",
                "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
                "floor", "ceil", "round", "trunc", "cbrt",
            )
        ),
        Function("pow", 2, "float"),
        Function("atan2", 2, "float"),
        Function("hypot", 2, "float"),
        Function("abs", 1, "same"),
        Function("sign", 1, "same"),
        Function("min", 2, "same"),
        Function("max", 2, "same"),
        Function("is_nan", 1, "bool"),
        Function("is_inf", 1, "bool"),
        Function("is_finite", 1, "bool"),
    )
}  # fmt: skip
"""`round` rounds halves to even. `abs` of the least integer wraps; `sign` of NaN is
NaN. `min` and `max` let NaN through and order -0 before +0."""


StringTest = Literal["starts_with", "ends_with", "contains", "matches"]
STRING_TESTS: tuple[StringTest, ...] = (
    "starts_with", "ends_with", "contains", "matches",
)  # fmt: skip
"""Questions about a string that a constant one decides: `matches` takes a regular
expression (RE2), which may match anywhere. They are asked once for each string that
there is, and looked up in the loop."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A built-in reduction (section 6.1.2 of the paper).

    `result` says how the result's type follows the element's: `sum`: 64-bit of the
    integer's signedness (bool: i64), floats keep theirs; `keep`: the element's type;
    `float`: f32 for f32, else f64; `f64`; `i64`; `bool`; `top`: a struct of `n` fields
    of the element's type.
    """

    name: str
    result: Literal["sum", "keep", "float", "f64", "i64", "bool", "top"]
    bools: bool = True
    """Whether bools may be reduced (they count as 0 and 1 in sums and means)."""
    strings: bool = False
    """Whether strings may be reduced; they are in order of their UTF-8 bytes."""
    ddof: bool = False
    """Whether `ddof=` may be given."""
    parameter: Literal["", "q", "n"] = ""
    """The constant that it takes besides the window: a quantile or a number."""
    whole: bool = False
    """Whether it looks at a window as a whole: it has no merge."""


REDUCTIONS = {
    r.name: r
    for r in (
        Reduction("sum", "sum"),
        Reduction("product", "sum", bools=False),
        Reduction("count", "i64", strings=True),
        Reduction("mean", "float"),
        Reduction("var", "float", ddof=True),
        Reduction("std", "float", ddof=True),
        Reduction("min", "keep", strings=True),
        Reduction("max", "keep", strings=True),
        Reduction("first", "keep", strings=True),
        Reduction("last", "keep", strings=True),
        Reduction("any", "bool"),
        Reduction("all", "bool"),
        Reduction("rms", "float"),
        Reduction("skew", "float"),
        Reduction("kurtosis", "float"),
        Reduction("median", "f64", whole=True),
        Reduction("quantile", "f64", parameter="q", whole=True),
        Reduction("mode", "keep", strings=True, whole=True),
        Reduction("nunique", "i64", strings=True, whole=True),
        Reduction("topk", "top", strings=True, parameter="n", whole=True),
    )
}
"""All but the `whole` ones have a merge. `any` and `all` take bools only. `count`
takes any payload and is 0 over no snapshot, where every other reduction is φ."""

WHOLE_WINDOW = frozenset(r.name for r in REDUCTIONS.values() if r.whole)
"""Those that look at a window as a whole."""

MOST_TOP = 64
"""The greatest `n` of `topk`: how many fields its result has, at most."""

REDUCTION_SYMBOLS = {"+": "sum", "*": "product", "<": "min", ">": "max"}
"""The paper's operator spellings inside `⊕(...)`."""
