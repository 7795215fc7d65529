"""Every surface expression as a typed value: one case for each kind of node."""

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.bodies import expand_call
from tiltpy.frontend.elaboration.call_targets import (
    Callee,
    check_values,
    find_callee,
    find_component,
    find_string_function,
    find_string_test,
    is_built_in,
)
from tiltpy.frontend.elaboration.convolution import elaborate_convolution
from tiltpy.frontend.elaboration.elaborator import Elaborator
from tiltpy.frontend.elaboration.local_names import add_let, elaborate_name
from tiltpy.frontend.elaboration.nan_comparisons import warn_of_nan
from tiltpy.frontend.elaboration.object_references import (
    elaborate_event_bound,
    elaborate_field,
    elaborate_reference,
)
from tiltpy.frontend.elaboration.objects import Objects
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.reductions import elaborate_pair, elaborate_reduction
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import to_ticks
from tiltpy.frontend.hints.misplaced import inside_reduction, misplaced_node, too_deep
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.timestamps import moment_in_ticks
from tiltpy.ir.construct.functions import (
    call,
    cast,
    date_component,
    is_in,
    match_string,
)
from tiltpy.ir.construct.operators import (
    binary,
    conditional,
    exists,
    number,
    string,
    unary,
)
from tiltpy.ir.construct.strings import string_call
from tiltpy.ir.construct.structs import make_struct, with_fields
from tiltpy.ir.construct.ticks import ticks_const
from tiltpy.ir.nodes import At, Const, Element, Expr, Field, Local, Phi
from tiltpy.limits import MAX_DEPTH
from tiltpy.types import BOOL, DURATION, NAMED, PHI, TIME


def open_body(
    scope: Scope,
    objects: Objects,
    errors: list[QueryError],
    home: Scope | None = None,
) -> Elaborator:
    """Make an elaborator for a body in a scope.

    Its errors go to `errors`, the objects that it defines to `objects`; `home` is the
    scope of the query's functions, where that is another.
    """
    return Elaborator(elaborate_expression, scope, objects, errors, home)


def elaborate_expression(elaborator: Elaborator, node: syntax.Expr, level: int) -> Expr:
    """Elaborate an expression; `level` is its depth in the body."""
    level += 1
    elaborator.objects.expansion.count_node(node.span)
    if level > MAX_DEPTH:
        raise too_deep(node.span)
    match node:
        case syntax.Number():
            return number(node.value, node.span)
        case syntax.DurationLiteral():
            ticks = to_ticks(node, elaborator.scope.times.unit)
            return ticks_const(ticks, DURATION, node.span)
        case syntax.Moment():
            ticks = moment_in_ticks(node, elaborator.scope.times.unit)
            return ticks_const(ticks, TIME, node.span)
        case syntax.Bool():
            return Const(node.value, BOOL, node.span)
        case syntax.Text():
            return string(node.value, node.span)
        case syntax.PhiLiteral():
            return Phi(PHI, node.span)
        case syntax.Name():
            return elaborate_name(elaborator, node, level)
        case syntax.Ref():
            return elaborate_reference(elaborator, node)
        case syntax.Paren():
            return elaborate_expression(elaborator, node.operand, level)
        case syntax.PrefixOperation():
            operand = elaborate_expression(elaborator, node.operand, level)
            return unary(node.op, operand, node.span)
        case syntax.InfixOperation():
            warn_of_nan(node)
            left, right = elaborator.operands((node.left, node.right), level)
            return binary(node.op, left, right, node.span)
        case syntax.Membership():
            warn_of_nan(node)
            operands = elaborator.operands((node.operand, *node.options), level)
            return is_in(operands[0], operands[1:], node.span)
        case syntax.Conditional():
            condition, then, otherwise = elaborator.operands(
                (node.condition, node.then, node.otherwise), level
            )
            return conditional(condition, then, otherwise, node.span)
        case syntax.Member():
            operand = elaborate_expression(elaborator, node.operand, level)
            return elaborate_field(elaborator, operand, node.name, node.span)
        case syntax.StructValue():
            values = elaborator.expressions([f.value for f in node.fields], level)
            return make_struct([f.name.text for f in node.fields], values, node.span)
        case syntax.With():
            return _elaborate_with(elaborator, node, level)
        case syntax.CallExpression():
            return _elaborate_call(elaborator, node, level)
        case _:
            raise misplaced_node(node)


def _elaborate_with(elaborator: Elaborator, node: syntax.With, level: int) -> Expr:
    """Elaborate `operand with { name = value }`; a computed operand gets a `let`."""
    operand = elaborate_expression(elaborator, node.operand, level)
    values = elaborator.expressions([f.value for f in node.fields], level)
    root = operand.operand if isinstance(operand, Field) else operand
    if not isinstance(root, At | Local | Element):
        if elaborator.frame is not None:
            raise inside_reduction(node.span, "`with` of anything but the element")
        operand = add_let(elaborator, "changed", operand, node.operand.span)
    changes = [
        (f.name.text, value, f.name.span)
        for f, value in zip(node.fields, values, strict=True)
    ]
    return with_fields(operand, changes, node.span)


def _elaborate_call(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> Expr:
    name = node.callee.text
    functions = elaborator.scope.functions
    if name in functions.poisoned:
        raise Poison
    is_reduction = node.reduce or name in functions.reductions
    if not is_reduction and not is_built_in(name):
        function = functions.find(name)
        if function is not None:
            return expand_call(elaborator, function, node, level)
    callee = find_callee(node, functions)
    match callee:
        case Callee.REDUCTION:
            return elaborate_reduction(elaborator, node, level)
        case Callee.PAIR:
            return elaborate_pair(elaborator, node, level)
        case Callee.CONVOLUTION:
            return elaborate_convolution(elaborator, node, level)
        case Callee.EVENT_BOUND:
            frame = elaborator.frame
            if frame is not None:
                inside = inside_reduction(node.span, f"{name}()")
                if frame.active:
                    raise inside
                frame.see_present(inside)
            return elaborate_event_bound(elaborator, node)
        case Callee.EXISTS:
            operand = elaborate_expression(elaborator, node.arguments[0], level)
            return exists(operand, node.span)
        case Callee.CAST:
            operand = elaborate_expression(elaborator, node.arguments[0], level)
            return cast(operand, NAMED[name], node.span)
        case Callee.FUNCTION:
            if elaborator.frame is None:
                check_values(node)
            return call(name, elaborator.operands(node.arguments, level), node.span)
        case Callee.STRING_TEST:
            string, pattern = elaborator.expressions(node.arguments, level)
            return match_string(find_string_test(node), string, pattern, node.span)
        case Callee.STRING_FUNCTION:
            strings = elaborator.expressions(node.arguments, level)
            return string_call(find_string_function(node), strings, node.span)
        case Callee.DATE_COMPONENT:
            time, *zone = elaborator.expressions(node.arguments, level)
            unit = elaborator.scope.times.unit
            component = find_component(node)
            return date_component(
                component, time, zone[0] if zone else None, unit, node.span
            )
