"""Calls of functions that are written in the language: what each parameter is given."""

from collections.abc import Iterator, Mapping

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.call_targets import is_built_in
from tiltpy.frontend.elaboration.library import Functions, library_source
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import Times
from tiltpy.frontend.surface import syntax
from tiltpy.ir.nodes import UserReduction
from tiltpy.source import Span
from tiltpy.types import Unit


def arguments_of(
    function: syntax.Function, call: syntax.Call
) -> Iterator[tuple[syntax.Parameter, syntax.Expr | None]]:
    """Each parameter with its argument; None where its default stands."""
    plain = list(call.arguments)
    named = {binding.name.text: binding for binding in call.named}
    known = [one.name.text for one in function.parameters]
    for name, binding in named.items():
        if name not in known:
            raise QueryError(
                "E0206",
                f"{call.callee.text} has no parameter `{name}`",
                binding.name.span,
                _signature(function),
            )
        if name in known[: len(plain)]:
            message = f"`{name}` is given twice"
            raise QueryError("E0206", message, binding.name.span, _signature(function))
    if len(plain) > len(known):
        required = sum(one.default is None for one in function.parameters)
        most = f"{len(known)}" if required == len(known) else f"at most {len(known)}"
        raise _count(function, call, most)
    missing = [
        one.name.text
        for one in function.parameters[len(plain) :]
        if one.default is None and one.name.text not in named
    ]
    if missing:
        least = sum(one.default is None for one in function.parameters)
        wanted = f"{least}" if least == len(known) else f"at least {least}"
        raise _count(function, call, wanted)
    for position, one in enumerate(function.parameters):
        if position < len(plain):
            yield one, plain[position]
        else:
            given = named.get(one.name.text)
            yield one, None if given is None else given.value


def _count(function: syntax.Function, call: syntax.Call, wanted: str) -> QueryError:
    found = len(call.arguments) + len(call.named)
    message = f"{call.callee.text} takes {wanted} arguments, not {found}"
    return QueryError("E0206", message, call.span, _signature(function))


def _signature(function: syntax.Function) -> str:
    """How a function is called."""
    shown = [
        ("~" if one.object else "")
        + one.name.text
        + ("" if one.default is None else f" = {_written(one.default.span)}")
        for one in function.parameters
    ]
    return f"{function.name.text}({', '.join(shown)})"


def _written(span: Span) -> str:
    return span.source.text[span.start : span.end]


def called(error: QueryError, function: syntax.Function, call: Span) -> None:
    """Add to an error of a function's body where the function was called.

    Errors of the library point at the call first: what is to be changed stands there.
    """
    if error.span.source is library_source() is not call.source:
        name = function.name.text
        error.notes = ((error.span, f"here, in the library's {name}"), *error.notes)
        error.span = call
    else:
        error.notes = (*error.notes, (call, f"in this call of {function.name.text}"))


def library_scope(unit: Unit | None, reductions: Mapping[str, UserReduction]) -> Scope:
    """What the functions of the library see besides their parameters.

    Those are each other, and the library's own reductions.
    """
    functions = Functions(reductions=reductions, library=reductions)
    return Scope("t", Times(unit, {}, frozenset(), set()), functions, closed=True)


def check_function(function: syntax.Function) -> syntax.Function:
    """A function that hides nothing that is built in."""
    name = function.name
    if is_built_in(name.text):
        message = f"`{name.text}` is built in"
        raise QueryError("E0104", message, name.span, "choose another name")
    return function


def in_library(function: syntax.Function) -> bool:
    """Whether a function is the library's."""
    return function.name.span.source is library_source()
