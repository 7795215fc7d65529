"""Typed constructors of reductions over a window, built in or the query's own.

The element may still be untyped, and a broken rule is a `QueryError`, as in
`operators.py`. The element of a reduction of one's own is made to fit what that takes.
"""

from tiltpy.errors import QueryError
from tiltpy.ir.construct.operators import comparison_of, is_bare_phi
from tiltpy.ir.construct.ticks import no_ticks_reduction
from tiltpy.ir.construct.widening import adapt, common_type, finish
from tiltpy.ir.nodes import (
    Element,
    Expr,
    Field,
    If,
    MakeStruct,
    Phi,
    Reduce,
    UserReduction,
    Window,
)
from tiltpy.ir.verify.types import reduction_type
from tiltpy.ops import REDUCTIONS
from tiltpy.source import Span
from tiltpy.types import STRING, Scalar, Struct, Type


def reduce(
    reduction: str,
    window: Window,
    element: Expr,
    span: Span,
    ddof: int = 0,
    parameter: float | None = None,
) -> Expr:
    """`⊕(reduction, element for each snapshot of window)`."""
    element = finish(element, "the element")
    result = reduction_type(reduction, element.type, parameter)
    if result is None:
        raise _no_reduction(reduction, element)
    return Reduce(reduction, window, element, result, ddof, parameter, span=span)


def _no_reduction(reduction: str, element: Expr) -> QueryError:
    if isinstance(element.type, Struct):
        name = element.type.fields[0][0]
        return QueryError(
            "E0201",
            f"{reduction} of the struct {element.type}; only count takes structs",
            element.span,
            f"reduce one field, like .{name}",
        )
    if element.type.is_temporal:
        return no_ticks_reduction(reduction, element)
    wanted, way = "numbers", "cast it, like i64(...)"
    if REDUCTIONS[reduction].result == "bool":
        wanted, way = "bools", "compare it, like ... > 0"
        if element.type == STRING:
            way = "compare it, like " + comparison_of(STRING)
    elif element.type == STRING:
        some = ", ".join(r.name for r in REDUCTIONS.values() if r.strings)
        way = f"{some} take strings"
    return QueryError(
        "E0201",
        f"{reduction} takes {wanted}, not {element.type}",
        element.span,
        way,
    )


def reduce_user_defined(
    own: UserReduction, window: Window, element: Expr, span: Span
) -> Expr:
    """A reduction of the query's own; the element widens to what it takes."""
    if is_bare_phi(element):
        element = adapt(element, own.type)
    fitted = _fit(element, own.type)
    if fitted is None:
        raise QueryError(
            "E0201",
            f"{own.name} takes {own.type}, not {element.type}",
            element.span,
            _way_to_fit(own),
        )
    return Reduce(
        own.name, window, fitted, own.result.type, bounds=own.bounds, span=span
    )


def _way_to_fit(own: UserReduction) -> str:
    if isinstance(own.type, Scalar):
        return f"cast it, like {own.type}(...), or reduce one field of a struct"
    fields = ", ".join(f"{name} = ..." for name, _ in own.type.fields)
    return f"reduce an element with its fields, like {{ {fields} }} for v in ..."


def _fit(element: Expr, wanted: Type) -> Expr | None:
    """The element as a value of a type, if that loses nothing.

    Of a struct the fields are taken that the type has.
    """
    if element.type == wanted:
        return element
    if isinstance(wanted, Scalar):
        if isinstance(element.type, Struct):
            return None
        model = Phi(wanted, element.span)
        try:
            joined = common_type([element, model], element.span)
        except QueryError:
            return None
        return adapt(element, wanted) if joined == wanted else None
    return _fit_struct(element, wanted)


def _fit_struct(element: Expr, wanted: Struct) -> Expr | None:
    match element:
        case Phi():
            return Phi(wanted, element.span)
        case If():
            then = _fit(element.then, wanted)
            otherwise = _fit(element.otherwise, wanted)
            if then is None or otherwise is None:
                return None
            return If(element.condition, then, otherwise, element.span)
        case Element() | MakeStruct():
            values = []
            for name, scalar in wanted.fields:
                found = _field_of(element, name)
                value = None if found is None else _fit(found, scalar)
                if value is None:
                    return None
                values.append(value)
            return MakeStruct(tuple(values), wanted, element.span)
        case _:
            return None


def _field_of(element: Element | MakeStruct, name: str) -> Expr | None:
    if not isinstance(element.type, Struct):
        return None
    scalar = element.type.field(name)
    if scalar is None:
        return None
    if isinstance(element, MakeStruct):
        names = [each for each, _ in element.type.fields]
        return element.fields[names.index(name)]
    return Field(element, name, scalar, element.span)
