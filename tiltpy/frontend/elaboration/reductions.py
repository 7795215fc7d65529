"""Reductions: an element for each snapshot of a window, reduced to one value."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tiltpy.errors import QueryError, collect_errors
from tiltpy.frontend.elaboration.call_targets import (
    ExtraArguments,
    read_extra_arguments,
    read_parameter,
)
from tiltpy.frontend.elaboration.elaborator import (
    Elaborator,
    ReductionFrame,
    strip_parens,
)
from tiltpy.frontend.elaboration.object_references import (
    elaborate_field,
    elaborate_reference,
)
from tiltpy.frontend.hints.misplaced import inside_reduction
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import split_active
from tiltpy.ir.construct.functions import cast
from tiltpy.ir.construct.operators import binary, conditional, exists
from tiltpy.ir.construct.reductions import reduce, reduce_user_defined
from tiltpy.ir.construct.structs import field, make_struct
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import Expr, Phi, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import article
from tiltpy.ops import PAIRS
from tiltpy.source import Span
from tiltpy.types import BOOL, F64, Scalar, Struct, Type, is_nested


@dataclass(frozen=True, slots=True)
class Elements:
    """The expressions of a window's elements that a reduction folds.

    They contribute where the `condition` is true, if there is one.
    """

    window: Window
    values: list[Expr]
    condition: Expr | None


def elaborate_reduction(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> Expr:
    """Elaborate a reduction of a window, built-in or user-defined."""
    callee = node.callee.text
    user_defined = elaborator.scope.functions.reductions.get(callee)
    if user_defined is None:
        name, active = split_active(callee)
        extra = read_extra_arguments(node)
    else:
        name, active, extra = callee, False, ExtraArguments()
    parameter = None
    if extra.parameter is not None:
        constant = elaborator.expression(extra.parameter, level)
        parameter = read_parameter(name, constant)
    arguments = node.arguments[:1]
    elements = elaborate_elements(elaborator, node, arguments, level, active=active)
    (element,) = elements.values
    if elements.condition is not None:
        element = _where(elements.condition, finish(element, "the element"), node.span)
    if user_defined is not None:
        return reduce_user_defined(user_defined, elements.window, element, node.span)
    if name in ("first", "last") and isinstance(element.type, Struct):
        return _pick(elaborator, name, elements.window, element, None, node.span)
    ddof, method = extra.ddof, extra.method
    return reduce(name, elements.window, element, node.span, ddof, parameter, method)


def elaborate_pair(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> Expr:
    """Elaborate a reduction of two expressions: of elements that have both."""
    rule = PAIRS[node.callee.text]
    elements = elaborate_elements(elaborator, node, node.arguments, level)
    first, second = (
        finish(value, f"`{name}`")
        for name, value in zip(rule.parameters, elements.values, strict=True)
    )
    span = node.span
    if rule.pick:
        element = _pair(_by_key(node, second), first, ("key", "value"), elements)
        window = elements.window
        return _pick(elaborator, rule.name, window, element, first.type, span)
    first, second = collect_errors(partial(_number, node, x) for x in (first, second))
    element = _pair(first, second, ("y", "x"), elements)
    pairs = elaborator.scope.functions.library["pairs"]
    made = reduce_user_defined(pairs, elements.window, element, span)
    return field(made, rule.name, span, node.callee.span)


def _pair(
    first: Expr, second: Expr, names: tuple[str, str], elements: Elements
) -> Expr:
    """Make a struct of two expressions, φ where one is or the condition is not true."""
    span = first.span.join(second.span)
    pair = make_struct(names, [first, second], span)
    both = binary("&&", exists(first, span), exists(second, span), span)
    if elements.condition is not None:
        both = binary("&&", both, elements.condition, span)
    return _where(both, pair, span)


def _where(condition: Expr, element: Expr, span: Span) -> Expr:
    return conditional(condition, element, Phi(element.type, span), span)


def _number(node: syntax.CallExpression, value: Expr) -> Expr:
    if isinstance(value.type, Scalar) and value.type.is_number:
        return cast(value, F64, value.span)
    message = f"{node.callee.text} takes numbers, not {_kind(value.type)}"
    raise QueryError("E0201", message, value.span, _hint_number(value.type))


def _kind(type: Type) -> str:
    return f"the struct {type}" if isinstance(type, Struct) else article(type)


def _hint_number(type: Type) -> str:
    match type:
        case Struct(fields=((name, _), *_)):
            return f"take one of its fields, like .{name}"
        case Scalar(kind="bool"):
            return "write b ? 1.0 : 0.0 for a number"
        case Scalar() if type.is_temporal:
            return "cast it, like f64(...)"
        case _:
            return "take a field that is a number"


def _by_key(node: syntax.CallExpression, key: Expr) -> Expr:
    if isinstance(key.type, Scalar) and key.type != BOOL:
        return key
    message = f"the key of {node.callee.text} is {_kind(key.type)}"
    hint = "give it a number, a string or a time to compare elements by"
    raise QueryError("E0201", message, key.span, hint)


def _pick(
    elaborator: Elaborator,
    name: str,
    window: Window,
    element: Expr,
    value: Type | None,
    span: Span,
) -> Expr:
    """Make a reduction that picks an element; `value` is what it picks by a key."""
    if is_nested(element.type if value is None else value):
        message = f"{name} of a struct with a struct in it"
        hint = "give each of its fields a name of its own"
        raise QueryError("E0201", message, span, hint)
    pick = elaborator.scope.functions.picks
    assert pick is not None, "a reduction inside a clause of a reduction"
    return reduce_user_defined(pick(name, element.type), window, element, span)


def elaborate_elements(
    elaborator: Elaborator,
    node: syntax.CallExpression,
    arguments: Sequence[syntax.Expr],
    level: int,
    *,
    active: bool = False,
) -> Elements:
    """Elaborate the arguments of a reduction over one window: its elements.

    The last one may be a comprehension, whose names the others see as well.
    """
    outer, scope = elaborator.frame, elaborator.scope
    if outer is not None:
        outer.see_present(inside_reduction(node.span, "another reduction"))
        elaborator.scope = scope.without_elements()
    elaborator.frame = frame = ReductionFrame(active)
    condition: Expr | None = None
    *others, last = arguments
    try:
        if isinstance(last, syntax.Comprehension):
            _bind_elements(elaborator, last, frame)
            operands = [*others, last.element]
            if last.condition is not None:
                operands.append(last.condition)
            values = elaborator.expressions(operands, level)
            condition = values.pop() if last.condition is not None else None
        else:
            values = elaborator.expressions(arguments, level)
    finally:
        elaborator.frame, elaborator.scope = outer, scope
    if frame.window is not None:
        return Elements(frame.window, values, condition)
    if frame.misplaced is not None:
        raise frame.misplaced
    example = f"~x[{scope.time}]" if active else _example_window(scope.time)
    message = f"{node.callee.text} has no window to reduce"
    hint = f"give it one, like {example}"
    raise QueryError("E0113", message, arguments[0].span, hint)


def _hint_window(elaborator: Elaborator, window: syntax.Expr) -> str:
    """Hint at a window for `for`: of a field's window it is that of the object."""
    if isinstance(window, syntax.Member):
        inner = strip_parens(window.operand)
        if isinstance(inner, syntax.Ref) and inner.stop is not None:
            name, shown = window.name.text, inner.span.quote("the window")
            return f"take the field of each element: v.{name} for v in {shown}"
    return f"like {_example_window(elaborator.scope.time)}"


def _bind_elements(
    elaborator: Elaborator, node: syntax.Comprehension, frame: ReductionFrame
) -> None:
    """Bind the names of `for name in window` to its element.

    From then on point references are to the present.
    """
    window = strip_parens(node.window)
    point = isinstance(window, syntax.Ref) and window.stop is None
    if not isinstance(window, syntax.Ref) or (point and not frame.active):
        raise QueryError(
            "E0113",
            "`for ... in` iterates over a window",
            window.span,
            _hint_window(elaborator, window),
        )
    value = elaborate_reference(elaborator, window)
    frame.active = False
    for word, name in node.names:
        local = replace(value, span=word.span)
        if name is not None:
            local = elaborate_field(elaborator, local, name, word.span)
        elaborator.scope = elaborator.scope.with_name(word.text, local, None)


def _example_window(time: str) -> str:
    return f"~x[{time} - 10 : {time}]"
