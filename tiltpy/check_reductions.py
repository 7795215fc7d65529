"""Agreement of the clauses of user-defined reductions, checked over the data itself.

`merge` and `deacc` must agree with `acc`, which the author of a reduction has to see
to. Here it is tried on runs of snapshots such as windows hold: `merge` of the states of
two halves of a run must be the state of the whole, and `deacc` of its first snapshot
the state of the others, all computed by `acc` in the interpreter.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.emit.references import reductions
from tiltpy.engines.local import run
from tiltpy.errors import DataError
from tiltpy.interpreter.evaluate import Value, evaluate, whole_state
from tiltpy.ir.nodes import Expr, Query, Reduce, UserReduction
from tiltpy.ir.reductions import END, NEWER, OLDER, START, STATE
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrow.timestamps import output_stamp
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.row_access import (
    SampleRows,
    rows_of_input,
    rows_of_output,
    show_time,
)
from tiltpy.types import F32, Scalar, Type

RUNS = 1000
"""Runs of snapshots that are tried for each use of a reduction, all over the data."""
KEYS = 200
"""Keys whose snapshots are tried."""
LONGEST = 32
"""Snapshots of a run."""
TOLERANCE = {True: 1e-4, False: 1e-9}
"""By whether a field is `f32`: of the greatest magnitude that the states have there."""

Cut = tuple[int, int]


def check_agreement(
    query: Query,
    bound: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
    compiling: CompileOptions,
) -> None:
    """Try each use of a reduction over the snapshots of its window's object.

    A clause that disagrees is a `DataError` with the reduction, the time and both
    states.
    """
    stamp = output_stamp({n: i.stamps for n, i in bound.items()}, query.unit)
    known: dict[str, list[SampleRows]] = {}
    for reduction, node in _find_uses(query):
        name = node.window.object
        if name not in known:
            declared = query.input(name)
            if declared is not None:
                known[name] = rows_of_input(bound[name], declared.type, KEYS)
            else:
                alone = replace(query, outputs=(name,))
                compiler = Compiler(alone, compiling)
                group = OutputGroup(alone, compiler.compile_for)
                made = run(group, bound, request, options)
                known[name] = rows_of_output(made[name], KEYS)
        _check_use(reduction, node, known[name], partial(show_time, stamp=stamp))


def _find_uses(query: Query) -> Iterator[tuple[UserReduction, Reduce]]:
    """Find the uses of reductions that have clauses which may disagree."""
    user_defined = {each.name: each for each in query.reductions}
    for definition in query.definitions:
        for node in reductions(definition):
            used = user_defined.get(node.reduction)
            if used is not None and (used.merge or used.deacc):
                yield used, node


def _check_use(
    reduction: UserReduction,
    node: Reduce,
    every: list[SampleRows],
    show: Callable[[int], str],
) -> None:
    length = node.window.end - node.window.start
    step = max(1, -(-sum(len(rows.starts) for rows in every) // RUNS))
    for rows in every:
        for first in range(0, len(rows.starts), step):
            window_run = _draw_run(node.element, rows, first, length)
            fault = _find_fault(reduction, window_run) if window_run.values else None
            if fault is not None:
                time = show(int(rows.ends[window_run.last]))
                message = f"the reduction {reduction.name} at {time}: {fault}"
                raise DataError(message, key=rows.key or None)


@dataclass(frozen=True, slots=True)
class _WindowRun:
    """Snapshots of a window: the values that contribute, their bounds, the last row."""

    values: list[Value]
    cuts: list[Cut]
    last: int


def _draw_run(element: Expr, rows: SampleRows, first: int, length: int) -> _WindowRun:
    low = int(rows.starts[first])
    high = low + length
    values: list[Value] = []
    cuts: list[Cut] = []
    row = last = first
    while row < len(rows.starts) and rows.starts[row] < high and len(values) < LONGEST:
        payload = rows.value(row)
        value = None if payload is None else evaluate(element, {}, payload)
        if value is not None:
            values.append(value)
            cuts.append((int(rows.starts[row]), min(int(rows.ends[row]), high)))
            last = row
        row += 1
    return _WindowRun(values, cuts, last)


def _find_fault(reduction: UserReduction, run: _WindowRun) -> str | None:
    """Describe how clauses disagree over a run of snapshots; None if they agree."""
    pairs = list(zip(run.values, run.cuts, strict=True))
    whole = _fold(reduction, pairs)
    count = len(pairs)
    if reduction.merge is not None:
        for cut in sorted({1, count // 2, count - 1} - {0, count}):
            older, newer = _fold(reduction, pairs[:cut]), _fold(reduction, pairs[cut:])
            merged = _state(reduction, reduction.merge, {OLDER: older, NEWER: newer})
            if not _states_agree(reduction.state, merged, whole, (older, newer, whole)):
                return (
                    f"`merge` does not agree with `acc`: of {_show(older)} and "
                    f"{_show(newer)} it makes {_show(merged)}, but over all {count} "
                    f"snapshots `acc` makes {_show(whole)}"
                )
    if reduction.deacc is not None and not reduction.bounds:
        rest = _fold(reduction, pairs[1:])
        seen = {STATE: whole, reduction.parameter: pairs[0][0]}
        merged = _state(reduction, reduction.deacc, seen)
        if not _states_agree(reduction.state, merged, rest, (whole, rest)):
            return (
                f"`deacc` is not the inverse of `acc`: out of {_show(whole)} it takes "
                f"{_show(pairs[0][0])} and leaves {_show(merged)}, but over the other "
                f"{count - 1} `acc` makes {_show(rest)}"
            )
    return None


def _fold(reduction: UserReduction, pairs: list[tuple[Value, Cut]]) -> Value | None:
    state = _state(reduction, reduction.init, {})
    for value, (start, end) in pairs:
        seen = {STATE: state, reduction.parameter: value, START: start, END: end}
        state = _state(reduction, reduction.acc, seen)
    return state


def _state(
    reduction: UserReduction, clause: Expr, names: Mapping[str, Value | None]
) -> Value | None:
    return whole_state(evaluate(clause, names), reduction.state)


def _states_agree(
    kind: Type, left: Value | None, right: Value | None, scale: Sequence[Value | None]
) -> bool:
    """Tell whether two states are the same, as far as floats can be.

    `left` and `right` are states of the type `kind`; `scale` are values by whose
    magnitudes floats may differ.
    """
    if isinstance(kind, Scalar):
        return _scalars_agree(kind, left, right, scale)
    if left is None or right is None:
        return left is right
    return all(
        _states_agree(
            of, _of(left, name), _of(right, name), [_of(s, name) for s in scale]
        )
        for name, of in kind.fields
    )


def _of(state: Value | None, name: str) -> Value | None:
    if state is None:
        return None
    assert isinstance(state, dict)
    value: Value | None = state[name]
    return value


def _scalars_agree(
    scalar: Scalar,
    left: Value | None,
    right: Value | None,
    scale: Sequence[Value | None],
) -> bool:
    if not isinstance(left, float) or not isinstance(right, float):
        return left == right
    if left == right or (math.isnan(left) and math.isnan(right)):
        return True
    finite = [abs(s) for s in scale if isinstance(s, float) and math.isfinite(s)]
    within = TOLERANCE[scalar == F32] * max([1.0, *finite])
    return abs(left - right) <= within


def _show(value: Value | None) -> str:
    match value:
        case None:
            return "φ"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            fields = (f"{name} = {_show(field)}" for name, field in value.items())
            return "{ " + ", ".join(fields) + " }"
        case _:
            return str(value)
