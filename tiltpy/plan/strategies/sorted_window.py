"""Sorted windows: the values of a short window are kept in order, for its quantiles.

A row that comes or leaves moves the values between two places by vectors. That takes no
ranks of all rows, but a time that grows with the window.
"""

from tiltpy.ir.nodes import LastRows, Window
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import DISABLED, Refusal

QUANTILES = frozenset(("median", "quantile"))


def sorts(facts: LoopFacts, window: Window) -> bool:
    """Decide whether a window has quantiles, which its values in order would serve."""
    return any(node.reduction in QUANTILES for node in facts.over(window))


def sorted_window(facts: LoopFacts, window: Window) -> Refusal | None:
    """Refuse a window that may have many rows."""
    if "sorted_window" in facts.disabled:
        return DISABLED
    name, most = window.object, facts.costs.sorted_rows
    many = Refusal(f"windows of ~{name} may have more than {most} rows")
    if isinstance(window.limit, LastRows):
        return many if window.limit.count > most else None
    if not window.is_fixed:
        return Refusal(f"a window of ~{name} may have any number of rows")
    if not facts.objects[name].disjoint:
        return Refusal(f"events of ~{name} overlap")
    return many if window.end - window.start > most else None
