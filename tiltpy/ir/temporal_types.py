"""Types of operators on times and durations: which go together, and to what.

Both frontends, the verifier and the pass that turns ticks into `i64` read it here. `/`
of a duration by a number and `*` by a float go through `f64` and round to the nearest
tick, halves to even; what is not finite is φ, and so is `//` and `%` by zero. All else
is arithmetic of 64-bit integers, which wraps.
"""

from dataclasses import replace

from tiltpy.ir.nodes import EventBound, Expr, Time
from tiltpy.ops import COMPARISON, FunctionRule, ReductionRule
from tiltpy.types import BOOL, DURATION, F64, I64, TIME, Scalar, Type

RESULTS: dict[tuple[str, Scalar, Scalar], Scalar] = {
    ("-", TIME, TIME): DURATION,
    ("+", TIME, DURATION): TIME,
    ("-", TIME, DURATION): TIME,
    ("+", DURATION, TIME): TIME,
    ("+", DURATION, DURATION): DURATION,
    ("-", DURATION, DURATION): DURATION,
    ("*", DURATION, I64): DURATION,
    ("*", DURATION, F64): DURATION,
    ("*", I64, DURATION): DURATION,
    ("*", F64, DURATION): DURATION,
    ("/", DURATION, F64): DURATION,
    ("/", DURATION, DURATION): F64,
    ("//", DURATION, I64): DURATION,
    ("//", DURATION, DURATION): I64,
    ("%", DURATION, DURATION): DURATION,
}
"""The result of `left op right`; comparisons are those of one type."""


def is_temporal(type: Type) -> bool:
    """Tell whether a type is `time` or `duration`."""
    return isinstance(type, Scalar) and type.is_temporal


def temporal_result(op: str, left: Type, right: Type) -> Scalar | None:
    """Find the type of `left op right` where one is a time or a duration, if any.

    Both types are final: numbers beside a duration are `i64` or `f64`.
    """
    if not isinstance(left, Scalar) or not isinstance(right, Scalar):
        return None
    if op in COMPARISON:
        return BOOL if left == right else None
    return RESULTS.get((op, left, right))


def function_takes(rule: FunctionRule, argument: Type) -> bool:
    """Tell whether a math function takes a time, or a duration, as it is."""
    return (argument == TIME and rule.times) or (
        argument == DURATION and rule.durations
    )


def reduction_result(rule: ReductionRule, element: Type) -> Scalar | None:
    """Find the type of a reduction over times or durations, if it has one.

    Those that count, `topk` and `modes` are not asked: they take any scalar.
    """
    if element == TIME:
        return TIME if rule.times else None
    match rule.durations:
        case "":
            return None
        case "float":
            return F64
        case "ticks" | "rounded":
            return DURATION


def castable(source: Scalar, target: Scalar) -> bool:
    """Tell whether a type that is or becomes ticks can be cast."""
    return source == target or source.is_number or target.is_number


def as_time(expr: Expr) -> Expr:
    """Type `t`, `start(...)` and `end(...)` as `time`; return others as they are."""
    if isinstance(expr, Time | EventBound):
        return replace(expr, type=TIME)
    return expr


def beside_times(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Type `t` or an event's bound as `time` where the other operand is one."""
    if right.type == TIME:
        left = as_time(left)
    return left, as_time(right) if left.type == TIME else right
