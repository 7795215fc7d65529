"""Algorithms of windows in a sweep: for each window the most special one that serves.

An unordered window serves where neither a tumbling fold nor two stacks do. Beside that
a user-defined reduction evicts exactly, merges states, or is computed anew.
"""

from collections.abc import Iterator

from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.ir.nodes import Reduce, Window
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import DISABLED, Refusal, WindowChoice, WindowPlan
from tiltpy.plan.strategies.sorted_window import sorted_window, sorts
from tiltpy.plan.strategies.tumbling_fold import tumbling_fold
from tiltpy.types import ALL_PAST


def plan_window(facts: LoopFacts, window: Window) -> WindowChoice:
    """Choose the algorithm of a window, with the reasons for refusing others."""
    rows = facts.objects[window.object]
    if not window.is_fixed or window.by_row:
        plan = _plan_open(facts, window)
        stacked = plan is WindowPlan.TWO_STACK
        refused = tuple(_refuse_order(facts, window, plan))
        return WindowChoice(window, plan, refused, stacked)
    refusals: list[tuple[str, Refusal]] = []
    if "tumbling_fold" in facts.disabled:
        fold: Refusal | None = DISABLED
    else:
        fold = tumbling_fold(facts.definition, window, rows.layout, facts.costs)
    if fold is None:
        return WindowChoice(window, WindowPlan.TUMBLING_FOLD, ())
    refusals.append(("tumbling_fold", fold))
    plan = WindowPlan.TWO_STACK
    if not rows.layout.fifo:
        refusal = Refusal(f"events of ~{window.object} end in any order")
        refusals.append(("two_stack", refusal))
        plan = WindowPlan.UNORDERED
    refusals += _refuse_order(facts, window, plan)
    for node in facts.over(window):
        refusals += _refuse_slides(facts, node)
    stacked = plan is WindowPlan.TWO_STACK and any(
        _merges(facts, node) for node in facts.over(window)
    )
    return WindowChoice(window, plan, tuple(dict.fromkeys(refusals)), stacked)


def _refuse_order(
    facts: LoopFacts, window: Window, plan: WindowPlan
) -> Iterator[tuple[str, Refusal]]:
    """Refuse to keep the values of a window in order, if that would serve it."""
    if plan is WindowPlan.TWO_STACK and sorts(facts, window):
        refusal = sorted_window(facts, window)
        if refusal is not None:
            yield "sorted_window", refusal


def _plan_open(facts: LoopFacts, window: Window) -> WindowPlan:
    """Choose the algorithm of a window whose left end is no distance."""
    if window.look is not None:
        return WindowPlan.LOOK
    if window.folds_on:
        return WindowPlan.RUNNING
    fifo = facts.objects[window.object].layout.fifo or window.edge == "start"
    if window.start != ALL_PAST and not fifo:
        return WindowPlan.REFOLDED
    return WindowPlan.TWO_STACK


def _merges(facts: LoopFacts, node: Reduce) -> bool:
    """Tell whether a reduction merges the states of a window's rows."""
    reduction = facts.user_defined.get(node.reduction)
    if reduction is None:
        return True
    source = facts.objects[node.window.object]
    slide = slide_of(reduction, in_order=source.layout.fifo, disjoint=source.disjoint)
    return slide in (Slide.MERGE, Slide.CLIP)


def _refuse_slides(facts: LoopFacts, node: Reduce) -> Iterator[tuple[str, Refusal]]:
    """Refuse ways in which a user-defined reduction follows its window."""
    reduction = facts.user_defined.get(node.reduction)
    if reduction is None:
        return
    source = facts.objects[node.window.object]
    in_order, disjoint = source.layout.fifo, source.disjoint
    slide = slide_of(reduction, in_order=in_order, disjoint=disjoint)
    no_merge = Refusal(f"{reduction.name} has no merge")
    if reduction.bounds:
        if slide is Slide.RECOMPUTE:
            overlap = Refusal(f"events of ~{source.name} overlap")
            yield "clip", no_merge if disjoint else overlap
        return
    if slide is Slide.EVICT:
        return
    if reduction.deacc is None:
        yield "evict", Refusal(f"{reduction.name} has no deacc")
    elif not in_order:
        yield "evict", Refusal(f"events of ~{source.name} end in any order")
    else:
        yield "evict", Refusal(f"the state of {reduction.name} may be φ, or rounded")
    if slide is Slide.RECOMPUTE:
        yield "merge", no_merge
