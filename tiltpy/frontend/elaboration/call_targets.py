"""What a call calls: a reduction, a cast, a function, and whether its arguments fit."""

from enum import Enum, auto

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.hints.calls import count_of, instead_of
from tiltpy.frontend.hints.general import written
from tiltpy.frontend.hints.other_languages import FUNCTIONS_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.fresh_names import nearest
from tiltpy.ir.nodes import Const, Expr
from tiltpy.ir.print.expressions import literal
from tiltpy.ops import FUNCTIONS, MOST_TOP, REDUCTIONS, STRING_TESTS, StringTest
from tiltpy.types import NAMED

_OTHERS = ("exists", "start", "end", "TDom")


class Callee(Enum):
    """The kinds of things that can be called."""

    REDUCTION = auto()
    EVENT_BOUND = auto()
    EXISTS = auto()
    CAST = auto()
    FUNCTION = auto()
    STRING_TEST = auto()


_ACTIVE = "_active"


def is_built_in(name: str) -> bool:
    """Whether the language itself knows a callee of that name."""
    known = name in FUNCTIONS or name in NAMED or name in _OTHERS
    known = known or name in STRING_TESTS
    return known or reduction_named(name)[0] in REDUCTIONS


def reduction_named(name: str) -> tuple[str, bool]:
    """The reduction that a callee may be, and whether of the events alive at a time."""
    bare = name.removesuffix(_ACTIVE)
    return bare, bare != name


def find_callee(call: syntax.Call, functions: Functions) -> Callee:
    """What a call calls; its plain arguments are as many as that takes."""
    name = call.callee.text
    if name in functions.reductions:
        _check_count(call, 1, "one window")
        _reject_named(call)
        return Callee.REDUCTION
    if call.reduce:
        _check_reduction(call, functions)
        return Callee.REDUCTION
    reduction, _ = reduction_named(name)
    twofold = name in FUNCTIONS and len(call.arguments) == 2
    if reduction in REDUCTIONS and not twofold:
        _check_window(call)
        return Callee.REDUCTION
    if name in ("start", "end"):
        return _simple(call, Callee.EVENT_BOUND)
    if name == "exists":
        return _simple(call, Callee.EXISTS)
    if name in NAMED:
        return _simple(call, Callee.CAST)
    if name in FUNCTIONS:
        arity = FUNCTIONS[name].arity
        _check_count(call, arity, f"{arity} argument{'s' if arity > 1 else ''}")
        _reject_named(call)
        return Callee.FUNCTION
    if name in STRING_TESTS:
        _check_count(call, 2, "a string and what it looks for")
        _reject_named(call)
        return Callee.STRING_TEST
    raise _unknown(call, functions)


def string_test(call: syntax.Call) -> StringTest:
    """What a call asks about a string."""
    return next(test for test in STRING_TESTS if test == call.callee.text)


def more_arguments(call: syntax.Call) -> tuple[int, syntax.Expr | None]:
    """What stands in a built-in one's call besides the window: `ddof`, its parameter.

    The parameter is `q` or `n`, with its name or without.
    """
    name, active = reduction_named(call.callee.text)
    rule = REDUCTIONS[name]
    ddof = 0
    given = list(call.arguments[1:])
    for binding in call.named:
        if rule.ddof and binding.name.text == "ddof":
            ddof = _ddof(binding.value)
        elif binding.name.text == rule.parameter:
            given.append(binding.value)
        else:
            raise _no_argument(call, binding.name)
    if len(given) == bool(rule.parameter):
        return ddof, given[0] if given else None
    reference = "~x[t]" if active else "~x[t - 10 : t]"
    value = "0.9" if rule.parameter == "q" else "3"
    example = f"{call.callee.text}({reference}, {value})"
    fault = "no" if not given else "more than one"
    message = f"{call.callee.text} is given {fault} `{rule.parameter}`"
    raise QueryError("E0206", message, call.span, f"write {example}")


def _ddof(value: syntax.Expr) -> int:
    match value:
        case syntax.Number(value=0 | 1 as number):
            return int(number)
        case _:
            way = "0 divides by n, 1 by n - 1"
            raise QueryError("E0206", "ddof is 0 or 1", value.span, way)


def reduction_parameter(reduction: str, given: Expr) -> float | int:
    """The value of a reduction's parameter; it is a constant within bounds."""
    wanted = REDUCTIONS[reduction].parameter
    if not isinstance(given, Const):
        way = f"`{wanted}` is a literal or a parameter"
        raise QueryError("E0116", "a constant was expected", given.span, way)
    value = None if isinstance(given.value, bool | str) else given.value
    if wanted == "q":
        if value is not None and 0 <= value <= 1:
            return float(value) + 0.0
        fault, way = "in [0, 1]", "the 90th percentile is quantile(..., 0.9)"
    else:
        if isinstance(value, int) and 1 <= value <= MOST_TOP:
            return value
        fault = f"a whole number from 1 to {MOST_TOP}"
        way = "it is the number of fields of the result"
    found = literal(given)
    raise QueryError("E0206", f"`{wanted}` is {fault}, not {found}", given.span, way)


def _check_reduction(call: syntax.Call, functions: Functions) -> None:
    name = call.callee.text
    if name not in REDUCTIONS:
        way = FUNCTIONS_ELSEWHERE.get(name.lower())
        if name in FUNCTIONS or name in functions.known():
            way = f"it is a function: write {name}(...)"
        raise QueryError(
            "E0207",
            f"unknown reduction `{name}`",
            call.callee.span,
            way or nearest(name, [*REDUCTIONS, *functions.reductions]),
        )
    _check_window(call)


def _check_window(call: syntax.Call) -> None:
    """One window, and besides it a parameter if the reduction has one."""
    name, active = reduction_named(call.callee.text)
    parameter = REDUCTIONS[name].parameter
    if parameter and len(call.arguments) == 2:
        first, second = call.arguments
        if isinstance(first, syntax.Number) and isinstance(second, syntax.Ref):
            message = f"the window of {call.callee.text} stands first"
            way = f"write {call.callee.text}({written(second)}, {written(first)})"
            raise QueryError("E0206", message, call.span, way)
        return
    wanted = "one reference of an input" if active else "one window"
    wanted += " or two values" if call.callee.text in FUNCTIONS else ""
    _check_count(call, 1, f"{wanted} and `{parameter}`" if parameter else wanted)


def _simple(call: syntax.Call, callee: Callee) -> Callee:
    _check_count(call, 1, "one argument")
    _reject_named(call)
    return callee


def _check_count(call: syntax.Call, count: int, wanted: str) -> None:
    found = len(call.arguments)
    if found != count:
        name = call.callee.text
        message = f"{name} takes {wanted}, not {found}"
        raise QueryError("E0206", message, call.span, count_of(call))


def _reject_named(call: syntax.Call) -> None:
    if call.named:
        raise _no_argument(call, call.named[0].name)


def _no_argument(call: syntax.Call, word: syntax.Word) -> QueryError:
    message = f"{call.callee.text} takes no argument `{word.text}`"
    takes = call.callee.text in REDUCTIONS and word.text in ("where", "filter")
    way = "write for v in ~x[t - 10 : t] if ..." if takes else "leave it out"
    reduction = REDUCTIONS.get(reduction_named(call.callee.text)[0])
    if reduction is not None and reduction.parameter:
        way = f"write {reduction.parameter} = ..."
    return QueryError("E0206", message, word.span, f"{way}; a comparison is written ==")


def _unknown(call: syntax.Call, functions: Functions) -> QueryError:
    name, span = call.callee.text, call.callee.span
    if name == "TDom":
        return QueryError(
            "E0206",
            "a time domain is no value",
            span,
            "name it before the definitions, like t = TDom(-∞, ∞, 1)",
        )
    known = [*FUNCTIONS, *STRING_TESTS, *REDUCTIONS, *NAMED, *_OTHERS]
    known += functions.known()
    way = instead_of(call, known) or f"define it, like def {name}(~x) = ..."
    return QueryError("E0207", f"unknown function `{name}`", span, way)
