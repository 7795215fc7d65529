"""Bodies of definitions and functions: an expression, or a block with names of its own.

A call of a function is the function's body, written out where it is called; an object
that a block defines is a body as well.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.call_arguments import (
    add_call_note,
    check_weight,
    in_library,
    library_scope,
    match_arguments,
)
from tiltpy.frontend.elaboration.elaborator import Elaborator, strip_parens
from tiltpy.frontend.elaboration.local_names import (
    bind_name,
    check_size,
    enclose_in_lets,
    extend_scope,
)
from tiltpy.frontend.elaboration.object_references import (
    elaborate_fields,
    resolve_object,
)
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.scope import Alias, LocalBinding, Scope
from tiltpy.frontend.elaboration.time_domains import read_domain
from tiltpy.frontend.hints.misplaced import (
    inside_reduction,
    never_joined,
    other_time,
    too_deep,
)
from tiltpy.frontend.surface import syntax
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import At, Expr
from tiltpy.ir.traversal import depth
from tiltpy.limits import MAX_DEPTH
from tiltpy.source import Span
from tiltpy.types import TDom


def elaborate_body(
    elaborator: Elaborator,
    name: str,
    body: syntax.Expr | syntax.BlockBody,
    level: int = 0,
) -> Expr:
    """Elaborate a whole body with the `let`s that it needs.

    `name` is what errors call its value, `level` its depth in the text.
    """
    result = finish(_elaborate_block(elaborator, body, level), name)
    result = enclose_in_lets(elaborator, result)
    if depth(result) > MAX_DEPTH:
        raise too_deep(body.span)
    return result


def _elaborate_block(
    elaborator: Elaborator, body: syntax.Expr | syntax.BlockBody, level: int
) -> Expr:
    """Elaborate an expression, or a block in a scope of its own."""
    if not isinstance(body, syntax.BlockBody):
        return elaborator.expression(body, level)
    outer = elaborator.scope
    try:
        for statement in body.bindings:
            match statement:
                case syntax.NamedValue():
                    bind_name(elaborator, statement, level)
                case syntax.TimeDomain() | syntax.RowDomain():
                    _declare_domain(elaborator, statement)
                case syntax.ObjectDefinition():
                    _define_object(elaborator, statement, level)
        return elaborator.expression(body.result, level)
    finally:
        elaborator.scope = outer


def _declare_domain(elaborator: Elaborator, node: syntax.Domain) -> None:
    """Declare a time domain of a block, which objects of the block stand over."""
    tdom = None
    try:
        tdom = read_domain(node, elaborator.scope.times)
        if isinstance(node, syntax.RowDomain):
            target, _ = resolve_object(elaborator, node.rows)
            tdom = replace(tdom, rows=target.object)
        elif tdom.cells is not None:
            ref = syntax.Ref(tdom.cells, None, None, tdom.span)
            tdom = replace(tdom, cells=resolve_object(elaborator, ref)[0].object)
        elaborator.objects.check_rows(tdom)
    except (QueryError, Poison) as error:
        elaborator.report(error)
    elaborator.scope = elaborator.scope.with_domain(node.name.text, tdom)


def _define_object(
    elaborator: Elaborator, node: syntax.ObjectDefinition, level: int
) -> None:
    """Define an object of a block."""
    scope, name, time = elaborator.scope, node.name, node.time.text
    if time != scope.time and time not in scope.domains:
        raise other_time(time, scope.time, node.time.span)
    tdom = scope.domains.get(time)
    inner = scope
    if time != scope.time and tdom is not None:
        inner = replace(scope, time=time, tdom=tdom, points=tdom)
    stem = f"{scope.within.rstrip(chr(39))}_{name.text}"
    alias = Alias(None)
    try:
        if time == scope.time or tdom is not None:
            made = _add_object(
                elaborator,
                stem,
                node.body,
                name.span,
                level + 3,
                inner,
                distinct=node.distinct,
            )
            alias = Alias(made)
    except (QueryError, Poison) as error:
        elaborator.report(error)
    elaborator.scope = scope.with_object(name.text, alias)


def _add_object(
    elaborator: Elaborator,
    stem: str,
    node: syntax.Expr | syntax.BlockBody,
    span: Span,
    level: int,
    scope: Scope,
    *,
    distinct: bool = False,
) -> str:
    """Add an object to the query, over the domain of a scope, and return its name.

    The name is `stem`, with a number behind it if that is taken.
    """
    if elaborator.frame is not None:
        raise inside_reduction(span, "an object")
    if level > MAX_DEPTH:
        raise too_deep(span)
    if distinct and scope.tdom.rows is not None:
        raise never_joined(span)
    before = len(elaborator.errors)
    inner = elaborator.inner_body(replace(scope, within=stem))
    expr = elaborate_body(inner, f"~{stem}", node, level)
    if len(elaborator.errors) > before:
        raise Poison
    objects = elaborator.objects
    return objects.define(stem, scope.tdom, expr, span, distinct=distinct)


# -- calls of functions ---------------------------------------------------------------


def expand_call(
    elaborator: Elaborator,
    function: syntax.FunctionDefinition,
    node: syntax.CallExpression,
    level: int,
) -> Expr:
    """Elaborate a function's body, with its parameters bound to the arguments."""
    elaborator.objects.expansion.count_call(node.span)
    scope = _bind_arguments(elaborator, function, node, level)
    before, outer = len(elaborator.errors), elaborator.scope
    frame = elaborator.frame
    misplaced = None if frame is None else frame.misplaced
    elaborator.scope = scope
    try:
        result = _elaborate_block(elaborator, function.body, level + 1)
        if frame is not None:
            check_size(result, function.body.span)
            if misplaced is None and frame.misplaced is not None:
                add_call_note(frame.misplaced, function, node.span)
    except QueryError as error:
        add_call_note(error, function, node.span)
        raise
    finally:
        elaborator.scope = outer
        for reported in elaborator.errors[before:]:
            add_call_note(reported, function, node.span)
    return result


def _bind_arguments(
    elaborator: Elaborator,
    function: syntax.FunctionDefinition,
    node: syntax.CallExpression,
    level: int,
) -> Scope:
    """Bind a function's parameters to the arguments of a call, in a new scope."""
    outer = elaborator.scope
    home = elaborator.home
    if in_library(function):
        home = library_scope(outer.times.unit, outer.functions)
    name = function.name.text
    home = replace(home, within=name, tdom=TDom(), points=outer.points)
    scope = home
    poisoned = False
    for parameter, argument in match_arguments(function, node):
        word = parameter.name
        try:
            if parameter.object:
                assert argument is not None
                stem = f"{name}_{word.text}"
                alias = _bind_object(elaborator, stem, argument, level + 3)
                scope = scope.with_object(word.text, alias)
            elif argument is not None:
                check_weight(function, word.text, argument)
                local = LocalBinding(word, argument, outer, argument=True)
                scope = extend_scope(elaborator, scope, local, level + 3)
            else:
                assert parameter.default is not None
                local = LocalBinding(word, parameter.default, home, argument=True)
                scope = extend_scope(elaborator, scope, local, level + 3)
        except (QueryError, Poison) as error:
            elaborator.report(error)
            poisoned = True
    if poisoned:
        raise Poison
    return scope


def _bind_object(
    elaborator: Elaborator, stem: str, node: syntax.Expr, level: int
) -> Alias:
    """Find the object that `~x` is in a function, from the argument for it.

    An object or a field of one is that itself; any other expression becomes an object
    called `stem`.
    """
    members: list[syntax.Word] = []
    operand = strip_parens(node)
    while isinstance(operand, syntax.Member):
        members.insert(0, operand.name)
        operand = strip_parens(operand.operand)
    if not isinstance(operand, syntax.Ref) or operand.start is not None:
        scope = replace(elaborator.scope, tdom=TDom())
        return Alias(_add_object(elaborator, stem, node, node.span, level, scope))
    target, fields = resolve_object(elaborator, operand)
    payload = elaborator.objects.payload_type(target)
    value = At(target.object, 0, payload, span=operand.span)
    elaborate_fields(elaborator, value, (*fields, *members))
    return Alias(target.object, (*fields, *members))
