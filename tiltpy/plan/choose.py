"""Choosing a strategy for each loop: the most special one that serves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tiltpy.abi.layouts import Layout
from tiltpy.costs import Costs
from tiltpy.emit.references import present_folds, references
from tiltpy.errors import TiltError
from tiltpy.ir.cuts import readers_of
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.plan.facts import object_facts
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import (
    DISABLED,
    EventScan,
    LoopChoice,
    LoopPlan,
    MergeScan,
    Operands,
    Refusal,
    RowScan,
    SweepScan,
    WindowChoice,
)
from tiltpy.plan.operands import plan_operands
from tiltpy.plan.strategies.edge_scan import edge_scan
from tiltpy.plan.strategies.event_scan import event_scan, input_of_events
from tiltpy.plan.strategies.merge_scan import merge_scan
from tiltpy.plan.strategies.row_halves import row_halves
from tiltpy.plan.strategies.row_map import row_map
from tiltpy.plan.strategies.window_algorithms import plan_window
from tiltpy.types import TDom

Strategy = Callable[[LoopFacts, Operands], LoopPlan | Refusal]
ALL_TICKS = TDom()


LOOP_STRATEGIES: Mapping[str, Strategy] = {
    "row_map": row_map,
    "merge_scan": merge_scan,
    "event_scan": event_scan,
    "edge_scan": edge_scan,
}
"""Most special first. A sweep scan serves where none of them does."""

SWEEP_STRATEGIES = (
    *LOOP_STRATEGIES, "row_halves", "merge_vectors", "event_vectors", "paced_windows",
    "event_payloads",
    "tumbling_fold", "match_counts", "value_cursors",
)  # fmt: skip
"""All that makes a sweep kernel more than the baseline, which compiles fastest."""

STRATEGY_NAMES = (
    *SWEEP_STRATEGIES,
    "vector_kernel",
    "preaggregation",
    "visible_rows",
    "concatenation",
)
"""All strategies that can be left out."""


def check_strategies(disabled: Iterable[str]) -> None:
    """Raise a TiltError if any of the strategies to leave out is unknown."""
    if unknown := set(disabled).difference(STRATEGY_NAMES):
        raise TiltError(
            f"there is no strategy {', '.join(sorted(unknown))} to leave out; there "
            f"are {', '.join(STRATEGY_NAMES)}"
        )


def plan_loops(
    query: Query,
    layouts: Mapping[str, Layout],
    costs: Costs,
    disabled: Iterable[str] = (),
) -> tuple[LoopChoice, ...]:
    """Plan the sweep kernel of a query: a loop for each definition, in their order.

    `disabled` are names of `SWEEP_STRATEGIES` to leave out.
    """
    objects = object_facts(query, layouts)
    user_defined = {reduction.name: reduction for reduction in query.reductions}
    readers = readers_of(query.definitions)
    at_events: dict[str, str] = {}
    choices = []
    for definition in query.definitions:
        facts = LoopFacts(
            definition,
            objects,
            user_defined,
            definition.name in readers,
            frozenset(disabled),
            costs,
            definition.name in readers
            and _reads_times(query, definition, readers[definition.name]),
            _is_folded_once(definition.name, readers.get(definition.name, ())),
            at_events,
        )
        choice = _choose(facts)
        if isinstance(choice.plan, EventScan | MergeScan):
            events = input_of_events(facts, choice.plan.operands)
            if events is not None:
                at_events[choice.name] = events
        choices.append(choice)
    return tuple(choices)


def _reads_times(
    query: Query, definition: TemporalExpr, readers: Iterable[TemporalExpr]
) -> bool:
    """Decide whether readers need more of an object's times than those of events."""
    if definition.name in query.outputs or not definition.tdom.is_infinite:
        return True
    return any(
        each.tdom != replace(ALL_TICKS, start=each.tdom.start, end=each.tdom.end)
        for each in readers
    )


def _is_folded_once(name: str, readers: Iterable[TemporalExpr]) -> bool:
    """Decide whether readers take in each row of an object once, and look at no other.

    Their windows fold on, or restart with it.
    """
    for each in readers:
        points, windows = references(each)
        windows += [window for window, _ in present_folds(each)]
        if any(point.object == name for point in points):
            return False
        if any(window.object == name and not window.folds_on for window in windows):
            return False
    return True


def _choose(facts: LoopFacts) -> LoopChoice:
    windows = tuple(plan_window(facts, window) for window in facts.windows)
    operands = plan_operands(facts, windows)
    name, distinct = facts.definition.name, facts.definition.distinct
    if facts.definition.tdom.rows is not None:
        return _choose_rows(facts, operands, windows)
    refusals: list[tuple[str, Refusal]] = []
    for strategy, plan_loop in LOOP_STRATEGIES.items():
        disabled = strategy in facts.disabled
        plan = facts.calendar_refusal or (
            DISABLED if disabled else plan_loop(facts, operands)
        )
        if not isinstance(plan, Refusal):
            return LoopChoice(name, plan, tuple(refusals), windows, distinct)
        refusals.append((strategy, plan))
    by_cell = facts.calendar_refusal is not None
    plan = SweepScan(operands, by_cell)
    return LoopChoice(name, plan, tuple(refusals), windows, distinct)


def _choose_rows(
    facts: LoopFacts, operands: Operands, windows: tuple[WindowChoice, ...]
) -> LoopChoice:
    """Plan the loop of a row object."""
    name, rows = facts.definition.name, facts.definition.tdom.rows
    assert rows is not None
    plan = DISABLED if "row_map" in facts.disabled else row_map(facts, operands)
    if not isinstance(plan, Refusal):
        return LoopChoice(name, plan, (), windows)
    refusal = (
        DISABLED if "row_halves" in facts.disabled else row_halves(facts, operands)
    )
    scan = RowScan(operands, rows, in_halves=refusal is None)
    refusals = [("row_map", plan)]
    refusals += [] if refusal is None else [("row_halves", refusal)]
    return LoopChoice(name, scan, tuple(refusals), windows)
