"""References to temporal objects: `~x[t]`, `~x[a : b]`, `start(~x[t])`."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.tick_constants import Times, offset
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.fresh_names import fresh_name, nearest
from tiltpy.frontend.surface.poison import Broken
from tiltpy.frontend.surface.size_limits import Expansion
from tiltpy.ir.keys import Keys, definition_keys, shown
from tiltpy.ir.nodes import EventBound, Expr, TemporalExpr, Window
from tiltpy.ir.print.query import format_expr
from tiltpy.ir.traversal import source_cuts
from tiltpy.limits import MAX_OBJECTS
from tiltpy.source import Span
from tiltpy.types import I64, TDom, Type


@dataclass(slots=True)
class Objects:
    """The temporal objects that a body may refer to, and those that bodies define.

    `types` are those elaborated so far, `keys` their key columns; `broken` has those
    (as `~x`) that were wrong or unknown, which has been said; `taken` are all names of
    the query, `found` the names that its bodies' own objects got, `definitions` all
    that is defined so far. `expansion` counts what functions are written out to.
    """

    types: dict[str, Type]
    keys: dict[str, Keys]
    inputs: frozenset[str]
    broken: set[str]
    taken: set[str] = field(default_factory=set)
    found: dict[tuple[TDom, str], str] = field(default_factory=dict)
    definitions: list[TemporalExpr] = field(default_factory=list)
    expansion: Expansion = field(default_factory=Expansion)

    def named(self) -> list[str]:
        """The objects that have a name in the query's text."""
        own = set(self.found.values())
        return [name for name in self.types if name not in own]

    def define(self, name: str, tdom: TDom, body: Expr, span: Span) -> str:
        """The name of a body's own object; equal ones are one object."""
        key = tdom, format_expr(body)
        if key not in self.found:
            fresh = fresh_name(name, self.taken)
            self.taken.add(fresh)
            self.found[key] = fresh
            self.add(TemporalExpr(fresh, tdom, body, source_cuts(body), span))
        return self.found[key]

    def add(self, definition: TemporalExpr) -> None:
        """From now on the object can be referred to."""
        if len(self.definitions) >= MAX_OBJECTS:
            raise QueryError(
                "E0304",
                f"more than {MAX_OBJECTS:,} definitions, those in functions included",
                definition.span,
                "split the query in two: the outputs of one can be the inputs of the "
                "other",
            )
        self.types[definition.name] = definition.type
        self.keys[definition.name] = definition_keys(definition, self.keys)
        self.definitions.append(definition)


def unknown_object(ref: syntax.Ref, known: Iterable[str], way: str = "") -> QueryError:
    """The error that nothing is called so."""
    name = ref.object
    way = way or nearest(name, known, "~") or f"declare it, like input {name} : f64"
    return QueryError("E0101", f"unknown object ~{name}", _name_span(ref), way)


def payload_of(ref: syntax.Ref, objects: Objects) -> Type:
    """The payload type of the object that a reference names."""
    name = ref.object
    if f"~{name}" in objects.broken:
        raise Broken
    if name not in objects.types:
        objects.broken.add(f"~{name}")  # said once
        raise unknown_object(ref, objects.named())
    return objects.types[name]


def other_keys(ref: syntax.Ref, first: syntax.Ref, objects: Objects) -> QueryError:
    """The error that objects of different keys meet."""
    keys, known = objects.keys[ref.object], objects.keys[first.object]
    return QueryError(
        "E0117",
        f"~{ref.object} is by {shown(keys)}, and ~{first.object} beside it by "
        f"{shown(known)}",
        _name_span(ref),
        "objects meet key by key: declare their inputs by the same columns, in order",
    )


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


def read_alive(ref: syntax.Ref, time: str, times: Times, objects: Objects) -> Window:
    """The window `(t-1, t]` of an input, in which all events alive at `t` are."""
    assert ref.start is not None
    if ref.stop is not None:
        raise QueryError(
            "E0113",
            "the events alive at a time are wanted here, and this is a window",
            ref.span,
            f"write ~{ref.object}[{time}], or a reduction without `_active`",
        )
    if ref.object not in objects.inputs:
        raise QueryError(
            "E0112",
            f"~{ref.object} is no input; only their events overlap",
            ref.span,
            "a derived object has one value at a time: refer to an input",
        )
    ticks = offset(ref.start, time, times)
    return Window(ref.object, ticks - 1, ticks, ref.span)


def read_event_bound(
    call: syntax.Call, ref: syntax.Expr, time: str, times: Times, objects: Objects
) -> EventBound:
    """`start(ref)` or `end(ref)`, where `ref` is a point reference of an input."""
    which = "start" if call.callee.text == "start" else "end"
    if not isinstance(ref, syntax.Ref) or ref.start is None or ref.stop is not None:
        raise QueryError(
            "E0112",
            f"{which}() takes a point reference of an input",
            ref.span,
            f"write {which}(~x[{time}])",
        )
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
