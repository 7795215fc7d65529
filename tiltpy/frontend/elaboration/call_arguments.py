"""Calls of functions that are written in the language: what each parameter is given."""

from collections.abc import Iterator

from tiltpy.errors import QueryError, each_error
from tiltpy.frontend.elaboration.call_targets import is_built_in
from tiltpy.frontend.elaboration.library import Functions, library_source
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import Times
from tiltpy.frontend.hints.calls import hint_length_after
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.surface import syntax
from tiltpy.messages import quantity
from tiltpy.source import Span
from tiltpy.types import Unit


def match_arguments(
    function: syntax.FunctionDefinition, call: syntax.CallExpression
) -> Iterator[tuple[syntax.Parameter, syntax.Expr | None]]:
    """Pair each parameter with its argument, or with None where it has a default."""
    plain = list(call.arguments)
    named = {binding.name.text: binding for binding in call.named}
    known = [parameter.name.text for parameter in function.parameters]
    for name, binding in named.items():
        if name not in known:
            raise QueryError(
                "E0206",
                f"{call.callee.text} has no parameter `{name}`",
                binding.name.span,
                _hint_weight(binding) if "alpha" in known else _signature(function),
            )
        if name in known[: len(plain)]:
            message = f"`{name}` is given twice"
            raise QueryError("E0206", message, binding.name.span, _signature(function))
    if len(plain) > len(known):
        required = _count_required(function)
        bound = "" if required == len(known) else "at most "
        raise _wrong_count(function, call, bound + quantity(len(known), "argument"))
    missing = [
        parameter.name.text
        for parameter in function.parameters[len(plain) :]
        if parameter.default is None and parameter.name.text not in named
    ]
    if missing:
        least = _count_required(function)
        bound = "" if least == len(known) else "at least "
        raise _wrong_count(function, call, bound + quantity(least, "argument"))
    for position, parameter in enumerate(function.parameters):
        if position < len(plain):
            yield parameter, plain[position]
        else:
            argument = named.get(parameter.name.text)
            yield parameter, None if argument is None else argument.value


def _hint_weight(binding: syntax.NamedValue) -> str:
    """Hint at the weight that stands for a span of rows, or at what it is."""
    if binding.name.text in ("span", "n", "period", "length"):
        return f"write alpha = 2.0 / ({quote(binding.value)} + 1)"
    return "write alpha = ..., the weight of each new row"


def check_weight(
    function: syntax.FunctionDefinition, name: str, argument: syntax.Expr
) -> None:
    """Check that a literal weight of the library's averages is one."""
    is_weight = name == "alpha" and in_library(function)
    if not is_weight or not isinstance(argument, syntax.Number):
        return
    if not 0 < argument.value <= 1:
        raise QueryError(
            "E0206",
            f"`alpha` is a weight above 0 and at most 1, not {quote(argument)}",
            argument.span,
            f"that of a span of rows is 2.0 / ({quote(argument)} + 1)"
            if argument.value > 1
            else "it is the weight of each new row",
        )


def _count_required(function: syntax.FunctionDefinition) -> int:
    """Count the parameters without a default."""
    return sum(parameter.default is None for parameter in function.parameters)


def _wrong_count(
    function: syntax.FunctionDefinition, call: syntax.CallExpression, wanted: str
) -> QueryError:
    count = len(call.arguments) + len(call.named)
    message = f"{call.callee.text} takes {wanted}, not {count}"
    hint = hint_length_after(call) if function.parameters[0].object else ""
    return QueryError("E0206", message, call.span, hint or _signature(function))


def _signature(function: syntax.FunctionDefinition) -> str:
    """Write a function's name and parameters as its definition does."""
    parameters = [
        ("~" if parameter.object else "")
        + parameter.name.text
        + ("" if parameter.default is None else f" = {_quote(parameter.default.span)}")
        for parameter in function.parameters
    ]
    return f"{function.name.text}({', '.join(parameters)})"


def _quote(span: Span) -> str:
    return span.source.text[span.start : span.end]


def add_call_note(
    error: QueryError, function: syntax.FunctionDefinition, call: Span
) -> None:
    """Add to an error in a function's body where the function is called.

    An error in the library points at the call first, which is what can be changed.
    """
    name = function.name.text
    for each in each_error(error):
        if each.span.source is library_source() is not call.source:
            each.notes = ((each.span, f"here, in the library's {name}"), *each.notes)
            each.span = call
        else:
            each.notes = (*each.notes, (call, f"in this call of {name}"))


def library_scope(unit: Unit | None, known: Functions) -> Scope:
    """Make the scope around the library's functions: each other, and its reductions."""
    library, picks = known.library, known.picks
    functions = Functions(reductions=library, library=library, picks=picks)
    return Scope("t", Times(unit, {}, frozenset(), set()), functions, closed=True)


def check_function(function: syntax.FunctionDefinition) -> syntax.FunctionDefinition:
    """Check that a function's name hides nothing that is built in."""
    name = function.name
    if is_built_in(name.text):
        message = f"`{name.text}` is built in"
        raise QueryError("E0104", message, name.span, "choose another name")
    return function


def in_library(function: syntax.FunctionDefinition) -> bool:
    """Tell whether a function is defined by the library."""
    return function.name.span.source is library_source()
