"""Progress by key of an output that is run in parts, and its open snapshots.

What is computed of keys, and when they are due again, their formulas tell.
"""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tiltpy.lean_dataclass import record
from tiltpy.routines.catalogue import RETIRE_KEYS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.execution.column_formulas import (
    ColumnFormulas,
    Columns,
    FormulaOperand,
    Table,
    WholeTimes,
)
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
    KeyedRanges,
)
from tiltpy.runtime.execution.time_domain import EMPTY, Cells, OutputRange
from tiltpy.runtime.keyed.due_times import NEVER, DueTimes
from tiltpy.runtime.keyed.held_rows import TakenRows
from tiltpy.runtime.keyed.join import join_by_key, no_rows
from tiltpy.runtime.keyed.key_formulas import KeyFormulas
from tiltpy.runtime.keyed.key_records import KeyRecords
from tiltpy.runtime.keyed.open_rows import OpenRows
from tiltpy.runtime.keyed.open_snapshots import (
    ClosedKeys,
    CloseTimes,
    OpenSnapshots,
)
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import ENDLESS, last_rows


@record(frozen=True, slots=True, eq=False)
class KeyPlan:
    """The work of an evaluation for some keys.

    `codes` are theirs; `ranges` go on behind their domains where the clock, `limit`,
    does. `columns` are the results of `KeyFormulas.find_work`; `form` decides which
    they are. The rows of inputs in `points` are such.
    """

    codes: I64Array
    ranges: KeyedRanges
    columns: Columns
    form: Hashable
    limit: int
    final: bool
    points: frozenset[str]


class KeyProgress:
    """The progress of an output for all keys, by their codes."""

    def __init__(self, formulas: KeyFormulas) -> None:
        self.formulas = formulas
        self.definition = definition = formulas.definition
        self.reach = formulas.reach
        self.clock = -ENDLESS
        """Up to when it has been computed."""
        self.finished = False
        self._records = KeyRecords()
        self.open: OpenSnapshots | OpenRows
        if definition.tdom.rows is None:
            self.open = OpenSnapshots(definition.type, self._records)
        else:
            self.open = OpenRows(definition.type)
        self._due = DueTimes(self._records)
        self._loops = ColumnFormulas()
        self._retire = PreparedCall.of(RETIRE_KEYS, 11)
        self._list_tables()

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        has_moved = self._records.grow(codes)
        self.open.grow(codes)
        if has_moved:
            self._list_tables()

    def _list_tables(self) -> None:
        """List the tables that formulas see, once they are others."""
        times, truths = self._records.times, self._records.truths
        first, done, live = times("first"), times("done"), truths("live")
        self._work_tables = {
            "first": Table(first),
            "last": Table(times("last")),
            "done": Table(done),
            "live": Table(live),
        }
        self._next_tables = {
            "first": self._work_tables["first"],
            "done": self._work_tables["done"],
            "live": self._work_tables["live"],
            "due": Table(times("due")),
        }
        if self.formulas.resumed_reach is not None:
            self._next_tables["has states"] = Table(truths("has states"))
        if self.formulas.retires:
            self._next_tables["over"] = Table(truths("over"))

    def save(self) -> dict[str, object]:
        """Make what `restore` takes, between two evaluations."""
        return {
            **self._records.save(),
            "open": self.open.save(),
            "clock": self.clock,
            "finished": self.finished,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over the progress of keys, whose codes there is room for."""
        self._records.restore(saved)
        self.open.grow(self._records.count)
        self._due.restore()
        self._list_tables()
        self.open.restore(saved["open"])
        self.clock, self.finished = saved["clock"], saved["finished"]

    def extend(self, codes: I64Array, firsts: Times, lasts: Times) -> None:
        """Note the first start and the greatest end of rows that came, by key."""
        first, last = map(self._records.times, ("first", "last"))
        first[codes] = np.minimum(first[codes], firsts)
        last[codes] = np.maximum(last[codes], lasts)

    def take_due(self, time: int) -> tuple[I64Array, I64Array]:
        """Take the keys to compute once the clock shows a time: `plan` is for them.

        Then those whose rows have settled, of which there is nothing else to compute:
        `retire` is for them.
        """
        return self._due.take(time, tells_over=self.formulas.retires)

    def retire(
        self, codes: I64Array, touched: I64Array, entries: I64Array, time: int
    ) -> I64Array:
        """Note that nothing changes for some keys any more before they have other rows.

        But for those that are touched, which `entries` tell as `TOUCH_KEYS` does; the
        others are returned. That is so at the time that the clock shows: open snapshots
        go on up to it.
        """
        others = np.empty_like(codes)
        ends = int(self.formulas.traits.sparse)
        _, _, _, _, count, *_ = self._retire(
            *(len(codes), len(touched), time, ends, 0),
            *(codes, touched, entries),
            *map(self._records.find, ("done", "live")),
            others,
        )
        others = others[:count]
        if not ends:
            assert isinstance(self.open, OpenSnapshots), "rows that may go on"
            self.open.extend(others, time)
        return others

    def live(self) -> I64Array:
        """List the keys of which anything may come."""
        return self._records.truths("live").nonzero()[0]

    def needs_no_rows(self, codes: I64Array) -> BoolArray:
        """Tell which keys need none of the rows that they had."""
        times, truths = self._records.times, self._records.truths
        needs_none: BoolArray = ~truths("live")[codes]
        if self.formulas.retires:
            needs_none |= truths("over")[codes] & (times("due")[codes] == NEVER)
        return needs_none

    def find_least_done(self) -> int:
        """Find up to when all keys are done of which anything may come."""
        done = self._records.times("done")[self._records.truths("live")]
        return int(done.min(initial=LATEST))

    def stand_still(self) -> OutputRange:
        """Make the range of a clock that does not go on: nothing is computed."""
        return OutputRange(EMPTY, self.clock, -ENDLESS, final=False)

    def plan(
        self,
        codes: I64Array,
        clock: OutputRange,
        taken: Mapping[str, TakenRows],
        bounds: Mapping[str, tuple[int, int]],
    ) -> KeyPlan:
        """Plan what to compute of some keys.

        `taken` are the keys' rows by input, `bounds` the first start and the last end
        of inputs without keys.
        """
        operands: dict[str, FormulaOperand] = {
            **self._work_tables,
            "low": clock.low,
            "high": clock.high,
        }
        for name in self.formulas.keyed:
            rows = taken[name].rows
            operands[f"starts of {name}"] = WholeTimes(rows.starts)
            operands[f"ends of {name}"] = WholeTimes(rows.ends)
            operands[f"before of {name}"] = taken[name].before
        others = [name for name in self.formulas.others if name in bounds]
        for name in others:
            low, high = bounds[name]
            operands[f"first of {name}"], operands[f"last of {name}"] = low, high
        moves = clock.high > clock.low
        form = self._find_form("work", clock.final, moves, *others)
        find_work = partial(
            self.formulas.find_work, others, moves=moves, final=clock.final
        )
        blocks = [taken[name].edges for name in self.formulas.keyed]
        found = self._loops.compute(form, find_work, operands, codes, blocks)
        self.clock = max(clock.low, clock.high)
        cells = Cells(
            found["first cell"], found["last cell"], found["seam"], found["is last"]
        )
        ranges = KeyedRanges(
            Domains(found["start"], found["end"]),
            found["range low"],
            found["range high"],
            found["wanted"],
            (self.definition.tdom, cells),
        )
        points = frozenset(name for name in self.formulas.keyed if taken[name].points)
        return KeyPlan(codes, ranges, found, form, clock.high, clock.final, points)

    def _find_form(self, *facts: Hashable) -> Hashable:
        """Find what formulas take for granted; None where no loop can be made."""
        return None if self.definition.tdom.calendar else facts

    def close(
        self,
        plan: KeyPlan,
        made: KeyedSnapshots,
        carried: Mapping[int, int],
        taken: Mapping[str, TakenRows],
    ) -> tuple[KeyedSnapshots, Columns | None]:
        """Join what was made with what was open.

        Returns what is complete, and the results of `find_next` unless all is.

        `carried` are the ends of open snapshots that stand nowhere else, by place, and
        `taken` the keys' rows by input.
        """
        self.finished = plan.final
        if isinstance(self.open, OpenRows):
            root = self.formulas.root
            until = self.clock if plan.limit >= self.clock else EARLIEST
            closed = self.open.close(
                plan.codes,
                made,
                None if root is None else taken[root].heads,
                LATEST if plan.final else until,
            )
        else:
            times = CloseTimes(
                plan.columns["seams"],
                plan.columns["reached"],
                plan.columns["ends"],
                carried,
            )
            closed = self.open.close(plan.codes, made, times)
            if plan.final:
                return self._join_open(plan.codes, closed.final), None
        return closed.final, None if plan.final else self._schedule(plan, closed)

    def _join_open(self, codes: I64Array, final: KeyedSnapshots) -> KeyedSnapshots:
        """Put the snapshots that are open behind the final ones: no others come."""
        assert isinstance(self.open, OpenSnapshots)
        none = no_rows(self.definition.type, len(codes))
        return join_by_key([none, final, self.open.take(codes)], self.definition.type)

    def _schedule(self, plan: KeyPlan, closed: ClosedKeys) -> Columns:
        """Settle how far each key is, and when it is to be computed again.

        A key whose domain ends before the clock: to see whether its last snapshot goes
        on, and once its rows have settled. Another one when the clock gets there, but
        with every span where more than its own rows may change it. At the latest when
        a row that waits ends.
        """
        operands: dict[str, FormulaOperand] = {
            **self._next_tables,
            "goes on": closed.goes_on,
            "is open": closed.is_open,
            "limit": plan.limit,
            "clock": self.clock,
        }
        if closed.latest is not None:
            operands["latest"] = closed.latest
        form = self._find_form("next", plan.form, plan.points, *operands)
        find_next = partial(self.formulas.find_next, plan.points)
        found = self._loops.compute(
            form, find_next, operands, plan.codes, [plan.columns]
        )
        self._due.list_near(plan.codes, found["new due"])
        return found

    def count_last(self, name: str) -> int:
        """Count the rows of an input that a key needs from before its horizon."""
        if self.finished or name not in self.reach:
            return 0
        return last_rows(name, self.reach, self.formulas.resumed_reach or {})
