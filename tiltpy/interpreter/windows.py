"""Windows: their snapshots, their reductions, and when two hold the same snapshots."""

from collections.abc import Mapping, Sequence

from tiltpy.interpreter import order_statistics as orders
from tiltpy.interpreter import scalars as numbers
from tiltpy.interpreter.objects import EvaluationScope, Event, Meaning, Snapshot, Value
from tiltpy.interpreter.scalars import Atom, Number
from tiltpy.ir.nodes import CutWindow, Expr, Reduce, UserReduction
from tiltpy.ir.reductions import END, START, STATE
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import STRING, Struct, Type


def contributes_same(meaning: Meaning, cut: CutWindow, early: int, late: int) -> bool:
    """Tell whether two windows have the same contributing snapshots.

    The windows are those of `cut` at the grid points `early` and `late`. Both are taken
    from one time range that covers both, so that a snapshot is the same one where its
    index in that range is the same.
    """
    window = cut.window
    seen = meaning.objects[window.object]
    rows = seen.window(early + window.start, late + window.end)

    def contributors(time: int) -> list[tuple[int, ...]]:
        start, end = time + window.start, time + window.end
        return [
            (i, *cut_to(row, start, end)) if cut.bounds else (i,)
            for i, row in enumerate(rows)
            if row.start < end
            and start < row.end
            and meaning.evaluate(cut.element, EvaluationScope(time, element=row.value))
            is not None
        ]

    return contributors(early) == contributors(late)


def reduce_window(
    meaning: Meaning, expr: Reduce, scope: EvaluationScope
) -> Value | None:
    """Fold the window's snapshots in order, each once, skipping φ."""
    window = expr.window
    start, end = scope.time + window.start, scope.time + window.end
    rows = meaning.objects[window.object].window(start, end)
    if expr.reduction in meaning.user_reductions:
        return fold_user_reduction(
            meaning,
            meaning.user_reductions[expr.reduction],
            expr.element,
            rows,
            start,
            end,
        )
    values = [
        meaning.evaluate(expr.element, EvaluationScope(scope.time, element=row.value))
        for row in rows
    ]
    present = [value for value in values if value is not None]
    if expr.reduction == "count":
        return len(present)
    if not present:
        return None
    if isinstance(expr.type, Struct):
        names = [name for name, _ in expr.type.fields]
        return dict(zip(names, orders.top(_atoms(present), len(names)), strict=True))
    if expr.reduction in WHOLE_WINDOW:
        statistic = orders.reduce(expr.reduction, _atoms(present), expr.parameter)
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
    start: int,
    end: int,
) -> Value | None:
    """Fold the `rows` of `(start, end]` by `acc` alone, with `element` of each."""

    def evaluate(expr: Expr, names: Mapping[str, Value | None]) -> Value | None:
        return meaning.evaluate(expr, EvaluationScope(end, names))

    state, is_empty = whole_state(evaluate(reduction.init, {}), reduction.state), True
    for row in rows:
        value = meaning.evaluate(element, EvaluationScope(end, element=row.value))
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


def cut_to(row: Snapshot | Event, start: int, end: int) -> tuple[int, int]:
    """Cut the bounds of a snapshot to `(start, end]`."""
    return max(row.start, start), min(row.end, end)


def number_of(value: Value) -> Number:
    """Take a value for a number, which its type says it is."""
    assert not isinstance(value, Mapping | str), f"{value!r} where a number is expected"
    return value


def _atoms(values: Sequence[Value]) -> list[Atom]:
    atoms = [value for value in values if not isinstance(value, Mapping)]
    assert len(atoms) == len(values), "a struct where a scalar is expected"
    return atoms


def string_of(value: Value) -> str:
    """Take a value for a string, which its type says it is."""
    assert isinstance(value, str), f"{value!r} where a string is expected"
    return value
