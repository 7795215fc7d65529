"""Random queries over the cells of an input: random cases with intervals beside them.

The intervals are a further input, or an input of the case whose events are disjoint.
Some definitions get its cells as their domain, and some of their windows go back to
where those cells begin.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from tests.random.queries import Case
from tiltpy.interpreter.evaluate import FOREVER, Event
from tiltpy.ir.nodes import (
    At,
    EventBound,
    Expr,
    Input,
    IntervalSpan,
    Reduce,
    TemporalExpr,
)
from tiltpy.ir.rows import row_roots
from tiltpy.ir.traversal import rewrite, sees_present, source_cuts
from tiltpy.types import I64, MAX_OFFSET, TDom


def with_interval_cells(case: Case, seed: int, *, beside: bool = False) -> Case:
    """Give some definitions of a case the cells of an input.

    `beside`: of one that is none of the case.
    """
    random = Random(f"cells {seed}")  # noqa: S311 - tests, not secrets
    query, events = case.query, dict(case.events)
    names = [name for name in events if _are_cells(events[name])]
    if beside or not names or random.random() < 0.7:
        events["cells"] = _draw_intervals(random, case)
        query = replace(query, inputs=(*query.inputs, Input("cells", I64)))
        names = ["cells"]
    name = random.choice(names)
    roots = row_roots(query)
    read = {d.tdom.rows for d in query.definitions}
    changed: list[TemporalExpr] = []
    for definition in query.definitions:
        over_rows = definition.name in roots and definition.tdom.rows is not None
        if over_rows or definition.name in read or random.random() < 0.3:
            changed.append(definition)
        else:
            changed.append(_over_cells(random, definition, name))
    last = changed[-1]
    if last.tdom.cells is None and last.tdom.rows is None:
        changed[-1] = _over_cells(random, last, name)
    used = {definition.tdom.cells for definition in changed}
    inputs = tuple(replace(i, cells=i.name in used) for i in query.inputs)
    query = replace(query, inputs=inputs, definitions=tuple(changed))
    return replace(case, query=query, events=events)


def _over_cells(random: Random, definition: TemporalExpr, name: str) -> TemporalExpr:
    """Put a definition over the cells of an input."""

    def rule(node: Expr) -> Expr:
        match node:
            case Reduce(window=window, element=element) if window.is_fixed:
                if sees_present(element) or random.random() < 0.4:
                    return node
                cells = IntervalSpan(name, random.choice((1, 1, 1, 2, 3)))
                window = replace(window, start=-MAX_OFFSET, end=0, cells=cells)
                return replace(node, window=window)
            case At() | EventBound() if random.random() < 0.5:
                return replace(node, offset=0)
            case _:
                return node

    body = rewrite(definition.body, rule)
    tdom = TDom(definition.tdom.start, definition.tdom.end, cells=name)
    return replace(definition, tdom=tdom, body=body, cuts=source_cuts(body))


def _are_cells(events: Sequence[Event]) -> bool:
    endless = any(event.end == FOREVER for event in events)
    return not endless and all(a.end <= b.start for a, b in pairwise(events))


def _draw_intervals(random: Random, case: Case) -> list[Event]:
    """Draw intervals near the events of a case, of which some touch."""
    times = [e.start for rows in case.events.values() for e in rows] or [0]
    longest, widest = random.choice((2, 6, 25)), random.choice((1, 3, 12))
    time, intervals = min(times) - random.randint(-5, 10), []
    for number in range(random.choice((0, 1, 4, 9, 20))):
        time += random.choice((0, random.randint(0, widest)))
        end = time + random.randint(1, longest)
        intervals.append(Event(time, end, number))
        time = end
    return intervals
