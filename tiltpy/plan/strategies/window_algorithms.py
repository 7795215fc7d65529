"""Algorithms of windows in a sweep: for each window the most special one that serves.

An unordered window serves where rows do not leave in the order in which they come.
Else states are on two stacks, or exact sums are differences of prefix sums; and a
user-defined reduction evicts exactly, merges states, or is computed anew.
"""

from collections.abc import Iterator

from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.ir.nodes import Reduce, UserReduction, Window
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import DISABLED, Refusal, WindowChoice, WindowPlan
from tiltpy.plan.strategies.tumbling_fold import tumbling_fold
from tiltpy.plan.strategies.value_cursors import has_quantiles, value_cursors
from tiltpy.types import ALL_PAST

COUNTED = frozenset({"count", "first", "last"})
"""Reductions that the bounds of a window tell, where its elements are never φ."""


def plan_window(facts: LoopFacts, window: Window) -> WindowChoice:
    """Choose the algorithm of a window, with the reasons for refusing others."""
    rows = facts.objects[window.object]
    if not window.is_fixed or window.by_row:
        plan = _plan_open(facts, window)
        refused = tuple(_refuse_cursors(facts, window, plan))
        return WindowChoice(window, plan, refused, *_choose_states(facts, window, plan))
    refusals: list[tuple[str, Refusal]] = []
    if "tumbling_fold" in facts.disabled:
        fold: Refusal | None = DISABLED
    else:
        fold = tumbling_fold(facts.definition, window, rows.layout, facts.costs)
    if fold is None:
        return WindowChoice(window, WindowPlan.TUMBLING_FOLD, ())
    refusals.append(("tumbling_fold", fold))
    plan = WindowPlan.FIFO
    if not rows.layout.fifo:
        refusal = Refusal(f"events of ~{window.object} end in any order")
        refusals.append(("fifo", refusal))
        plan = WindowPlan.UNORDERED
    refusals += _refuse_cursors(facts, window, plan)
    for node in facts.over(window):
        refusals += _refuse_slides(facts, node)
    states = _choose_states(facts, window, plan)
    return WindowChoice(window, plan, tuple(dict.fromkeys(refusals)), *states)


def _refuse_cursors(
    facts: LoopFacts, window: Window, plan: WindowPlan
) -> Iterator[tuple[str, Refusal]]:
    """Refuse cursors over the values of a window, if they would serve it."""
    if plan is WindowPlan.FIFO and has_quantiles(facts, window):
        refusal = value_cursors(facts, window)
        if refusal is not None:
            yield "value_cursors", refusal


def _plan_open(facts: LoopFacts, window: Window) -> WindowPlan:
    """Choose the algorithm of a window whose left end is no distance."""
    if window.look is not None:
        return WindowPlan.LOOK
    if window.folds_on:
        return WindowPlan.RUNNING
    fifo = facts.objects[window.object].layout.fifo or window.edge == "start"
    if window.start != ALL_PAST and not fifo:
        return WindowPlan.REFOLDED
    return WindowPlan.FIFO


def _choose_states(
    facts: LoopFacts, window: Window, plan: WindowPlan
) -> tuple[bool, bool]:
    """Tell whether some reductions have prefix sums, and some two stacks of states."""
    if plan is not WindowPlan.FIFO:
        return False, False
    over = [n for n in facts.over(window) if n.reduction not in WHOLE_WINDOW]
    sums = any(_adds_up(facts, node) or _counts(facts, node) for node in over)
    return sums, any(_merges(facts, node) for node in over)


def _adds_up(facts: LoopFacts, node: Reduce) -> bool:
    """Tell whether a reduction adds up what is exact, besides its count."""
    if node.reduction in facts.user_defined or node.reduction in COUNTED:
        return False
    return aggregate_for(node.reduction, node.element.type, {}).evict is not None


def _counts(facts: LoopFacts, node: Reduce) -> bool:
    """Tell whether the rows that a reduction takes in are counted, as some are φ."""
    reduction = facts.user_defined.get(node.reduction)
    source = facts.objects[node.window.object]
    return source.filters(node.element) and (
        reduction is None or _slide(facts, node, reduction) is Slide.MERGE
    )


def _merges(facts: LoopFacts, node: Reduce) -> bool:
    """Tell whether a reduction merges the states of a window's rows."""
    reduction = facts.user_defined.get(node.reduction)
    if reduction is None:
        if node.reduction in COUNTED:
            picks = node.reduction != "count"
            return picks and facts.objects[node.window.object].filters(node.element)
        return not _adds_up(facts, node)
    return _slide(facts, node, reduction) in (Slide.MERGE, Slide.CLIP)


def _slide(facts: LoopFacts, node: Reduce, reduction: UserReduction) -> Slide:
    """Find how a user-defined reduction follows its window."""
    source = facts.objects[node.window.object]
    return slide_of(reduction, in_order=source.layout.fifo, disjoint=source.disjoint)


def _refuse_slides(facts: LoopFacts, node: Reduce) -> Iterator[tuple[str, Refusal]]:
    """Refuse ways in which a user-defined reduction follows its window."""
    reduction = facts.user_defined.get(node.reduction)
    if reduction is None:
        return
    source = facts.objects[node.window.object]
    slide = _slide(facts, node, reduction)
    no_merge = Refusal(f"{reduction.name} has no merge")
    if reduction.bounds:
        if slide is Slide.RECOMPUTE:
            overlap = Refusal(f"events of ~{source.name} overlap")
            yield "clip", no_merge if source.disjoint else overlap
        return
    if slide is Slide.EVICT:
        return
    if reduction.deacc is None:
        yield "evict", Refusal(f"{reduction.name} has no deacc")
    elif not source.layout.fifo:
        yield "evict", Refusal(f"events of ~{source.name} end in any order")
    else:
        yield "evict", Refusal(f"the state of {reduction.name} may be φ, or rounded")
    if slide is Slide.RECOMPUTE:
        yield "merge", no_merge
