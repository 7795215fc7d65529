"""Value cursors: quantiles of a window of few rows are followed from row to row.

A row that comes or leaves moves a quantile by one value at most, which is found among
those nearby. That takes no ranks of all rows, but now and then a look at the window.
"""

from tiltpy.ir.nodes import LastRows, Window
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import DISABLED, Refusal

QUANTILES = frozenset(("median", "quantile"))


def has_quantiles(facts: LoopFacts, window: Window) -> bool:
    """Decide whether a window has quantiles, which cursors would find."""
    return any(node.reduction in QUANTILES for node in facts.over(window))


def value_cursors(facts: LoopFacts, window: Window) -> Refusal | None:
    """Refuse a window that may have many rows."""
    if "value_cursors" in facts.disabled:
        return DISABLED
    name, most = window.object, facts.costs.cursor_rows
    many = Refusal(f"windows of ~{name} may have more than {most} rows")
    if not (window.is_fixed or isinstance(window.limit, LastRows)):
        return Refusal(f"a window of ~{name} may have any number of rows")
    if window.is_fixed and not facts.objects[name].disjoint:
        return Refusal(f"events of ~{name} overlap")
    return many if most_rows(window) > most else None


def most_rows(window: Window) -> int:
    """Count the rows that a window of disjoint rows has at most."""
    if isinstance(window.limit, LastRows):
        return window.limit.count
    return window.end - window.start
