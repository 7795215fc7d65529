"""States that are the value of a row, a pane's first or last, as Spark moves them.

A row of states (`plan.partial_panes`) is an event that starts as the first row of its
pane does, and has what orders that among rows of its time: its *ties*. A state that is
the value of another row comes with the time and the ties of that one:

    start, end, tilt_state0, tilt_state1, tilt_tie0_0, tilt_time1, tilt_tie1_0

A task that merges them makes an event of each such state: so `first` and `last` see the
states in the order of the rows whose values they are.
"""

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime
from tiltpy.plan.partial_panes import OWN, ROW, VALUE
from tiltpy.runtime.arrow.read_frame import flat_column
from tiltpy.runtime.arrow.timestamps import TimeColumn, to_ticks
from tiltpy.types import MAX_TIME, Unit

START, END = "start", "end"
TIME, TIE = f"{OWN}time", f"{OWN}tie"


@dataclass(frozen=True, slots=True)
class RowStates:
    """The states of an input that are values of rows, and its columns.

    `states` are the names of all states, `of_rows` of those that are values. Columns
    have the names that Spark moves them under: `time` and `ties`, and the `payload` as
    paths. A row without the column `event`, if there is one, is no event.
    """

    name: str
    unit: Unit | None
    lifetime: Lifetime
    states: tuple[str, ...]
    of_rows: tuple[str, ...]
    time: str
    ties: tuple[str, ...]
    payload: tuple[tuple[str, ...], ...]
    event: str | None

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The columns that are added to rows with numbers."""
        return (*(f"{VALUE}{number}" for number in range(len(self.payload))), ROW)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a frame of states, behind the keys."""
        others = [
            name
            for number in range(1, 1 + len(self.of_rows))
            for name in (f"{TIME}{number}", *self._ties_of(number))
        ]
        return (START, END, *self.states, *self._ties_of(0), *others)

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that order the events of one time."""
        return tuple(f"{TIE}{place}" for place in range(len(self.ties)))

    def _ties_of(self, number: int) -> list[str]:
        return [f"{TIE}{number}_{place}" for place in range(len(self.ties))]

    # Before states are moved

    def number_rows(self, rows: pa.Table) -> pa.Table:
        """Number the events among some rows, and add the columns of their payload."""
        if self.event is not None:
            rows = rows.filter(pc.is_valid(rows.column(self.event)))
        rows = rows.combine_chunks()  # once: the columns of the payload are the same
        for number, (first, *inside) in enumerate(self.payload):
            column = rows.column(first)
            for name in inside:
                column = pc.struct_field(column, name)
            rows = rows.append_column(f"{VALUE}{number}", column)
        return rows.append_column(ROW, pa.array(np.arange(rows.num_rows)))

    def columns_of(self, folded: pa.Table, rows: pa.Table) -> list[pa.ChunkedArray]:
        """Make the columns of states, behind the keys, of the rows they are folded of.

        `folded` has the states and the numbers of the rows whose values they are.
        """
        first = folded.column(f"{ROW}0").combine_chunks()
        starts = pc.subtract(self._times(rows, first), self.lifetime.before)
        columns = [starts, folded.column(END), *map(folded.column, self.states)]
        columns += (rows.column(tie).take(first) for tie in self.ties)
        for number in range(1, 1 + len(self.of_rows)):
            one = folded.column(f"{ROW}{number}").combine_chunks()
            none = pa.scalar(None, one.type)
            one = pc.if_else(pc.equal(one, first), none, one)
            columns.append(self._times(rows, one))
            columns += (rows.column(tie).take(one) for tie in self.ties)
        return columns

    def _times(self, rows: pa.Table, numbers: pa.Array) -> pa.Array:
        """Read the ticks of the stamps of some rows; null where there is no number."""
        there = numbers.is_valid().to_numpy(zero_copy_only=False)
        chosen = rows.select([self.time]).take(numbers.drop_null())
        array = flat_column(self.name, chosen, self.time)
        low, high = self.lifetime.before - MAX_TIME, MAX_TIME - self.lifetime.after
        stamps, _ = to_ticks(
            TimeColumn(self.name, self.time, array, self.unit, low, high)
        )
        times = np.zeros(len(numbers), np.int64)
        times[there] = stamps.ticks
        return pa.array(times, mask=~there)

    # Where states are merged

    def as_events(self, states: pa.Table) -> pa.Table:
        """Make the events of some states: of each row whose value one is."""
        keys = [name for name in states.column_names if name not in self.columns]
        first = self._ties_of(0)
        whole = states.select([*keys, START, END, *self.states, *first])
        events = []
        for number, name in enumerate(self.of_rows, 1):
            times = states.column(f"{TIME}{number}")
            apart = pc.is_valid(times)
            ties = self._ties_of(number)
            one = states.select([*keys, name, *ties]).filter(apart)
            ends = times.filter(apart)
            one = one.append_column(START, pc.subtract(ends, self.lifetime.before))
            one = one.append_column(END, ends)
            events.append(self._with_order(one, ties))
            column = whole.column(name)
            none = pa.scalar(None, column.type)
            place = whole.column_names.index(name)
            whole = whole.set_column(place, name, pc.if_else(apart, none, column))
        events.insert(0, self._with_order(whole, first))
        return pa.concat_tables(events, promote_options="default")

    def _with_order(self, events: pa.Table, ties: list[str]) -> pa.Table:
        names = dict(zip(ties, self.order, strict=True))
        return events.rename_columns([names.get(n, n) for n in events.column_names])
