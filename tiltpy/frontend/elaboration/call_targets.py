"""Targets of calls: reductions, casts and functions, and whether arguments fit."""

from enum import Enum, auto

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.hints.calls import hint_callee, hint_count
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.hints.other_languages import FUNCTIONS_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import nearest
from tiltpy.ir.nodes import Const, Expr
from tiltpy.ir.print.literals import literal
from tiltpy.ops import FUNCTIONS, MOST_TOP, REDUCTIONS, STRING_TESTS, StringTest
from tiltpy.types import NAMED

_OTHERS = ("exists", "start", "end", "TDom")


class Callee(Enum):
    """The kinds of callees."""

    REDUCTION = auto()
    EVENT_BOUND = auto()
    EXISTS = auto()
    CAST = auto()
    FUNCTION = auto()
    STRING_TEST = auto()


_ACTIVE = "_active"


def is_built_in(name: str) -> bool:
    """Tell whether the language has a callee of that name."""
    known = name in FUNCTIONS or name in NAMED or name in _OTHERS
    known = known or name in STRING_TESTS
    return known or split_active(name)[0] in REDUCTIONS


def split_active(name: str) -> tuple[str, bool]:
    """Split a reduction's name from `_active`; returns whether it has that suffix."""
    bare = name.removesuffix(_ACTIVE)
    return bare, bare != name


def find_callee(call: syntax.CallExpression, functions: Functions) -> Callee:
    """Find what a call calls, and check the number of its arguments."""
    name = call.callee.text
    if name in functions.reductions:
        _check_count(call, 1, "one window")
        _reject_named(call)
        return Callee.REDUCTION
    if call.reduce:
        _check_reduction(call, functions)
        return Callee.REDUCTION
    reduction, _ = split_active(name)
    twofold = name in FUNCTIONS and len(call.arguments) == 2
    if reduction in REDUCTIONS and not twofold:
        _check_window(call)
        return Callee.REDUCTION
    if name in ("start", "end"):
        return _check_single(call, Callee.EVENT_BOUND)
    if name == "exists":
        return _check_single(call, Callee.EXISTS)
    if name in NAMED:
        return _check_single(call, Callee.CAST)
    if name in FUNCTIONS:
        arity = FUNCTIONS[name].arity
        _check_count(call, arity, f"{arity} argument{'s' if arity > 1 else ''}")
        _reject_named(call)
        return Callee.FUNCTION
    if name in STRING_TESTS:
        _check_count(call, 2, "a string and what it looks for")
        _reject_named(call)
        return Callee.STRING_TEST
    raise _unknown_callee(call, functions)


def find_string_test(call: syntax.CallExpression) -> StringTest:
    """Find the test of strings that a call names."""
    return next(test for test in STRING_TESTS if test == call.callee.text)


def read_extra_arguments(call: syntax.CallExpression) -> tuple[int, syntax.Expr | None]:
    """Read what a built-in reduction takes besides a window: `ddof`, its parameter.

    The parameter is `q` or `n`, with its name or without; None if it has none.
    """
    name, active = split_active(call.callee.text)
    rule = REDUCTIONS[name]
    ddof = 0
    parameters = list(call.arguments[1:])
    for binding in call.named:
        if rule.ddof and binding.name.text == "ddof":
            ddof = _read_ddof(binding.value)
        elif binding.name.text == rule.parameter:
            parameters.append(binding.value)
        else:
            raise _unknown_argument(call, binding.name)
    if len(parameters) == bool(rule.parameter):
        return ddof, parameters[0] if parameters else None
    reference = "~x[t]" if active else "~x[t - 10 : t]"
    value = "0.9" if rule.parameter == "q" else "3"
    example = f"{call.callee.text}({reference}, {value})"
    fault = "no" if not parameters else "more than one"
    message = f"{call.callee.text} is given {fault} `{rule.parameter}`"
    raise QueryError("E0206", message, call.span, f"write {example}")


def _read_ddof(value: syntax.Expr) -> int:
    match value:
        case syntax.Number(value=0 | 1 as number):
            return int(number)
        case _:
            hint = "0 divides by n, 1 by n - 1"
            raise QueryError("E0206", "ddof is 0 or 1", value.span, hint)


def read_parameter(reduction: str, expr: Expr) -> float | int:
    """Read the value of a reduction's parameter, a constant within bounds."""
    wanted = REDUCTIONS[reduction].parameter
    if not isinstance(expr, Const):
        hint = f"`{wanted}` is a literal or a parameter"
        raise QueryError("E0116", "a constant was expected", expr.span, hint)
    value = None if isinstance(expr.value, bool | str) else expr.value
    if wanted == "q":
        if value is not None and 0 <= value <= 1:
            return float(value) + 0.0
        fault, hint = "in [0, 1]", "the 90th percentile is quantile(..., 0.9)"
    else:
        if isinstance(value, int) and 1 <= value <= MOST_TOP:
            return value
        fault = f"a whole number from 1 to {MOST_TOP}"
        hint = "it is the number of fields of the result"
    message = f"`{wanted}` is {fault}, not {literal(expr)}"
    raise QueryError("E0206", message, expr.span, hint)


def _check_reduction(call: syntax.CallExpression, functions: Functions) -> None:
    name = call.callee.text
    if name not in REDUCTIONS:
        hint = FUNCTIONS_ELSEWHERE.get(name.lower())
        if name in FUNCTIONS or name in functions.known_names():
            hint = f"it is a function: write {name}(...)"
        raise QueryError(
            "E0207",
            f"unknown reduction `{name}`",
            call.callee.span,
            hint or nearest(name, [*REDUCTIONS, *functions.reductions]),
        )
    _check_window(call)


def _check_window(call: syntax.CallExpression) -> None:
    """Check that a reduction has one window, and its parameter if it takes one."""
    name, active = split_active(call.callee.text)
    parameter = REDUCTIONS[name].parameter
    if parameter and len(call.arguments) == 2:
        first, second = call.arguments
        if isinstance(first, syntax.Number) and isinstance(second, syntax.Ref):
            message = f"the window of {call.callee.text} stands first"
            hint = f"write {call.callee.text}({quote(second)}, {quote(first)})"
            raise QueryError("E0206", message, call.span, hint)
        return
    wanted = "one reference of an input" if active else "one window"
    wanted += " or two values" if call.callee.text in FUNCTIONS else ""
    _check_count(call, 1, f"{wanted} and `{parameter}`" if parameter else wanted)


def _check_single(call: syntax.CallExpression, callee: Callee) -> Callee:
    _check_count(call, 1, "one argument")
    _reject_named(call)
    return callee


def _check_count(call: syntax.CallExpression, count: int, wanted: str) -> None:
    arguments = len(call.arguments)
    if arguments != count:
        name = call.callee.text
        message = f"{name} takes {wanted}, not {arguments}"
        raise QueryError("E0206", message, call.span, hint_count(call))


def _reject_named(call: syntax.CallExpression) -> None:
    if call.named:
        raise _unknown_argument(call, call.named[0].name)


def _unknown_argument(call: syntax.CallExpression, word: syntax.Word) -> QueryError:
    message = f"{call.callee.text} takes no argument `{word.text}`"
    takes = call.callee.text in REDUCTIONS and word.text in ("where", "filter")
    hint = "write for v in ~x[t - 10 : t] if ..." if takes else "leave it out"
    reduction = REDUCTIONS.get(split_active(call.callee.text)[0])
    if reduction is not None and reduction.parameter:
        hint = f"write {reduction.parameter} = ..."
    return QueryError(
        "E0206", message, word.span, f"{hint}; a comparison is written =="
    )


def _unknown_callee(call: syntax.CallExpression, functions: Functions) -> QueryError:
    name, span = call.callee.text, call.callee.span
    if name == "Rows":
        return QueryError(
            "E0206",
            "a row domain is no value",
            span,
            "name it before the definitions, like e = Rows(~x)",
        )
    if name == "TDom":
        return QueryError(
            "E0206",
            "a time domain is no value",
            span,
            "name it before the definitions, like t = TDom(-∞, ∞, 1)",
        )
    known = [*FUNCTIONS, *STRING_TESTS, *REDUCTIONS, *NAMED, *_OTHERS]
    known += functions.known_names()
    hint = hint_callee(call, known) or f"define it, like def {name}(~x) = ..."
    return QueryError("E0207", f"unknown function `{name}`", span, hint)
