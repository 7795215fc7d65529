"""Windows and as-of looks: the bounds of `~x[left : right within d]`.

A left end is a time, `-∞`, `last n`, or a restart (`since ~c`, `after ~c`). An as-of
look reads one snapshot: `~x[last : t]` that of the greatest stamp up to `t`, and
`~x[t : next]` that of the least from `t` on, in windows of snapshots that start there.
"""

from collections.abc import Callable
from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.elaborator import Elaborator
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import (
    check_range,
    is_duration,
    is_endless,
    read_constant,
    read_offset,
)
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.hints.windows import hint_restart
from tiltpy.frontend.surface import syntax
from tiltpy.ir.nodes import (
    CellSpan,
    Edge,
    Element,
    ElementStart,
    Expr,
    IntervalSpan,
    LastRows,
    Limit,
    Look,
    Reduce,
    Since,
    Window,
)
from tiltpy.lifetimes import Sampled
from tiltpy.limits import MAX_LAST_ROWS
from tiltpy.source import Span
from tiltpy.types import ALL_FUTURE, ALL_PAST, BOOL, I64, MAX_OFFSET, Type

LAST, NEXT = "last", "next"
Resolve = Callable[[Elaborator, syntax.Ref], tuple[syntax.Ref, tuple[syntax.Word, ...]]]
"""Resolves a reference to an object of the query, and to a field of it."""


def is_as_of(ref: syntax.Ref) -> bool:
    """Tell whether a reference looks for one snapshot before or after a time."""
    return (
        isinstance(ref.start, syntax.Nearest)
        or _is_word(ref.start, LAST)
        or _is_word(ref.stop, NEXT)
    )


def _is_word(bound: syntax.Expr | None, word: str) -> bool:
    return isinstance(bound, syntax.Name) and bound.text == word


def read_window(elaborator: Elaborator, ref: syntax.Ref, resolve: Resolve) -> Window:
    """Read the window of a reference with two bounds."""
    assert ref.start is not None
    assert ref.stop is not None
    if isinstance(ref.stop, syntax.RowEnd):
        window = read_window(
            elaborator, _end_at_row(elaborator, ref, ref.stop), resolve
        )
        return replace(window, by_row=True)
    stop = _offset(elaborator, ref.stop)
    limit: Limit | None = None
    edge: Edge | None = None
    match ref.start:
        case syntax.RestartEnd():
            limit = _read_restart(elaborator, ref.start, resolve)
            edge = "start" if ref.start.after else None
        case syntax.RowsEnd():
            limit = _read_row_count(elaborator, ref.start)
        case syntax.InfixOperation(
            op="-",
            left=syntax.Name(text=text),
            right=syntax.CellCount() as cells,
        ) if text == elaborator.scope.time:
            return _read_cells(elaborator, ref, cells, stop)
        case _ if _is_all_past(ref.start, elaborator.scope):
            pass
        case _:
            return _read_fixed(elaborator, ref, stop)
    start = ALL_PAST
    if ref.within is not None:
        start = stop - _read_length(elaborator, ref.within)
    return Window(ref.object, start, stop, limit, edge, span=ref.span)


def _end_at_row(
    elaborator: Elaborator, ref: syntax.Ref, end: syntax.RowEnd
) -> syntax.Ref:
    """Take the word `row` off the end of a window, which is the row itself then."""
    time = elaborator.scope.time
    if not isinstance(end.time, syntax.Name) or end.time.text != time:
        raise QueryError(
            "E0109",
            "`row` ends a window with the row itself, and this is another time",
            end.span,
            f"write row {time}, or a time without `row`",
        )
    return replace(ref, stop=end.time)


def _read_fixed(elaborator: Elaborator, ref: syntax.Ref, stop: int) -> Window:
    """Read the window between two times."""
    assert ref.start is not None
    assert ref.stop is not None
    time, start = elaborator.scope.time, _offset(elaborator, ref.start)
    if ref.within is not None:
        raise QueryError(
            "E0109",
            "`within` beside a window between two times, which has a length",
            ref.within.span,
            f"leave it out, or write ~{ref.object}[last : {time} within ...]",
        )
    if start >= stop:
        fault = "is empty" if start == stop else "ends before it starts"
        raise QueryError(
            "E0109",
            f"this window {fault}",
            ref.start.span.join(ref.stop.span),
            f"the earlier time comes first, like {time} - 10 : {time}",
        )
    return Window(ref.object, start, stop, span=ref.span)


def _read_cells(
    elaborator: Elaborator, ref: syntax.Ref, cells: syntax.CellCount, stop: int
) -> Window:
    """Read the window of the last cells: `~x[d - 1 cell : d]`."""
    assert ref.start is not None
    assert ref.stop is not None
    scope = elaborator.scope
    if ref.within is not None:
        message = "`within` beside a window of cells, which has a length"
        raise QueryError("E0109", message, ref.within.span, "leave it out")
    if stop:
        message = f"a window of cells ends at `{scope.time}`"
        start = quote(ref.start)
        hint = f"write ~{ref.object}[{start} : {scope.time}]"
        raise QueryError("E0109", message, ref.stop.span, hint)
    if not cells.count:
        message = "this window is empty"
        hint = f"one cell is {scope.time} - 1 cell : {scope.time}"
        raise QueryError("E0109", message, cells.span, hint)
    if scope.tdom != scope.points:
        message = "a function does not know the cells of its caller"
        hint = "name the object: ~y[d] = ...; or give the window a duration"
        raise QueryError("E0109", message, cells.span, hint)
    calendar, source = scope.tdom.calendar, scope.tdom.cells
    if scope.tdom.rows is not None:
        message = "rows are no cells: they may overlap"
        hint = f"write {scope.time} = TDom(cells of ~{scope.tdom.rows}), or last n"
        raise QueryError("E0109", message, cells.span, hint)
    if source is not None:
        intervals = IntervalSpan(source, cells.count)
        return Window(ref.object, -MAX_OFFSET, 0, cells=intervals, span=ref.span)
    reach = check_range(-cells.count * scope.tdom.longest, cells.span)
    span = None if calendar is None else CellSpan(calendar, cells.count)
    return Window(ref.object, reach, 0, cells=span, span=ref.span)


def _is_all_past(start: syntax.Expr, scope: Scope) -> bool:
    """Tell whether a left end is -∞, or a time minus ∞."""
    match start:
        case syntax.Paren(operand=operand):
            return _is_all_past(operand, scope)
        case syntax.PrefixOperation(op="-", operand=length):
            return is_endless(length, scope.times)
        case syntax.InfixOperation(op="-", left=syntax.Name(text=time), right=length):
            return time == scope.time and is_endless(length, scope.times)
        case _:
            return False


def _offset(elaborator: Elaborator, bound: syntax.Expr) -> int:
    """Read a bound that is a time."""
    time, times = elaborator.scope.time, elaborator.scope.times
    match bound:
        case syntax.Strict():
            raise QueryError(
                "E0109",
                "`<` in a window; its left bound is open and its right one closed",
                bound.span,
                f"write {time} - 1 to leave out the last tick; `<` stands in as-of "
                f"looks, like [last : <{time}]",
            )
        case syntax.RowEnd():
            raise QueryError(
                "E0109",
                "`row` is allowed at the right end of a window only",
                bound.span,
                f"like ~x[-∞ : row {time}]",
            )
        case syntax.RestartEnd() | syntax.RowsEnd() | syntax.Nearest():
            raise QueryError(
                "E0109",
                "this is allowed at the left end of a window",
                bound.span,
                f"like ~x[last 20 : {time}]",
            )
        case _:
            return read_offset(bound, time, times)


def _read_length(elaborator: Elaborator, within: syntax.Expr) -> int:
    """Read the length behind `within`."""
    length = read_constant(within, elaborator.scope.times)
    if length < 0:
        raise QueryError(
            "E0109",
            "`within` a negative length",
            within.span,
            "it is a distance: write it without a sign",
        )
    return length


def _read_row_count(elaborator: Elaborator, node: syntax.RowsEnd) -> Limit:
    """Read the number of rows behind `last`."""
    if isinstance(node.count, syntax.Number) and isinstance(node.count.value, float):
        raise QueryError(
            "E0109",
            "`last` takes a whole number of rows",
            node.count.span,
            "write last 10",
        )
    count = read_constant(node.count, elaborator.scope.times)
    if is_duration(node.count, elaborator.scope.times):
        time, text = elaborator.scope.time, quote(node.count, "10s")
        raise QueryError(
            "E0109",
            "`last` takes a number of rows, and this is a length of time",
            node.count.span,
            f"write [{time} - {text} : {time}]",
        )
    if not 0 < count <= MAX_LAST_ROWS:
        raise QueryError(
            "E0109",
            f"the last {count} rows",
            node.count.span,
            f"a window holds 1 to {MAX_LAST_ROWS:,} of them",
        )
    return LastRows(count)


def _read_restart(
    elaborator: Elaborator, node: syntax.RestartEnd, resolve: Resolve
) -> Limit:
    """Read the object whose true snapshots restart a window."""
    word = "after" if node.after else "since"
    target, fields = resolve(elaborator, node.condition)
    payload = elaborator.objects.payload_type(target)
    if elaborator.objects.keys[target.object]:
        if elaborator.keyed is None:
            elaborator.keyed = target
        elaborator.objects.require_same_keys(target, elaborator.keyed)
    if payload != BOOL or fields:
        raise QueryError(
            "E0201",
            f"`{word}` takes an object of bools, and ~{target.object} is of {payload}",
            node.condition.span,
            hint_restart(target.object, elaborator.scope.time),
        )
    return Since(target.object)


def elaborate_as_of(elaborator: Elaborator, ref: syntax.Ref, payload: Type) -> Expr:
    """Elaborate an as-of look: the snapshot of the nearest stamp on one side."""
    time = elaborator.scope.time
    if elaborator.frame is not None:
        inside = QueryError(
            "E0113",
            f"an as-of look at ~{ref.object} is inside a reduction",
            ref.span,
            "a look is one value; reduce a window, "
            f"like ~{ref.object}[last 10 : {time}]",
        )
        elaborator.frame.see_present(inside)
    length = None
    if ref.within is not None:
        length = _read_length(elaborator, ref.within)
    if isinstance(ref.start, syntax.Nearest):
        return _elaborate_nearest(elaborator, ref, payload, length)
    back = _is_word(ref.start, LAST)
    bound = ref.stop if back else ref.start
    if bound is None or (back and _is_word(ref.stop, NEXT)):
        raise QueryError(
            "E0109",
            "an as-of look has a time at its other end",
            ref.span,
            f"write ~{ref.object}[last : {time}] or ~{ref.object}[{time} : next]",
        )
    strict = isinstance(bound, syntax.Strict)
    if isinstance(bound, syntax.Strict):
        bound = bound.time
    offset = _offset(elaborator, bound)
    if back:
        start = ALL_PAST if length is None else offset - length - 1
        stop = offset - 1 if strict else offset
    else:
        start = offset if strict else offset - 1
        stop = ALL_FUTURE if length is None else offset + length
    if start >= stop:
        raise QueryError(
            "E0109",
            "this as-of look leaves no time",
            ref.span,
            "give `within` a longer distance, or leave `<` out",
        )
    for ticks in {start, stop} - {ALL_PAST, ALL_FUTURE}:
        check_range(ticks, ref.span)
    edge = _stamped_edge(elaborator, ref.object)
    look: Look = "last" if back else "next"
    window = Window(ref.object, start, stop, None, edge, look, span=ref.span)
    reduction = "last" if back else "first"
    return Reduce(reduction, window, Element(payload, ref.span), payload, span=ref.span)


def _elaborate_nearest(
    elaborator: Elaborator, ref: syntax.Ref, payload: Type, length: int | None
) -> Expr:
    """Elaborate `~x[nearest t within length]`."""
    assert isinstance(ref.start, syntax.Nearest)
    if ref.stop is not None:
        raise QueryError(
            "E0109",
            "`nearest` looks to both sides, and has no other end",
            ref.stop.span,
            f"write ~{ref.object}[nearest {elaborator.scope.time}]",
        )
    center = _offset(elaborator, ref.start.time)
    start, stop = ALL_PAST, ALL_FUTURE
    if length is not None:
        start, stop = center - length - 1, center + length
        for ticks in (start, stop):
            check_range(ticks, ref.span)
    edge = _stamped_edge(elaborator, ref.object)
    window = Window(
        ref.object, start, stop, None, edge, "nearest", center, span=ref.span
    )
    return Reduce("last", window, Element(payload, ref.span), payload, span=ref.span)


def elaborate_look_start(
    elaborator: Elaborator, ref: syntax.Ref, which: str, span: Span
) -> Expr:
    """Elaborate `start()` of an as-of look: where the snapshot that it sees begins."""
    if which != "start":
        raise QueryError(
            "E0112",
            f"{which}() of an as-of look at ~{ref.object}; start() of it is known",
            span,
            f"write start(~{ref.object}[...]), or carry the end in a field",
        )
    look = elaborate_as_of(elaborator, ref, I64)
    assert isinstance(look, Reduce)
    return replace(look, element=ElementStart(I64, ref.span), span=span)


def _stamped_edge(elaborator: Elaborator, name: str) -> Edge:
    """Find which tick of a snapshot is its stamp: of samples the last."""
    objects = elaborator.objects
    lifetime = objects.lifetimes.get(objects.roots.get(name, name))
    return "end" if isinstance(lifetime, Sampled) else "start"
