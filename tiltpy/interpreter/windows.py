"""Windows: their snapshots, their reductions, and when two hold the same snapshots."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import assert_never

from tiltpy.interpreter import order_statistics as orders
from tiltpy.interpreter import scalars as numbers
from tiltpy.interpreter.calendars import cell_of
from tiltpy.interpreter.objects import (
    EvaluationScope,
    Event,
    EventObject,
    Meaning,
    Snapshot,
    Value,
)
from tiltpy.interpreter.scalars import Atom, Number
from tiltpy.ir.nodes import (
    CellSpan,
    CutWindow,
    Element,
    Expr,
    IntervalSpan,
    LastRows,
    Reduce,
    Since,
    UserReduction,
    Window,
)
from tiltpy.ir.reductions import END, START, STATE
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import ALL_FUTURE, ALL_PAST, STRING, Struct, Type


def contributes_same(meaning: Meaning, cut: CutWindow, early: int, late: int) -> bool:
    """Tell whether two windows have the same contributing snapshots.

    The windows are those of `cut` at the grid points `early` and `late`. Both are taken
    from one time range that covers both, so that a snapshot is the same one where its
    index in that range is the same.
    """
    rows = _rows_between(meaning, cut.window, early, late)

    def contributors(time: int) -> list[tuple[int, ...]]:
        members, low, high = _members(meaning, cut.window, rows, time)
        present = EvaluationScope(time)
        return [
            (i, *cut_to(rows[i], low, high)) if cut.bounds else (i,)
            for i in members
            if _element(meaning, cut.element, rows[i], present) is not None
        ]

    seen = contributors(early), contributors(late)
    match cut.window.look:
        case "last":
            return seen[0][-1:] == seen[1][-1:]
        case "next" | "nearest":
            times = early, late
            early_row, late_row = (
                _looked_at(cut.window, rows, [index for index, *_ in each], time)
                for each, time in zip(seen, times, strict=True)
            )
            return early_row == late_row
        case None:
            return seen[0] == seen[1]
        case _:
            assert_never(cut.window.look)


def _looked_at(
    window: Window, rows: Sequence[Snapshot | Event], members: Sequence[int], time: int
) -> int | None:
    """Find the row that a look ahead or around sees, of one stamp the last."""
    if not members:
        return None
    stamps = {i: _stamp(window, rows[i]) for i in members}
    if window.look == "nearest":
        target = time + window.center
        stamp = min(stamps.values(), key=lambda each: (abs(each - target), each))
    else:
        stamp = min(stamps.values())
    return max(i for i in members if stamps[i] == stamp)


def _stamp(window: Window, row: Snapshot | Event) -> int:
    """Find the tick of a row by which looks go: its first one, or its last."""
    return row.end if window.edge == "end" else row.start + 1


def _element(
    meaning: Meaning, element: Expr, row: Snapshot | Event, present: EvaluationScope
) -> Value | None:
    """Evaluate an element for a row of a window in the present of that window."""
    if isinstance(element, Element):
        return row.value
    scope = EvaluationScope(
        present.time, element=row.value, element_start=row.start, row=present.row
    )
    return meaning.evaluate(element, scope)


def _low(meaning: Meaning, window: Window, time: int) -> int:
    """Find where a window begins that has a length."""
    match window.cells:
        case None:
            return time + window.start
        case CellSpan(calendar=calendar, count=count):
            return cell_of(calendar, time, count)[0]
        case IntervalSpan(input=name, count=count):
            begun = meaning.objects[name].window(meaning.horizon[0], time)
            assert begun[-1].end == time, "cells of a time at which none ends"
            return begun[-count:][0].start
        case _:
            assert_never(window.cells)


def _rows_between(
    meaning: Meaning, window: Window, early: int, late: int
) -> Sequence[Snapshot | Event]:
    """List all rows that the windows at two times may hold, each with its own start."""
    first, last = meaning.horizon
    fixed = window.start != ALL_PAST and window.edge is None
    low = _low(meaning, window, early) if fixed else first
    high = last if window.end == ALL_FUTURE else late + window.end
    if isinstance(window.limit, LastRows):
        low = first
    return meaning.objects[window.object].window(low, high)


def _members(
    meaning: Meaning,
    window: Window,
    rows: Sequence[Snapshot | Event],
    time: int,
) -> tuple[list[int], float, float]:
    """Find which rows the window at a time holds, and the bounds of that window."""
    low = -inf if window.start == ALL_PAST else _low(meaning, window, time)
    high = inf if window.end == ALL_FUTURE else time + window.end
    if window.edge == "end":
        begun = [i for i, row in enumerate(rows) if row.end <= high]
    else:
        begun = [i for i, row in enumerate(rows) if row.start < high]
    match window.limit:
        case LastRows(count=count):
            begun = begun[-count:]
        case Since(object=condition):
            restart = _restart(meaning, condition, high)
            if restart is None:
                return [], low, high
            if window.edge == "start":
                begun = [i for i in begun if rows[i].start > restart]
            else:
                low = max(low, restart)
        case None:
            pass
        case _:
            assert_never(window.limit)
    if window.edge == "start":
        return [i for i in begun if rows[i].start >= low], low, high
    return [i for i in begun if low < rows[i].end], low, high


def _rows_by_row(
    meaning: Meaning, window: Window, time: int, own_row: int
) -> tuple[list[Event], float, float]:
    """List the rows of a window that ends with a row, and the bounds of that window."""
    low = -inf if window.start == ALL_PAST else _low(meaning, window, time)
    rows = _events(meaning, window.object).rows_to(own_row)
    match window.limit:
        case LastRows(count=count):
            rows = rows[-count:]
        case Since(object=condition):
            conditions = _events(meaning, condition).rows_to(own_row)
            true = [number for number, row in conditions if row.value is True]
            after = window.edge == "start"
            rows = [each for each in rows if true and each[0] >= true[-1] + after]
        case None:
            pass
        case _:
            assert_never(window.limit)
    if window.edge == "start":
        return [row for _, row in rows if row.start >= low], low, time
    return [row for _, row in rows if low < row.end], low, time


def _events(meaning: Meaning, name: str) -> EventObject:
    """Find an input, or an object over rows."""
    events = meaning.objects[name]
    assert isinstance(events, EventObject), "windows by row are of rows"
    return events


def _restart(meaning: Meaning, condition: str, high: float) -> int | None:
    """Find the latest start before `high` of a true snapshot."""
    first, last = meaning.horizon
    rows = meaning.objects[condition].window(first, int(min(high, last)))
    starts = [row.start for row in rows if row.value is True]
    return max(starts, default=None)


def reduce_window(
    meaning: Meaning, expr: Reduce, scope: EvaluationScope
) -> Value | None:
    """Fold the window's snapshots in order, each once, skipping φ."""
    time = scope.time
    rows: Sequence[Snapshot | Event]
    if expr.window.by_row:
        assert scope.row is not None
        rows, low, high = _rows_by_row(meaning, expr.window, time, scope.row)
    else:
        within = _rows_between(meaning, expr.window, time, time)
        members, low, high = _members(meaning, expr.window, within, time)
        rows = [within[i] for i in members]
    if expr.reduction in meaning.user_reductions:
        return fold_user_reduction(
            meaning,
            meaning.user_reductions[expr.reduction],
            expr.element,
            rows,
            low,
            high,
            scope,
        )
    if expr.window.look in ("next", "nearest"):
        index = _looked_at(expr.window, rows, range(len(rows)), time)
        return (
            None
            if index is None
            else _element(meaning, expr.element, rows[index], scope)
        )
    values = [_element(meaning, expr.element, row, scope) for row in rows]
    present = [value for value in values if value is not None]
    if expr.reduction == "count":
        return len(present)
    if not present:
        return None
    if expr.reduction in ("first", "last"):
        return present[0 if expr.reduction == "first" else -1]
    if isinstance(expr.type, Struct):
        names = [name for name, _ in expr.type.fields]
        atoms = _atoms(present)
        if expr.reduction == "modes":
            return dict(zip(names, orders.modes(atoms, len(names) // 2), strict=True))
        return dict(zip(names, orders.top(atoms, len(names)), strict=True))
    if expr.reduction in WHOLE_WINDOW:
        statistic = orders.reduce(
            expr.reduction, _atoms(present), expr.parameter, expr.method
        )
        temporal = expr.type.is_temporal
        return numbers.ticks(number_of(statistic)) if temporal else statistic
    if expr.type == STRING:
        return numbers.reduce_strings(expr.reduction, list(map(string_of, present)))
    scalars = [number_of(value) for value in present]
    return numbers.reduce(expr.reduction, scalars, expr.type, expr.ddof)


def fold_user_reduction(
    meaning: Meaning,
    reduction: UserReduction,
    element: Expr,
    rows: Sequence[Snapshot | Event],
    start: float,
    end: float,
    present: EvaluationScope,
) -> Value | None:
    """Fold the `rows` of `(start, end]` by `acc` alone, with `element` of each.

    Elements may refer to the `present`.
    """

    def evaluate(expr: Expr, names: Mapping[str, Value | None]) -> Value | None:
        return meaning.evaluate(expr, EvaluationScope(present.time, names))

    state, is_empty = whole_state(evaluate(reduction.init, {}), reduction.state), True
    for row in rows:
        value = _element(meaning, element, row, present)
        if value is None:
            continue
        first, last = cut_to(row, start, end)
        seen = {reduction.parameter: value, START: first, END: last}
        state = whole_state(
            evaluate(reduction.acc, {STATE: state, **seen}), reduction.state
        )
        is_empty = False
    return None if is_empty else evaluate(reduction.result, {STATE: state})


def whole_state(state: Value | None, type: Type) -> Value | None:
    """Give a state its fields: those of a struct that is φ are φ."""
    if state is None and isinstance(type, Struct):
        return dict.fromkeys(name for name, _ in type.fields)
    return state


def cut_to(row: Snapshot | Event, start: float, end: float) -> tuple[int, int]:
    """Cut the bounds of a snapshot to `(start, end]`, which may be infinite."""
    return int(max(row.start, start)), int(min(row.end, end))


def number_of(value: Value) -> Number:
    """Take a value for a number, which its type says it is."""
    assert not isinstance(value, (dict, str)), f"{value!r} where a number is expected"
    return value


def _atoms(values: Sequence[Value]) -> list[Atom]:
    atoms = [value for value in values if not isinstance(value, dict)]
    assert len(atoms) == len(values), "a struct where a scalar is expected"
    return atoms


def string_of(value: Value) -> str:
    """Take a value for a string, which its type says it is."""
    assert isinstance(value, str), f"{value!r} where a string is expected"
    return value
