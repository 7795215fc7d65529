"""Limits of pre-aggregation: how many keys may have a state in each pane."""

from tiltpy.costs import PreaggregationCosts
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Refusal

WIDE = 1 << 32
"""Rows of a pane from which on no counts are wide enough."""


@dataclass(frozen=True, slots=True)
class PaneFacts:
    """The rows of an input in panes, in numbers.

    `states`: the entries of a key and pane. `merged`: the panes of all windows of a
    cell that are merged one by one.
    """

    input: str
    rows: int
    panes: int
    states: int
    merged: int


def refuse_few_rows(
    name: str, rows: int, costs: PreaggregationCosts, *, forced: bool
) -> Refusal | None:
    """Refuse what would not pay for compiling its kernels, unless it is `forced`."""
    if forced or rows >= costs.least_rows:
        return None
    return Refusal(f"~{name} has few rows")


def most_keys(facts: PaneFacts, costs: PreaggregationCosts) -> int | Refusal:
    """Bound the keys whose states are visited in less time than rows are grouped."""
    most = min(
        costs.entries_per_row * facts.rows // (facts.panes * facts.states),
        costs.merges_per_row * facts.rows // (facts.panes * facts.merged),
    )
    if most:
        return most
    return Refusal(
        f"~{facts.input} has few rows for {facts.panes:,} panes, of which windows have "
        f"{facts.merged:,}"
    )


def refuse_size(
    output: str,
    longest: int,
    state_bytes: int,
    memory: int,
    facts: PaneFacts,
    costs: PreaggregationCosts,
) -> Refusal | None:
    """Refuse panes of too many rows (`longest`), and states that fill the memory."""
    if longest >= WIDE:
        return Refusal(f"a pane of ~{facts.input} has {longest:,} rows")
    if state_bytes > memory // costs.memory_share:
        return Refusal(f"the states of ~{output} would take too much memory")
    return None
