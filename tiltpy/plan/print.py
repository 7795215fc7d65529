"""The plan as text: how each loop visits time, and which strategies were refused."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from tiltpy.abi.signature import LANES
from tiltpy.ir.nodes import Window
from tiltpy.ir.print.expressions import ExprPrinter
from tiltpy.plan.nodes import (
    Advance,
    EdgeScan,
    EventScan,
    LoopChoice,
    LoopPlan,
    MergeScan,
    Operands,
    RowMap,
    RowScan,
    SweepScan,
    folds_rows,
)
from tiltpy.types import Unit


def format_choices(choices: Iterable[LoopChoice], unit: Unit | None) -> str:
    """Format the plan of a sweep kernel: a paragraph for each loop, times in `unit`."""
    printer = ExprPrinter(unit)
    return "\n".join(line for choice in choices for line in _choice(choice, printer))


def describe_plan(plan: LoopPlan) -> str:
    """Say by which strategy a loop visits time, and how much of it at once."""
    match plan:
        case RowMap(name):
            return f"row_map, one visit a row of ~{name}"
        case RowScan(input=name, in_halves=True):
            return f"row_scan, one visit a row of both halves of ~{name}"
        case RowScan(input=name):
            return f"row_scan, one visit a row of ~{name}"
        case MergeScan(vectorized=point) if point is not None:
            return f"merge_scan, {LANES} rows of ~{point.object} at a time"
        case MergeScan():
            return "merge_scan, one visit an interval bound"
        case EventScan(point=point, vectorized=True):
            return f"event_scan, {LANES} events of ~{point.object} at a time"
        case EventScan(point=point):
            return f"event_scan, one visit an event of ~{point.object}"
        case EdgeScan():
            return "edge_scan, one visit a change"
        case SweepScan(operands) if folds_rows(operands):
            return f"sweep_scan, {LANES} rows of a window at a time"
        case SweepScan():
            by = "a cell of its calendar" if plan.by_cell else "a change"
            return f"sweep_scan, one visit {by}"
        case _:
            assert_never(plan)


def _choice(choice: LoopChoice, printer: ExprPrinter) -> Iterator[str]:
    joins = ", then joins identical neighbours" if choice.distinct else ""
    yield f"~{choice.name}: {describe_plan(choice.plan)}{joins}"
    if not isinstance(choice.plan, RowMap):
        for line in (
            *_points(choice.plan.operands, printer),
            *_windows(choice, printer),
            *_present(choice.plan.operands, printer),
        ):
            yield f"    {line}"
    for name, refusal in choice.refusals:
        yield f"    not {name}: {refusal.reason}"


def _points(operands: Operands, printer: ExprPrinter) -> Iterator[str]:
    for point, cursor in operands.points:
        skips = _skips(skipped=point in operands.skipped)
        name = f"~{point.object}[{printer.format_time(point.offset)}]"
        yield f"{name} {cursor.value}{skips}"


def _skips(*, skipped: bool) -> str:
    return ", without a visit in its gaps" if skipped else ""


def _present(operands: Operands, printer: ExprPrinter) -> Iterator[str]:
    for choice in operands.present:
        window = printer.window(choice.window)
        yield f"{window} {choice.plan.value}"
        if choice.refusal is not None:
            yield f"    not match_counts: {choice.refusal.reason}"


def _windows(choice: LoopChoice, printer: ExprPrinter) -> Iterator[str]:
    advances = _find_advances(choice.plan)
    plan = choice.plan
    skipped = None if isinstance(plan, RowMap) else plan.operands.skipped_window
    for each in choice.windows:
        advance = advances.get(each.window)
        pace = "" if advance is None else f", {advance.value}"
        skips = _skips(skipped=each.window == skipped)
        yield f"{printer.window(each.window)} {each}{pace}{skips}"
        for name, refusal in each.refusals:
            yield f"    not {name}: {refusal.reason}"


def _find_advances(plan: LoopPlan) -> dict[Window, Advance]:
    """Find how windows that fold on, anew at restarts, get to the next event."""
    if not isinstance(plan, EventScan):
        return {}
    named = Advance.PACE, Advance.RESTART
    return {window: advance for window, advance in plan.advances if advance in named}
