"""Progress by key of an output that is final as soon as it can be.

The clock of all keys ends every domain, whatever a key's own rows are: so a key that is
quiet has values up to the clock, too. One cell more tells whether a last snapshot goes
on.

A quiet key is computed again once its next boundary is final, and not before: so a push
costs the keys of its rows, not all that have rows in reach.
"""

from collections.abc import Mapping

import numpy as np

from tiltpy.calendars import round_up
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.execution.time_domain import OutputRange
from tiltpy.runtime.keyed.due_times import NEVER
from tiltpy.runtime.keyed.key_progress import (
    KeyChanges,
    KeyPlan,
    KeyProgress,
    RowEdges,
)
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots


class PromptProgress(KeyProgress):
    """The progress of an output as far as the clock; one that awaits no rows."""

    @property
    def _looks_behind(self) -> bool:
        """Return whether a cell more tells whether a last snapshot goes on.

        Not where states are kept, which never go back, nor of rows.
        """
        is_joined = self.definition.tdom.rows is None
        return is_joined and not (self.lasts or self.traits.open_ended)

    def find_end(self, last: Times, clock: OutputRange) -> Times:
        """Find where domains end so far: where the clock is."""
        time = max(clock.low, clock.high)
        return np.full_like(last, time if self.end is None else min(self.end, time))

    def find_until(self, ends: Times, edges: RowEdges, clock: OutputRange) -> Times:
        """Find up to when to compute: a cell more, where the clock has gone on."""
        del edges
        if not self._looks_behind or clock.high <= clock.low:
            return ends
        return round_up(self.definition.tdom, ends + 1)

    def find_next_change(
        self, rows: Mapping[str, KeyedSnapshots], clock: OutputRange
    ) -> Times | None:
        """Find the next boundary of each key from the clock on.

        What begins at the clock is open as soon as that goes on.
        """
        shifts = self.traits.shifts
        if shifts is None or self.lasts or clock.high <= clock.low:
            return None
        changes = None
        for shift in shifts:
            held = rows[shift.input]
            times = held.starts if shift.edge == "start" else held.ends
            boundaries = np.where(
                times >= clock.high - shift.high, times + shift.low, NEVER
            )
            first = _find_least(boundaries, held.counts)
            changes = first if changes is None else np.minimum(changes, first)
        return changes

    def find_due(self, plan: KeyPlan, changes: KeyChanges, settled: Times) -> Times:
        """Find when keys are to be computed again, while anything may change.

        A last snapshot that goes on needs nothing. One that nothing sees any more ends,
        if there is none without rows.
        """
        traits, in_reach = self.traits, changes.in_reach
        busy = in_reach | (not traits.sparse)
        if traits.steady:
            busy = changes.high < settled
        ends = traits.sparse & ~in_reach & (changes.is_open | changes.goes_on)
        due = np.where(busy | ends, EARLIEST, NEVER)
        if plan.next_change is None or not traits.steady:
            return due
        waits = busy & ~ends & plan.ranges.nonempty
        return np.where(waits, np.minimum(plan.next_change, settled), due)


def _find_least(times: Times, counts: Times) -> Times:
    """Find the least time of each key, which has so many of them; `NEVER` of none."""
    least = np.full(len(counts), NEVER)
    some = counts.nonzero()[0]
    if len(some):
        heads = (counts.cumsum() - counts)[some]
        least[some] = np.minimum.reduceat(times, heads)
    return least
