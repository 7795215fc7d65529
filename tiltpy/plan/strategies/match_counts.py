"""Match counts: rows that compare with the present, counted without a look at each.

A hash table counts those with equal keys, a tree of ranks those before or beyond a key.
Windows of few rows are folded anew, in vectors, which takes less time than a change of
either. Whether a window has many is seen when data are there.
"""

from math import inf

from tiltpy.emit.elements import FoldedElement
from tiltpy.emit.matches import Match, NoMatch
from tiltpy.ir.nodes import Expr, LastRows, Window
from tiltpy.ir.traversal import sees_present
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import DISABLED, PresentChoice, PresentPlan, Refusal
from tiltpy.types import ALL_PAST


def plan_present(facts: LoopFacts, window: Window, element: Expr) -> PresentChoice:
    """Choose how a loop folds a window by what sees the present, or by bounds."""
    if not sees_present(element):
        plan = PresentPlan.KEPT if window.folds_on else PresentPlan.CLIPPED
        return PresentChoice(window, element, plan)
    counted = _plan(facts, window, element)
    if isinstance(counted, Refusal):
        return PresentChoice(window, element, PresentPlan.FOLDED, counted)
    return PresentChoice(window, element, counted)


def _plan(facts: LoopFacts, window: Window, element: Expr) -> PresentPlan | Refusal:
    if "match_counts" in facts.disabled:
        return DISABLED
    rows, name = facts.objects[window.object], window.object
    if window.leaves_by_end and not rows.layout.fifo:
        return Refusal(f"events of ~{name} end in any order")
    names = facts.present_names(window, element)
    if not names:
        return Refusal(f"no count of ~{name} is read")
    others = sorted(names - {"count"})
    if others:
        return Refusal(f"{others[0]} of ~{name} is no count")
    try:
        match = Match.of(FoldedElement.of(element))
    except NoMatch as reason:
        return Refusal(f"elements of ~{name} match by no key: {reason}")
    by_equality = match.by_equality
    fewest = facts.costs.hashed_rows if by_equality else facts.costs.ranked_rows
    if _most_rows(window, disjoint=rows.disjoint) <= fewest:
        return Refusal(f"windows of ~{name} are short")
    return PresentPlan.HASH_COUNTS if by_equality else PresentPlan.RANK_COUNTS


def _most_rows(window: Window, *, disjoint: bool) -> float:
    """Bound the number of rows that a window holds."""
    length = window.end - window.start if disjoint and window.start > ALL_PAST else inf
    match window.limit:
        case LastRows(count=count):
            return min(count, length)
        case _:
            return length
