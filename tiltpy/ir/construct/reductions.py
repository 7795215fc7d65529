"""Typed constructors of reductions over a window, built-in or user-defined.

The element may still be untyped, and a broken rule is a `QueryError`, as in
`operators.py`. The element of a user-defined reduction is brought to its type.
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
from tiltpy.ops import REDUCTIONS, QuantileMethod
from tiltpy.source import Span
from tiltpy.types import STRING, Scalar, Struct, Type


def reduce(
    reduction: str,
    window: Window,
    element: Expr,
    span: Span,
    ddof: int = 0,
    parameter: float | None = None,
    method: QuantileMethod = "linear",
) -> Expr:
    """Make `⊕(reduction, element for each snapshot of window)`."""
    element = finish(element, "the element")
    result = reduction_type(reduction, element.type, parameter)
    if result is None:
        raise _no_reduction(reduction, element)
    return Reduce(
        reduction, window, element, result, ddof, parameter, method=method, span=span
    )


def _no_reduction(reduction: str, element: Expr) -> QueryError:
    if isinstance(element.type, Struct):
        name = element.type.fields[0][0]
        message = f"{reduction} takes no struct, here {element.type}"
        hint = f"reduce one field, like .{name}; count, first and last take a struct"
        return QueryError("E0201", message, element.span, hint)
    if element.type.is_temporal:
        return no_ticks_reduction(reduction, element)
    wanted, hint = "numbers", "cast it, like i64(...)"
    if REDUCTIONS[reduction].result == "bool":
        wanted, hint = "bools", "compare it, like ... > 0"
        if element.type == STRING:
            hint = "compare it, like " + comparison_of(STRING)
    elif element.type == STRING:
        names = ", ".join(r.name for r in REDUCTIONS.values() if r.strings)
        hint = f"{names} take strings"
    return QueryError(
        "E0201",
        f"{reduction} takes {wanted}, not {element.type}",
        element.span,
        hint,
    )


def reduce_user_defined(
    reduction: UserReduction, window: Window, element: Expr, span: Span
) -> Expr:
    """Make a user-defined reduction; the element widens to the type it takes."""
    if is_bare_phi(element):
        element = adapt(element, reduction.type)
    adapted = _fit(element, reduction.type)
    if adapted is None:
        raise QueryError(
            "E0201",
            f"{reduction.name} takes {reduction.type}, not {element.type}",
            element.span,
            _hint_fit(reduction),
        )
    return Reduce(
        reduction.name,
        window,
        adapted,
        reduction.result.type,
        bounds=reduction.bounds,
        span=span,
    )


def _hint_fit(reduction: UserReduction) -> str:
    if isinstance(reduction.type, Scalar):
        return f"cast it, like {reduction.type}(...), or reduce one field of a struct"
    fields = ", ".join(f"{name} = ..." for name, _ in reduction.type.fields)
    return f"reduce an element with its fields, like {{ {fields} }} for v in ..."


def _fit(element: Expr, wanted: Type) -> Expr | None:
    """Bring the element to a type, or return None if that loses something.

    Of a struct the fields are taken that the type has.
    """
    if element.type == wanted:
        return element
    if isinstance(wanted, Scalar):
        if isinstance(element.type, Struct):
            return None
        model = Phi(wanted, element.span)
        try:
            common = common_type([element, model], element.span)
        except QueryError:
            return None
        return adapt(element, wanted) if common == wanted else None
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
                field = _field_of(element, name)
                value = None if field is None else _fit(field, scalar)
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
        names = [known for known, _ in element.type.fields]
        return element.fields[names.index(name)]
    return Field(element, name, scalar, element.span)
