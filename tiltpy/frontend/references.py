"""References to temporal objects: `~x[t]`, `~x[a : b]`, `start(~x[t])`."""

from dataclasses import dataclass

from tiltpy.errors import QueryError
from tiltpy.frontend import syntax
from tiltpy.frontend.broken import Broken
from tiltpy.frontend.names import nearest
from tiltpy.frontend.times import Times, offset
from tiltpy.ir.nodes import EventBound, Window
from tiltpy.source import Span
from tiltpy.types import I64, Type


@dataclass(frozen=True, slots=True)
class Objects:
    """The temporal objects that a body may refer to.

    `types` are those elaborated so far; `broken` has those (as `~x`) that were wrong or
    unknown, which has been said.
    """

    types: dict[str, Type]
    inputs: frozenset[str]
    broken: set[str]


def payload_of(ref: syntax.Ref, objects: Objects) -> Type:
    """The payload type of the object that a reference names."""
    name = ref.object
    if f"~{name}" in objects.broken:
        raise Broken
    if name not in objects.types:
        objects.broken.add(f"~{name}")  # said once
        way = nearest(name, objects.types, "~")
        raise QueryError("E0101", f"unknown object ~{name}", _name_span(ref), way)
    return objects.types[name]


def _name_span(ref: syntax.Ref) -> Span:
    """Where the name of a reference stands (all of it, if it is from Python)."""
    source, start = ref.span.source, ref.span.start
    named = source.text.startswith(f"~{ref.object}", start)
    return Span(source, start, start + 1 + len(ref.object)) if named else ref.span


def read_window(ref: syntax.Ref, time: str, times: Times) -> Window:
    """The window of a reference with two bounds."""
    assert ref.start is not None
    assert ref.stop is not None
    start = offset(ref.start, time, times)
    stop = offset(ref.stop, time, times)
    if start >= stop:
        fault = "is empty" if start == stop else "ends before it starts"
        raise QueryError(
            "E0109",
            f"this window {fault}",
            ref.start.span.join(ref.stop.span),
            f"the earlier time stands first, like {time} - 10 : {time}",
        )
    return Window(ref.object, start, stop, ref.span)


def read_event_bound(
    call: syntax.Call, time: str, times: Times, objects: Objects
) -> EventBound:
    """`start(~x[t])` or `end(~x[t])` of an input."""
    which = "start" if call.callee.text == "start" else "end"
    ref = call.arguments[0]
    while isinstance(ref, syntax.Paren):
        ref = ref.operand
    if not isinstance(ref, syntax.Ref) or ref.start is None or ref.stop is not None:
        raise QueryError(
            "E0112",
            f"{which}() takes a point reference of an input",
            ref.span,
            f"write {which}(~x[{time}])",
        )
    payload_of(ref, objects)
    if ref.object not in objects.inputs:
        raise QueryError(
            "E0112",
            f"~{ref.object} is no input; only their events have bounds",
            ref.span,
            "refer to the input itself",
        )
    ticks = offset(ref.start, time, times)
    return EventBound(
        "start" if which == "start" else "end", ref.object, ticks, I64, call.span
    )
