"""Targets of calls: reductions, casts and functions, and whether arguments fit."""

from enum import Enum, auto

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.hints.calls import (
    hint_callee,
    hint_count,
    hint_each_window,
    is_window,
)
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.hints.other_languages import FUNCTIONS_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import nearest, split_active
from tiltpy.ir.nodes import Const, Expr
from tiltpy.ir.print.literals import literal
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import quantity
from tiltpy.ops import (
    CONVOLVE,
    DATE_COMPONENTS,
    FUNCTIONS,
    MOST_TOP,
    PAIRS,
    QUANTILE_METHODS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    STRING_TESTS,
    Component,
    QuantileMethod,
    StringFunction,
    StringTest,
)
from tiltpy.types import NAMED

_OTHERS = ("exists", "start", "end", "TDom")


class Callee(Enum):
    """The kinds of callees."""

    REDUCTION = auto()
    PAIR = auto()
    CONVOLUTION = auto()
    EVENT_BOUND = auto()
    EXISTS = auto()
    CAST = auto()
    FUNCTION = auto()
    STRING_TEST = auto()
    STRING_FUNCTION = auto()
    DATE_COMPONENT = auto()


def is_built_in(name: str) -> bool:
    """Tell whether the language has a callee of that name that nothing may hide."""
    known = name in FUNCTIONS or name in NAMED or name in _OTHERS
    known = known or name in STRING_TESTS
    return known or split_active(name)[0] in REDUCTIONS


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
    if name in PAIRS:
        _check_pair(call)
        return Callee.PAIR
    if name == CONVOLVE:
        _reject_named(call)
        return Callee.CONVOLUTION
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
    if name in STRING_FUNCTIONS:
        _check_string_function(call)
        _reject_named(call)
        return Callee.STRING_FUNCTION
    if name in DATE_COMPONENTS:
        if len(call.arguments) != 2:
            _check_count(call, 1, "a time, and optionally a time zone")
        _reject_named(call)
        return Callee.DATE_COMPONENT
    raise _unknown_callee(call, functions)


def find_string_test(call: syntax.CallExpression) -> StringTest:
    """Find the test of strings that a call names."""
    return next(test for test in STRING_TESTS if test == call.callee.text)


def find_string_function(call: syntax.CallExpression) -> StringFunction:
    """Find the function of strings that a call names."""
    return next(name for name in STRING_FUNCTIONS if name == call.callee.text)


def find_component(call: syntax.CallExpression) -> Component:
    """Find the component of a date that a call names."""
    return next(
        component for component in DATE_COMPONENTS if component == call.callee.text
    )


@dataclass(frozen=True, slots=True)
class ExtraArguments:
    """Arguments of a built-in reduction besides its window.

    `parameter` is `q` or `n`, with its name or without; None if it has none.
    """

    ddof: int = 0
    parameter: syntax.Expr | None = None
    method: QuantileMethod = "linear"


def read_extra_arguments(call: syntax.CallExpression) -> ExtraArguments:
    """Read what a built-in reduction takes besides a window."""
    name, active = split_active(call.callee.text)
    rule = REDUCTIONS[name]
    ddof, method = 0, QUANTILE_METHODS[0]
    parameters = list(call.arguments[1:])
    if rule.parameter == "q" and len(parameters) == 2:
        method = _read_method(parameters.pop())
    for binding in call.named:
        if rule.ddof and binding.name.text == "ddof":
            ddof = _read_ddof(binding.value)
        elif rule.parameter == "q" and binding.name.text == "method":
            method = _read_method(binding.value)
        elif binding.name.text == rule.parameter:
            parameters.append(binding.value)
        else:
            raise _unknown_argument(call, binding.name)
    if len(parameters) == bool(rule.parameter):
        return ExtraArguments(ddof, parameters[0] if parameters else None, method)
    reference = "~x[t]" if active else "~x[t - 10 : t]"
    value = "0.9" if rule.parameter == "q" else "3"
    example = f"{call.callee.text}({reference}, {value})"
    fault = "no" if not parameters else "more than one"
    message = f"{call.callee.text} is given {fault} `{rule.parameter}`"
    raise QueryError("E0206", message, call.span, f"write {example}")


def _read_method(value: syntax.Expr) -> QuantileMethod:
    names = ", ".join(QUANTILE_METHODS)
    for method in QUANTILE_METHODS:
        if isinstance(value, syntax.Text) and value.value == method:
            return method
    if isinstance(value, syntax.Text):
        hint = nearest(value.value, QUANTILE_METHODS)
        message = f'there is no quantile method "{value.value}", but {names}'
        raise QueryError("E0206", message, value.span, hint)
    message = f"the method of a quantile is the name of one: {names}"
    raise QueryError("E0206", message, value.span, 'like method = "lower"')


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
        counted = "fields" if reduction == "topk" else "values"
        hint = f"it is the number of {counted} of the result"
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
    most = 3 if parameter == "q" else 2
    if parameter and 2 <= len(call.arguments) <= most:
        first, second = call.arguments[:2]
        if isinstance(first, syntax.Number) and isinstance(second, syntax.Ref):
            message = f"the window of {call.callee.text} comes first"
            window, share = quote(second, "~x[t - 10 : t]"), quote(first, "0.9")
            hint = f"write {call.callee.text}({window}, {share})"
            raise QueryError("E0206", message, call.span, hint)
        return
    wanted = "one reference of an input" if active else "one window"
    wanted += " or two values" if call.callee.text in FUNCTIONS else ""
    _check_count(call, 1, f"{wanted} and `{parameter}`" if parameter else wanted)


def check_values(call: syntax.CallExpression) -> None:
    """Check that a function that is a reduction too has two values, no windows."""
    name = call.callee.text
    if name in REDUCTIONS and any(map(is_window, call.arguments)):
        message = f"{name} takes one window, or two values"
        raise QueryError("E0106", message, call.span, hint_each_window(call))


def _check_pair(call: syntax.CallExpression) -> None:
    """Check that a reduction of pairs has two expressions."""
    name = call.callee.text
    first, second = PAIRS[name].parameters
    example = (
        f"{name}({first}, {second} for {{a: {first}, b: {second}}} in ~x[t - 10 : t])"
    )
    if len(call.arguments) != 2:
        message = (
            f"{name} takes two expressions of one window, `{first}` and `{second}`"
        )
        given = f", not {len(call.arguments)}"
        raise QueryError("E0206", message + given, call.span, f"like {example}")
    if isinstance(call.arguments[0], syntax.Comprehension):
        message = f"both expressions of {name} stand before `for`"
        raise QueryError("E0206", message, call.arguments[0].span, f"like {example}")
    _reject_named(call)


def _check_single(call: syntax.CallExpression, callee: Callee) -> Callee:
    _check_count(call, 1, "one argument")
    _reject_named(call)
    return callee


def _check_count(call: syntax.CallExpression, count: int, wanted: str) -> None:
    arguments = len(call.arguments)
    if arguments != count:
        name = call.callee.text
        given = quantity(arguments, "argument")
        given = f"{arguments}" if "argument" in wanted else given
        message = f"{name} takes {wanted}, not {given}"
        raise QueryError("E0206", message, call.span, hint_count(call))


def _check_string_function(call: syntax.CallExpression) -> None:
    """Check that a function of strings has as many arguments as it takes."""
    name, given = call.callee.text, len(call.arguments)
    match name:
        case "concat":
            if given < 2:
                _check_count(call, 2, "two strings or more")
        case "split":
            _check_count(call, 3, "a string, a separator and the number of a part")
        case "substr":
            if given != 2:
                _check_count(call, 3, "a string, a position, and perhaps a length")
        case _:
            _check_count(call, 1, "one string")


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
    known = [*FUNCTIONS, *STRING_TESTS, *STRING_FUNCTIONS, *DATE_COMPONENTS]
    known += [*REDUCTIONS, *PAIRS, CONVOLVE, *NAMED, *_OTHERS]
    known += functions.known_names()
    hint = hint_callee(call, known) or f"define it, like def {name}(~x) = ..."
    return QueryError("E0207", f"unknown function `{name}`", span, hint)
