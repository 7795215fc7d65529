"""References to temporal objects: `~x[t]`, `~x[a : b]`, `start(~x[t])`.

In a function `~x` is the object that the call passes, or a field of one. Inside a
reduction a reference to a window is the element, and all of them name one window.
"""

from collections.abc import Sequence
from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.elaborator import Elaborator, strip_parens
from tiltpy.frontend.elaboration.objects import unknown_object
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.tick_constants import read_offset
from tiltpy.frontend.elaboration.windows import (
    elaborate_as_of,
    elaborate_look_start,
    is_as_of,
    read_window,
)
from tiltpy.frontend.hints import general
from tiltpy.frontend.surface import syntax
from tiltpy.ir.construct.structs import field
from tiltpy.ir.nodes import At, Element, EventBound, Expr, Since, Window
from tiltpy.source import Span
from tiltpy.types import I64, Type


def elaborate_reference(elaborator: Elaborator, ref: syntax.Ref) -> Expr:
    """Elaborate a reference: an object at one time, or the element of a window."""
    target, fields = resolve_object(elaborator, ref)
    payload, time = _read_payload(elaborator, target), elaborator.scope.time
    frame = elaborator.frame
    if ref.start is None:
        raise QueryError(
            "E0103",
            f"~{ref.object} is a temporal object; say at which time",
            ref.span,
            general.hint_time(ref.object, time, reducing=_needs_window(elaborator)),
        )
    if is_as_of(ref):
        value = elaborate_as_of(elaborator, target, payload)
    elif ref.stop is not None or (frame is not None and frame.active):
        value = _elaborate_element(elaborator, target, payload)
    else:
        if frame is not None:
            frame.see_present(_one_point(ref, time))
        if isinstance(ref.start, syntax.RowEnd):
            raise QueryError(
                "E0109",
                "`row` is allowed at the right end of a window only",
                ref.start.span,
                f"at {time}, ~{ref.object}[{time}] is the row itself",
            )
        ticks = _read_point(elaborator, ref.start)
        row = _is_row(elaborator, target)
        value = At(target.object, ticks, payload, row, ref.span)
    return elaborate_fields(elaborator, value, fields)


def _needs_window(elaborator: Elaborator) -> bool:
    """Tell whether the reduction around a reference has no window yet."""
    frame = elaborator.frame
    return frame is not None and not frame.active and frame.window is None


def _one_point(ref: syntax.Ref, time: str) -> QueryError:
    """Make the error that a reduction has a point reference instead of a window."""
    message = f"~{ref.object} at one point is inside a reduction"
    if isinstance(ref.start, syntax.RowsEnd | syntax.RestartEnd):
        message = f"this window of ~{ref.object} has no right end"
    return QueryError(
        "E0113",
        message,
        ref.span,
        general.hint_window(ref, time),
    )


def _read_point(elaborator: Elaborator, time: syntax.Expr) -> int:
    """Read the offset of a point; a mistake in a reduction may be a missing window."""
    frame = elaborator.frame
    try:
        return read_offset(time, elaborator.scope.time, elaborator.scope.times)
    except QueryError:
        if frame is not None and frame.window is None and frame.misplaced is not None:
            raise frame.misplaced from None
        raise


def _is_row(elaborator: Elaborator, ref: syntax.Ref) -> bool:
    """Tell whether a reference is the row itself of the domain of a body.

    It is where it stands at the time variable, without an offset, in the body itself:
    functions mean at a row what they mean at its time.
    """
    assert ref.start is not None
    scope, time = elaborator.scope, strip_parens(ref.start)
    if not isinstance(time, syntax.Name) or scope.tdom.rows is None:
        return False
    roots = elaborator.objects.roots
    return roots.get(ref.object) == roots[scope.tdom.rows]


def _elaborate_element(elaborator: Elaborator, ref: syntax.Ref, payload: Type) -> Expr:
    """Elaborate a window, which must be the only one of a reduction around it."""
    frame = elaborator.frame
    if frame is not None and frame.active:
        window = _read_alive(elaborator, ref)
    else:
        window = _end_with_row(elaborator, read_window(elaborator, ref, resolve_object))
    if frame is None:
        raise QueryError(
            "E0106",
            "a window holds many values",
            ref.span,
            general.hint_reduction(ref),
        )
    if frame.window not in (None, window):
        raise QueryError(
            "E0113",
            "a second window inside one reduction",
            ref.span,
            "reduce each, or define an object that combines them first",
        )
    frame.window = window
    return Element(payload, ref.span)


def _end_with_row(elaborator: Elaborator, window: Window) -> Window:
    """End a window over the rows at which a body stands with its row, if it says so.

    One of the last rows says so, and one that restarts by these rows.
    """
    scope, objects = elaborator.scope, elaborator.objects
    same_rows, limit = objects.same_rows(scope.tdom), window.limit
    counts = limit is not None and window.end == 0
    if isinstance(limit, Since):
        counts = counts and limit.object in same_rows
    if window.object not in same_rows:
        counts = False
        if scope.time in scope.times.poisoned:
            raise Poison
        if window.by_row:
            raise QueryError(
                "E0111",
                f"`row` ends a window with a row of ~{window.object}, and this stands "
                "over other rows",
                window.span,
                f"write {scope.time}, or define this over Rows(~{window.object})",
            )
    if not window.by_row and not counts:
        return window
    if isinstance(limit, Since) and not counts:
        raise QueryError(
            "E0111",
            f"`row` ends this window with a row, and ~{limit.object} restarts it at "
            "a time: it is over other rows",
            window.span,
            f"write {scope.time}, or define ~{limit.object} over the same rows",
        )
    return replace(window, by_row=True)


def _read_alive(elaborator: Elaborator, ref: syntax.Ref) -> Window:
    """Read the window `(t-1, t]`, which has all events or rows alive at `t`."""
    assert ref.start is not None
    time = elaborator.scope.time
    if ref.stop is not None:
        raise QueryError(
            "E0113",
            "the events alive at a time are wanted here, and this is a window",
            ref.span,
            f"write ~{ref.object}[{time}], or a reduction without `_active`",
        )
    if ref.object not in elaborator.objects.roots:
        raise QueryError(
            "E0112",
            f"~{ref.object} is not an input; only their events overlap",
            ref.span,
            "a derived object has one value at a time: refer to an input",
        )
    ticks = read_offset(ref.start, time, elaborator.scope.times)
    return Window(ref.object, ticks - 1, ticks, span=ref.span)


def elaborate_event_bound(elaborator: Elaborator, call: syntax.CallExpression) -> Expr:
    """Elaborate `start(ref)` or `end(ref)` of an object with bounds at one time."""
    which = "start" if call.callee.text == "start" else "end"
    time = elaborator.scope.time
    ref = strip_parens(call.arguments[0])
    if isinstance(ref, syntax.Ref):
        ref, _ = resolve_object(elaborator, ref)
        _read_payload(elaborator, ref)
    if isinstance(ref, syntax.Ref) and is_as_of(ref):
        return elaborate_look_start(elaborator, ref, which, call.span)
    if not isinstance(ref, syntax.Ref) or ref.start is None or ref.stop is not None:
        name = _distinct_object(elaborator, ref)
        raise QueryError(
            "E0112",
            f"{which}() takes a point reference "
            + ("of an input" if name is None else f"to all of ~{name}, at one time"),
            ref.span,
            f"write {which}(~{name or 'x'}[{time}])",
        )
    if not elaborator.objects.has_bounds(ref.object):
        raise QueryError(
            "E0112",
            f"~{ref.object} is neither an input nor distinct, so its snapshots have no "
            "bounds of their own",
            ref.span,
            general.hint_bounds(ref.object),
        )
    ticks = read_offset(ref.start, time, elaborator.scope.times)
    return EventBound(
        "start" if which == "start" else "end",
        ref.object,
        ticks,
        I64,
        _is_row(elaborator, ref),
        call.span,
    )


def _distinct_object(elaborator: Elaborator, node: syntax.Expr) -> str | None:
    """Find the distinct object that an expression refers to, or a field of one."""
    while isinstance(node, syntax.Member):
        node = strip_parens(node.operand)
    if not isinstance(node, syntax.Ref) or node.object in elaborator.objects.lifetimes:
        return None
    return node.object if elaborator.objects.has_bounds(node.object) else None


def endless_bound(node: EventBound) -> QueryError:
    """Make the error for a bound that may be infinitely far away."""
    starts = node.which == "start"
    domain = "TDom(0, ∞, 1)" if starts else "TDom(-∞, 1000, 1)"
    return QueryError(
        "E0111",
        f"~{node.object} changes with the time itself, so its snapshots may "
        + ("start infinitely early" if starts else "end infinitely late"),
        node.span,
        f"define it over a domain with {'a start' if starts else 'an end'}, like "
        f"h = {domain}",
    )


# -- objects and their fields ---------------------------------------------------------


def visible_objects(elaborator: Elaborator) -> list[str]:
    """List the names of the objects that the scope sees."""
    in_query = () if elaborator.scope.closed else elaborator.objects.in_text()
    return [*elaborator.scope.objects, *in_query]


def resolve_object(
    elaborator: Elaborator, ref: syntax.Ref
) -> tuple[syntax.Ref, tuple[syntax.Word, ...]]:
    """Resolve a reference to an object of the query, and to a field of it."""
    scope, objects = elaborator.scope, elaborator.objects
    alias = scope.objects.get(ref.object)
    if alias is not None:
        if alias.object is None:
            raise Poison
        return replace(ref, object=alias.object), alias.fields
    if ref.object in scope.names and ref.object not in objects.types:
        hint = f"`{ref.object}` is a value: write {ref.object} without ~"
        raise unknown_object(ref, (), hint)
    if scope.closed or ref.object in objects.local_names.values():
        raise unknown_object(ref, visible_objects(elaborator))
    return ref, ()


def _read_payload(elaborator: Elaborator, ref: syntax.Ref) -> Type:
    """Find the payload type of an object that this body reads.

    All objects with keys that one body reads have the same keys.
    """
    objects = elaborator.objects
    payload = objects.payload_type(ref)
    if objects.keys[ref.object]:
        if elaborator.keyed is None:
            elaborator.keyed = ref
        objects.require_same_keys(ref, elaborator.keyed)
    return payload


def elaborate_fields(
    elaborator: Elaborator, value: Expr, fields: Sequence[syntax.Word]
) -> Expr:
    """Elaborate `value.field.field`."""
    for word in fields:
        value = elaborate_field(elaborator, value, word, value.span)
    return value


def elaborate_field(
    elaborator: Elaborator, value: Expr, word: syntax.Word, span: Span
) -> Expr:
    """Elaborate `value.word`; `span` is that of both."""
    try:
        return field(value, word.text, span, word.span)
    except QueryError as error:
        error.hint = hint_read_key(elaborator, word.text) or error.hint
        raise


def hint_read_key(elaborator: Elaborator, name: str) -> str:
    """Hint how a key is read, if some object has a key of that name."""
    by_object = elaborator.objects.keys.items()
    keyed = next((object for object, keys in by_object if name in keys), None)  # noqa: A001
    return "" if keyed is None else general.hint_key(keyed, name)
