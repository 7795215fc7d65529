"""Evaluation of a query, cell by cell: the oracle of the tests.

Written from what a query means and from nothing in the compiler, slow and obvious on
purpose. An object is asked for its snapshots over a time range and finds them by
walking its grid: for each grid point `g` it evaluates the body, and between each two
neighbouring cells it asks every cut whether both see the same. Source queries and
queries after any pass mean the same here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import assert_never

from tiltpy.errors import DataError
from tiltpy.interpreter.expressions import evaluate_expression
from tiltpy.interpreter.objects import (
    FOREVER,
    DerivedObject,
    EvaluationScope,
    Event,
    InputObject,
    LastEvent,
    RowObject,
    Snapshot,
    TemporalObject,
    Value,
    grid_cells,
)
from tiltpy.interpreter.windows import contributes_same, whole_state
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Expr,
    InlinedCut,
    IntervalSpan,
    Query,
    TemporalExpr,
    UserReduction,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import ALL_FUTURE, ALL_PAST, Bound

__all__ = [
    "FOREVER", "Event", "LastEvent", "Snapshot", "Value", "evaluate", "interpret",
    "whole_state",
]  # fmt: skip


def interpret(
    query: Query,
    events: Mapping[str, Sequence[Event]],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, list[Snapshot]]:
    """Compute the snapshots of every output, in order.

    `events` holds each input's events in order of start, then tie order. `start` and
    `end` are the domain, in ticks, where the caller gives it; `bounds` the run-time
    bounds by name. A missing input or bound, or a start after its end, is a
    `DataError`.
    """
    _check_domain(start, end)
    meaning = _QueryMeaning.of(query, events, bounds or {})
    return {name: meaning.output(name, start, end) for name in query.outputs}


def evaluate(
    expr: Expr, names: Mapping[str, Value | None], element: Value | None = None
) -> Value | None:
    """Evaluate an expression without objects: an element, a user reduction's clause."""
    return _QueryMeaning({}).evaluate(expr, EvaluationScope(0, names, element))


@dataclass(frozen=True, slots=True)
class _QueryMeaning:
    """All objects of a query, and the evaluation of expressions over them."""

    objects: dict[str, TemporalObject]
    user_reductions: Mapping[str, UserReduction] = field(default_factory=dict)
    horizon: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls,
        query: Query,
        events: Mapping[str, Sequence[Event]],
        bounds: Mapping[str, int],
    ) -> "_QueryMeaning":
        """Make the objects of a query over the events of each input."""
        user_reductions = {each.name: each for each in query.reductions}
        meaning = cls({}, user_reductions, _horizon(query, events, bounds))
        for each in query.inputs:
            if each.name not in events:
                raise DataError("no data was given for it", input=each.name)
            before = 1 if each.lifetime is None else max(1, each.lifetime.before)
            meaning.objects[each.name] = InputObject(events[each.name], before)
        for definition in query.definitions:
            start = _resolve(definition.tdom.start, bounds)
            end = _resolve(definition.tdom.end, bounds)
            _check_domain(start, end)
            rows = definition.tdom.rows
            derived: DerivedObject | RowObject
            if definition.tdom.cells is not None:
                _check_cells(definition.tdom.cells, events[definition.tdom.cells])
            if rows is None:
                derived = DerivedObject(definition, meaning, start, end)
            else:
                over = meaning.objects[rows]
                assert isinstance(over, InputObject | RowObject)
                derived = RowObject(definition, meaning, over)
            meaning.objects[definition.name] = derived
        return meaning

    # Outputs

    def output(self, name: str, start: int | None, end: int | None) -> list[Snapshot]:
        """Compute an output over its domain `(Ts, Te]`, which the caller may narrow."""
        derived = self.objects[name]
        assert isinstance(derived, DerivedObject | RowObject)
        rows = [e for i in self.inputs_of(derived) for e in i.events]
        first, last = start, end
        if isinstance(derived, DerivedObject):
            first = derived.start if first is None else first
            last = derived.end if last is None else last
        if first is None and rows:
            first = min(e.start for e in rows)
        if last is None and rows:
            last = max(e.domain_end for e in rows)
            if derived.definition.tdom.cells is None:  # no interval goes on behind
                ((_, last),) = grid_cells(derived.definition.tdom, last - 1, last)
        if first is None or last is None:
            return []
        if isinstance(derived, RowObject):
            return derived.rows_within(first, last)
        return derived.snapshots(first, last)

    def inputs_of(self, derived: DerivedObject | RowObject) -> list[InputObject]:
        """Collect the inputs that an object refers to, through others too."""
        inputs: dict[str, InputObject] = {}
        waiting = [derived]
        seen = {derived.definition.name}
        while waiting:
            for name in _objects_of(waiting.pop().definition):
                other = self.objects[name]
                if isinstance(other, InputObject):
                    inputs[name] = other
                elif name not in seen:
                    assert isinstance(other, DerivedObject | RowObject)
                    waiting.append(other)
                seen.add(name)
        return list(inputs.values())

    # Snapshots

    def sees_same(self, cut: Cut, early: int, late: int) -> bool:
        """Tell whether a cut sees the same at two neighbouring grid points."""
        match cut:
            case CutPoint():
                seen = self.objects[cut.object]
                return seen.same(early + cut.offset, late + cut.offset)
            case CutWindow():
                return contributes_same(self, cut, early, late)
            case CutTime():
                return False
            case InlinedCut():
                at_early = self.evaluate(cut.value, EvaluationScope(early))
                at_late = self.evaluate(cut.value, EvaluationScope(late))
                return (at_early is None and at_late is None) or all(
                    self.sees_same(inner, early, late) for inner in cut.cuts
                )
            case _:
                assert_never(cut)

    def evaluate(self, expr: Expr, scope: EvaluationScope) -> Value | None:
        """Evaluate an expression; None where it is φ."""
        return evaluate_expression(self, expr, scope)


def _objects_of(definition: TemporalExpr) -> Iterator[str]:
    """List the objects that the source of a definition refers to: all that cuts it."""
    domain = definition.tdom.rows or definition.tdom.cells
    if domain is not None:
        yield domain
    for cut in leaf_cuts(definition.cuts):
        match cut:
            case CutPoint():
                yield cut.object
            case CutWindow():
                yield from cut.window.objects
            case CutTime():
                pass


def _horizon(
    query: Query, events: Mapping[str, Sequence[Event]], bounds: Mapping[str, int]
) -> tuple[int, int]:
    """Bound the times at which objects change: near events and domains' ends.

    As far from these as all references together look ahead or back. What a last row
    that holds without end is cut to is taken to go on as it is.
    """
    seen = [event for rows in events.values() for event in rows]
    times = [event.start for event in seen]
    times += [e.domain_end if e.end == FOREVER else e.end for e in seen]
    margin = 1
    for definition in query.definitions:
        limits = definition.tdom.start, definition.tdom.end
        ends = (_resolve(bound, bounds) for bound in limits)
        times += [end for end in ends if end is not None]
        margin += 2 * definition.tdom.precision
        for cut in leaf_cuts(definition.cuts):
            match cut:
                case CutPoint():
                    margin += abs(cut.offset)
                case CutWindow(window=window):
                    distances = {window.start, window.end} - {ALL_PAST, ALL_FUTURE}
                    if isinstance(window.cells, IntervalSpan):  # they are events
                        distances -= {window.start}
                    margin += max(map(abs, distances), default=0)
                case CutTime():
                    pass
    return min(times, default=0) - margin, max(times, default=0) + margin


def _resolve(bound: Bound, bounds: Mapping[str, int]) -> int | None:
    """Look up a bound of a domain, in ticks; None where it is infinite."""
    if not isinstance(bound, str):
        return bound
    if bound not in bounds:
        raise DataError(f"no value was given for the bound '{bound}'")
    return bounds[bound]


def _check_cells(name: str, events: Sequence[Event]) -> None:
    """Check that intervals are cells: none overlaps another, and each has an end."""
    for early, late in pairwise(events):
        if late.start < early.end:
            raise DataError(f"{early[:2]} and {late[:2]} overlap", input=name)
    if any(event.end == FOREVER for event in events):
        raise DataError("a cell has no end", input=name)


def _check_domain(start: int | None, end: int | None) -> None:
    if start is not None and end is not None and start > end:
        raise DataError(f"the domain starts at {start}, after its end at {end}")
