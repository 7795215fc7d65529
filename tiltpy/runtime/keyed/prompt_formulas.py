"""Formulas of the progress by key of an output that is final as soon as it can be.

The clock of all keys ends every domain, whatever a key's own rows are: so a key that is
quiet has values up to the clock, too. One cell more tells whether a last snapshot goes
on.

A quiet key is computed again once its next boundary is final, and not before: so a push
costs the keys of its rows, not all that have rows in reach.
"""

from typing import Any

from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.execution.call_numbers import choose, end_cells, least, least_since
from tiltpy.runtime.execution.column_formulas import Operands
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.execution.traced_operands import is_number
from tiltpy.runtime.keyed.due_times import NEVER
from tiltpy.runtime.keyed.key_formulas import KeyChanges, KeyFormulas


class PromptFormulas(KeyFormulas):
    """Formulas of an output as far as the clock; one that awaits no rows."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        traits = self.traits
        tells_changes = traits.steady and traits.shifts is not None
        if self.definition.tdom.rows is not None:
            tells_changes = traits.sparse and self.root is None
        is_bounded = not self.lasts and self.resumed_reach is None
        self.retires = tells_changes and is_bounded and self.end is None

    @property
    def _looks_behind(self) -> bool:
        """Return whether a cell more tells whether a last snapshot goes on.

        Not where states are kept, which never go back, nor of rows.
        """
        is_joined = self.definition.tdom.rows is None
        return is_joined and not (self.lasts or self.traits.open_ended)

    def find_end(self, last: Times, clock: int) -> Times | int:
        """Find where domains end so far: where the clock is."""
        del last
        return clock if self.end is None else least(clock, self.end)

    def find_until(
        self, ends: Times, settled: Times, clock: int, *, moves: bool
    ) -> Times:
        """Find up to when to compute: a cell more, where the clock goes on."""
        del settled, clock
        if not self._looks_behind or not moves:
            return ends
        return end_cells(self.definition.tdom, ends + 1)

    def find_next_change(self, operands: Operands) -> Times | None:
        """Find the next boundary of each key from the clock on.

        What begins at the clock is open as soon as that goes on.
        """
        shifts = self.traits.shifts
        is_of_rows = self.definition.tdom.rows is not None
        if shifts is None or self.awaited or (self.retires and is_of_rows):
            return None
        change: Any = NEVER
        for shift in shifts:
            name = shift.input
            times = operands[f"{shift.edge}s of {name}"]
            rows = operands[f"begin of {name}"], operands[f"count of {name}"]
            time = least_since(times, *rows, operands["high"] - shift.high)
            change = least(choose(time < NEVER, time + shift.low, NEVER), change)
        return None if is_number(change, NEVER) else change

    def find_due(self, changes: KeyChanges) -> Times | int:
        """Find when a key is to be computed again, while anything may change.

        A last snapshot that goes on needs nothing. One that nothing sees any more ends,
        if there is none without rows. Rows from before a given start may hold on to it.
        """
        traits, in_reach = self.traits, changes.in_reach
        if changes.newest is not None:
            later = choose(changes.high < changes.settled, changes.settled, NEVER)
            return choose(changes.newest <= changes.high, later, EARLIEST)
        busy = in_reach | (not traits.sparse)
        if traits.steady:
            busy = (changes.high < changes.settled) | (changes.waits & in_reach)
        ends = traits.sparse & ~in_reach & (changes.is_open | changes.goes_on)
        if changes.next_change is None or not traits.steady:
            return choose(busy | ends, EARLIEST, NEVER)
        later = least(changes.next_change, changes.settled)
        later = choose(changes.is_wanted & ~ends, later, EARLIEST)
        return choose(busy | ends, later, NEVER)

    def find_over(self, changes: KeyChanges) -> BoolArray:
        """Find whether nothing changes for a key any more once its rows have settled.

        A last snapshot ends then, if there is none without rows: that is a change. Rows
        that hold on never settle.
        """
        holds = changes.settled < changes.unseen
        if changes.newest is not None:
            return (changes.newest <= changes.high) & ~holds
        if changes.next_change is None:  # the clock stood still
            return changes.is_wanted & False
        stays = changes.is_wanted & (changes.next_change >= NEVER)
        ends = (changes.is_open | changes.goes_on) & self.traits.sparse
        return stays & ~ends & ~holds
