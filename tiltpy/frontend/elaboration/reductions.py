"""Reductions: an element for each snapshot of a window, reduced to one value."""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.call_targets import (
    read_extra_arguments,
    read_parameter,
    split_active,
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
from tiltpy.ir.construct.operators import conditional
from tiltpy.ir.construct.reductions import reduce, reduce_user_defined
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import Expr, Phi


def elaborate_reduction(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> Expr:
    """Elaborate a reduction of a window, built-in or user-defined."""
    callee = node.callee.text
    user_defined = elaborator.scope.functions.reductions.get(callee)
    if user_defined is None:
        name, active = split_active(callee)
        ddof, constant = read_extra_arguments(node)
    else:
        name, active, ddof, constant = callee, False, 0, None
    outer, scope = elaborator.frame, elaborator.scope
    if outer is not None:
        outer.see_present(inside_reduction(node.span, "another reduction"))
    parameter = None
    if constant is not None:
        value = elaborator.expression(constant, level)
        parameter = read_parameter(name, value)
    argument = node.arguments[0]
    elaborator.frame = frame = ReductionFrame(active)
    if outer is not None:
        elaborator.scope = scope.without_elements()
    try:
        if isinstance(argument, syntax.Comprehension):
            element = _elaborate_comprehension(elaborator, argument, frame, level)
        else:
            element = elaborator.expression(argument, level)
    finally:
        elaborator.frame, elaborator.scope = outer, scope
    if frame.window is None:
        if frame.misplaced is not None:
            raise frame.misplaced
        time = scope.time
        example = f"~x[{time}]" if active else _example_window(time)
        raise QueryError(
            "E0113",
            f"{callee} has no window to reduce",
            argument.span,
            f"give it one, like {example}",
        )
    if user_defined is not None:
        if user_defined.bounds and not frame.window.is_fixed:
            raise QueryError(
                "E0113",
                f"{callee} sees where its window cuts snapshots, and this window has "
                "no fixed length",
                argument.span,
                "give it two times, like " + _example_window(elaborator.scope.time),
            )
        return reduce_user_defined(user_defined, frame.window, element, node.span)
    return reduce(name, frame.window, element, node.span, ddof, parameter)


def _elaborate_comprehension(
    elaborator: Elaborator,
    node: syntax.Comprehension,
    frame: ReductionFrame,
    level: int,
) -> Expr:
    """Elaborate `element for name in window if condition`.

    The element is φ where the condition is not true. Point references in both are to
    the present.
    """
    window = strip_parens(node.window)
    point = isinstance(window, syntax.Ref) and window.stop is None
    if not isinstance(window, syntax.Ref) or (point and not frame.active):
        raise QueryError(
            "E0113",
            "`for ... in` goes through a window",
            window.span,
            f"like {_example_window(elaborator.scope.time)}",
        )
    value, outer = elaborate_reference(elaborator, window), elaborator.scope
    frame.active = False
    for word, field in node.names:
        local = replace(value, span=word.span)
        if field is not None:
            local = elaborate_field(elaborator, local, field, word.span)
        elaborator.scope = elaborator.scope.with_name(word.text, local, None)
    try:
        if node.condition is None:
            return elaborator.expression(node.element, level)
        operands = (node.element, node.condition)
        element, condition = elaborator.expressions(operands, level)
    finally:
        elaborator.scope = outer
    element = finish(element, "the element")
    phi = Phi(element.type, node.span)
    return conditional(condition, element, phi, node.span)


def _example_window(time: str) -> str:
    return f"~x[{time} - 10 : {time}]"
