"""Name resolution: local names, arguments, parameters and the time itself.

A name is elaborated where it is first used, and becomes a `let` of the result; no
`let` reaches into a reduction, so the value itself is written out there.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.elaborator import Elaborator
from tiltpy.frontend.elaboration.object_references import (
    hint_read_key,
    visible_objects,
)
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.scope import LocalBinding, Scope
from tiltpy.frontend.elaboration.tick_constants import (
    Ticks,
    is_duration,
    read_constant,
    read_whole_number,
)
from tiltpy.frontend.hints import general
from tiltpy.frontend.hints.misplaced import inside_reduction, other_time, too_deep
from tiltpy.frontend.hints.other_languages import NAMES_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import fresh_name
from tiltpy.ir.construct.ticks import ticks_const
from tiltpy.ir.construct.widening import finish, is_untyped
from tiltpy.ir.nodes import At, Const, EventBound, Expr, Let, Local, Phi, Time
from tiltpy.ir.traversal import children, names, rewrite
from tiltpy.limits import MAX_DEPTH, MAX_ELEMENT
from tiltpy.source import Span
from tiltpy.types import DURATION, I64, INT_LITERAL

_LEAVES = (At, Const, EventBound, Local, Time)
"""Arguments that need no name of their own."""


# -- binding names --------------------------------------------------------------------


def bind_name(elaborator: Elaborator, binding: syntax.NamedValue, level: int) -> None:
    """Bind a local name in the scope; it hides an earlier one of the same name."""
    word, scope = binding.name, elaborator.scope
    if word.text == scope.time:
        elaborator.errors.append(
            QueryError(
                "E0104",
                f"`{word.text}` is this definition's time variable already",
                word.span,
                "choose another name",
            )
        )
    local = LocalBinding(word, binding.value, scope)
    try:
        elaborator.scope = extend_scope(elaborator, scope, local, level)
    except (QueryError, Poison) as error:
        elaborator.report(error)
        local.poisoned = True
        elaborator.scope = scope.with_name(word.text, local, None)


def extend_scope(
    elaborator: Elaborator, scope: Scope, local: LocalBinding, level: int
) -> Scope:
    """Extend a scope by a name and what it is bound to."""
    name, times = local.name.text, local.scope.times
    count = read_whole_number(local.node, times)
    if count is not None and is_duration(local.node, times):
        return scope.with_ticks(name, read_constant(local.node, times))
    if elaborator.frame is None:
        value = _elaborate_binding(elaborator, local, level)
    else:  # no name reaches into a reduction: the value itself is put there
        value = _elaborate_in(elaborator, local.scope, local.node, level)
        check_size(value, local.node.span)
    known = value if isinstance(value, Const) else None
    if known is None and count is not None:
        known = Const(count, INT_LITERAL, local.node.span)
    return scope.with_name(name, local if elaborator.frame is None else value, known)


def _elaborate_in(
    elaborator: Elaborator, scope: Scope, node: syntax.Expr, level: int
) -> Expr:
    """Elaborate an expression in another scope."""
    outer, elaborator.scope = elaborator.scope, scope
    try:
        return elaborator.expression(node, level)
    finally:
        elaborator.scope = outer


def _elaborate_binding(elaborator: Elaborator, local: LocalBinding, level: int) -> Expr:
    """Elaborate what a name is bound to: a literal, a reference or a `let`'s name."""
    if local.poisoned:
        raise Poison
    if local in elaborator.values:
        return elaborator.values[local]
    frame, elaborator.frame = elaborator.frame, None
    try:
        value = _elaborate_in(elaborator, local.scope, local.node, level)
        literal = isinstance(value, Const | Phi) and is_untyped(value.type)
        if not literal and not (local.argument and isinstance(value, _LEAVES)):
            name = local.name
            value = finish(value, f"`{name.text}`")
            value = add_let(elaborator, name.text, value, name.span)
    finally:
        elaborator.frame = frame
    elaborator.values[local] = value
    return value


def add_let(elaborator: Elaborator, name: str, value: Expr, span: Span) -> Local:
    """Name a value in the result; the name may get a number behind it."""
    fresh = fresh_name(name, elaborator.taken)
    elaborator.taken.add(fresh)
    if isinstance(value, Const):
        elaborator.constants[fresh] = value
    elaborator.lets.append((fresh, value, span))
    return Local(fresh, value.type, span)


def enclose_in_lets(elaborator: Elaborator, result: Expr) -> Expr:
    """Put the `let`s that a result needs around it."""
    needed = names(result)
    for name, value, span in reversed(elaborator.lets):
        if name in needed:
            result = Let(name, value, result, span)
            needed |= names(value)
    return result


# -- names in expressions -------------------------------------------------------------


def elaborate_name(elaborator: Elaborator, name: syntax.Name, level: int) -> Expr:
    """Elaborate a name: local, the time variable, or a parameter."""
    text, scope = name.text, elaborator.scope
    if text in scope.names:
        return _elaborate_local(elaborator, name, scope.names[text], level + 2)
    if text == scope.time:
        if elaborator.frame is not None:
            inside = inside_reduction(name.span, f"the time `{text}`")
            elaborator.frame.see_present(inside)
        return Time(0, I64, name.span)
    match scope.times.params.get(text):
        case Const(value=value, type=scalar):
            return Const(value, scalar, name.span)
        case None:
            raise _unknown_name(elaborator, name)
        case Ticks(count=count):
            return ticks_const(count, DURATION, name.span)


def _elaborate_local(
    elaborator: Elaborator,
    name: syntax.Name,
    local: LocalBinding | Expr | None,
    level: int,
) -> Expr:
    """Elaborate a local name, which must be of this time; written out in an element."""
    if local is None:
        raise QueryError(
            "E0113",
            f"`{name.text}` is an element of the reduction around this one",
            name.span,
            "a reduction inside an element is the same for all elements: it sees the "
            f"time `{elaborator.scope.time}`, and elements of its own window",
        )
    if isinstance(local, LocalBinding):
        value = _elaborate_binding(elaborator, local, level)
        moved = local.scope.points != elaborator.scope.points
    else:
        value, moved = local, False
    if isinstance(value, Local) and (moved or elaborator.frame is not None):
        value = elaborator.constants.get(value.name, value)
    if isinstance(value, Phi | Const | Local):
        value = replace(value, span=name.span)
    outside = isinstance(local, LocalBinding) and not isinstance(value, Phi | Const)
    if outside and moved:
        raise QueryError(
            "E0108",
            f"`{name.text}` is a value over another time than "
            f"`{elaborator.scope.time}`",
            name.span,
            "write it out here, or make an object of it",
        )
    if outside and elaborator.frame is not None:
        inside = inside_reduction(name.span, f"the name `{name.text}`")
        elaborator.frame.see_present(inside)
        return _write_out(elaborator, value, name.span)
    return value


def _write_out(elaborator: Elaborator, value: Expr, span: Span) -> Expr:
    """Replace the names of the body in a value: no `let` reaches into a reduction."""
    values: dict[str, Expr] = {}

    def rule(node: Expr) -> Expr:
        return values.get(node.name, node) if isinstance(node, Local) else node

    for bound, expr, _ in elaborator.lets:
        values[bound] = rewrite(expr, rule)
    written = rewrite(value, rule)
    check_size(written, span)
    return written


def _unknown_name(elaborator: Elaborator, name: syntax.Name) -> QueryError | Poison:
    text, scope = name.text, elaborator.scope
    times, time = scope.times, scope.time
    if text in times.poisoned:
        return Poison()
    if text in times.domains or text == "t":
        return other_time(text, time, name.span)
    if text in visible_objects(elaborator):
        hint = general.hint_time(text, time, reducing=elaborator.frame is not None)
        code = "E0103"
        return QueryError(code, f"~{text} is a temporal object", name.span, hint)
    hint = (
        general.hint_comment(name.span)
        or NAMES_ELSEWHERE.get(text.lower())
        or hint_read_key(elaborator, text)
        or general.hint_name(name, [*scope.names, *times.params, *filter(None, [time])])
    )
    return QueryError("E0102", f"unknown name `{text}`", name.span, hint)


def check_size(expr: Expr, span: Span) -> None:
    """Raise an error if an expression is too large to be written out in a reduction.

    There is no `let` in one, so what it names twice is in it twice.
    """
    waiting, count = [(expr, 1)], 0
    while waiting:
        node, level = waiting.pop()
        count += 1
        if level > MAX_DEPTH:
            raise too_deep(span)
        if count > MAX_ELEMENT:
            raise QueryError(
                "E0303",
                f"expanded, this has more than {MAX_ELEMENT:,} parts",
                span,
                "define an object for what is used many times, and reduce its window",
            )
        waiting.extend((child, level + 1) for child in children(node))
