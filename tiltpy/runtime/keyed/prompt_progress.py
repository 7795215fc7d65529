"""Progress by key of an output that is final as soon as it can be.

The clock of all keys ends every domain, whatever a key's own rows are: so a key that is
quiet has values up to the clock, too. One cell more tells whether a last snapshot goes
on.

A quiet key is computed again once its next boundary is final, and not before: so a push
costs the keys of its rows, not all that have rows in reach.
"""

from collections.abc import Mapping
from functools import reduce

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
        return np.full(len(last), time if self.end is None else min(self.end, time))

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
        if shifts is None or self.awaited or clock.high <= clock.low:
            return None
        by_input: dict[str, Times] = {}
        for shift in shifts:
            held = rows[shift.input]
            times = held.starts if shift.edge == "start" else held.ends
            later = times + shift.low if shift.low else times
            found = np.where(times >= clock.high - shift.high, later, NEVER)
            if shift.input in by_input:
                found = np.minimum(by_input[shift.input], found)
            by_input[shift.input] = found
        least = [_find_least(found, rows[name]) for name, found in by_input.items()]
        return reduce(np.minimum, least)

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
        if plan.next_change is None or not traits.steady:
            return np.where(busy | ends, EARLIEST, NEVER)
        later = np.minimum(plan.next_change, settled)
        later = np.where(plan.ranges.nonempty & ~ends, later, EARLIEST)
        return np.where(busy | ends, later, NEVER)


def _find_least(times: Times, rows: KeyedSnapshots) -> Times:
    """Find the least time of each key, one for each of its rows; `NEVER` of none."""
    counts = rows.counts
    heads = counts.cumsum() - counts
    if np.count_nonzero(counts) == len(counts):
        return np.minimum.reduceat(times, heads) if len(heads) else heads
    least, some = np.full(len(counts), NEVER), counts.nonzero()[0]
    if len(some):
        least[some] = np.minimum.reduceat(times, heads[some])
    return least
