"""Progress by key of an output that is run in parts, and its open snapshots.

All keys have one clock: the time up to which all inputs are complete. A key's domain
ends with its own rows, and may end later with its next row. So what comes behind it is
not computed but for a look at whether the last snapshot goes on; what the key still
needs of its rows waits. Where an output is φ without rows, and nothing came behind the
domain once its rows are out of reach, a key needs nothing any more.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from tiltpy.calendars import round_up
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import record
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.execution.call_numbers import ceil_to, floor_to
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
    KeyedRanges,
)
from tiltpy.runtime.execution.time_domain import EMPTY, OutputRange, Request
from tiltpy.runtime.keyed.close_keys import CloseTimes, close_keys
from tiltpy.runtime.keyed.due_times import NEVER, DueTimes
from tiltpy.runtime.keyed.held_rows import Heads
from tiltpy.runtime.keyed.join import join_by_key, no_rows
from tiltpy.runtime.keyed.row_store import make_store
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import ALL_FUTURE, ENDLESS, Boundary, last_rows


@record(frozen=True, slots=True, eq=False)
class RowEdges:
    """Of each key the greatest end of its rows, and the greatest that is no hold.

    Rows that hold on count with their start for the latter. `newest` are the greatest
    starts. `EARLIEST` without rows.
    """

    ends: Times
    settled: Times
    newest: Times

    @staticmethod
    def none(keys: int) -> "RowEdges":
        """Make those of keys without rows."""
        return RowEdges(*(np.full(keys, EARLIEST) for _ in range(3)))

    @staticmethod
    def of(rows: KeyedSnapshots, *, points: bool) -> "RowEdges":
        """Find those of some rows, which may be known to be `points`."""
        edges = RowEdges.none(len(rows.counts))
        some = rows.counts.nonzero()[0]
        if points:
            last = rows.counts.cumsum()[some] - 1
            edges.ends[some] = edges.settled[some] = rows.ends[last]
            edges.newest[some] = rows.starts[last]
        elif len(some):
            begins = (rows.counts.cumsum() - rows.counts)[some]
            edges.ends[some] = np.maximum.reduceat(rows.ends, begins)
            times = np.where(rows.ends < ENDLESS, rows.ends, rows.starts)
            edges.settled[some] = np.maximum.reduceat(times, begins)
            edges.newest[some] = np.maximum.reduceat(rows.starts, begins)
        return edges

    def later(self, other: "RowEdges") -> "RowEdges":
        """Take those of the rows of two inputs."""
        return RowEdges(
            np.maximum(self.ends, other.ends),
            np.maximum(self.settled, other.settled),
            np.maximum(self.newest, other.newest),
        )


@record(frozen=True, slots=True, eq=False)
class KeyPlan:
    """The work of an evaluation for some keys.

    `codes` are theirs, `ends` where their domains end so far, on the grid; `ranges`
    go on behind them where the clock, `limit`, does. `next_change`: nothing changes
    before, if their rows tell.
    """

    codes: I64Array
    ranges: KeyedRanges
    ends: Times
    edges: RowEdges
    limit: int
    final: bool
    next_change: Times | None


@record(frozen=True, slots=True, eq=False)
class KeyChanges:
    """The changes that some keys may still see.

    `high`: how far each was computed. `in_reach`: a cell behind that sees a row.
    `goes_on`: its last snapshot does, behind its domain; `is_open`: that may.
    """

    high: Times
    in_reach: BoolArray
    goes_on: BoolArray
    is_open: BoolArray


class KeyProgress:
    """The progress of an output for all keys, by their codes."""

    def __init__(
        self,
        definition: TemporalExpr,
        reach: Mapping[str, Boundary],
        keyed: Collection[str],
        rounding: int,
        request: Request,
        traits: KeyTraits,
        resumed_reach: Mapping[str, Boundary] | None = None,
        root: str | None = None,
    ) -> None:
        self.definition = definition
        self.root = root
        """The input whose rows it has, if these end with the next row of their key."""
        self.reach = reach
        self.resumed_reach = resumed_reach
        """What a key needs once it has states of all rows before, if there are any."""
        self.keyed = [name for name in reach if name in keyed]
        self.others = [name for name in reach if name not in keyed]
        self.rounding = rounding
        self.traits = traits
        self.start, self.end = request.limits(definition.tdom)
        self.clock = -ENDLESS
        """Up to when it has been computed."""
        self.finished = False
        self.open = make_store(definition.type)
        backs = [reach[name].back for name in self.keyed]
        self.awaited = {n: reach[n].ahead.ticks for n in reach if reach[n].ahead.rows}
        """The inputs whose next rows it needs, from so many ticks ahead on."""
        self.lasts = any(back.is_unbounded or back.rows for back in backs)
        self.lasts |= bool(self.awaited)
        """Whether a row of a key may matter to all later cells."""
        back = ALL_FUTURE if self.lasts else max(back.ticks for back in backs)
        self.tail = back + rounding + 2 * definition.tdom.precision
        """Ticks behind its last edge from which on no cell sees a row."""
        none = np.zeros(0, np.int64)
        self._first, self._last, self._done = none, none, none
        self._due = DueTimes()
        self._live = self._has_states = none.astype(np.bool_)

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        self.open.grow(codes)
        self._due.grow(codes)
        missing = codes - len(self._first)
        if missing > 0:
            room = max(missing, len(self._first))
            self._first = np.concatenate([self._first, np.full(room, LATEST)])
            self._last = np.concatenate([self._last, np.full(room, EARLIEST)])
            self._done = np.concatenate([self._done, np.zeros(room, np.int64)])
            self._live = np.concatenate([self._live, np.zeros(room, np.bool_)])
            self._has_states = np.concatenate(
                [self._has_states, np.zeros(room, np.bool_)]
            )

    def save(self) -> dict[str, object]:
        """Make what `restore` takes, between two evaluations."""
        arrays = self._first, self._last, self._done, self._due.save()
        return {
            "arrays": arrays,
            "flags": [each.view(np.uint8) for each in (self._live, self._has_states)],
            "open": self.open.save(),
            "clock": self.clock,
            "finished": self.finished,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over the progress of keys, whose codes there is room for."""
        self._first, self._last, self._done, due = saved["arrays"]
        self._due.restore(due)
        live, has_states = saved["flags"]
        self._live, self._has_states = live.view(np.bool_), has_states.view(np.bool_)
        self.open.restore(saved["open"])
        self.clock, self.finished = saved["clock"], saved["finished"]

    def extend(self, codes: I64Array, firsts: Times, lasts: Times) -> None:
        """Note the first start and the greatest end of rows that came, by key."""
        self._first[codes] = np.minimum(self._first[codes], firsts)
        self._last[codes] = np.maximum(self._last[codes], lasts)

    def due(self, time: int) -> I64Array:
        """List the keys to compute once the clock shows a time."""
        return self._due.list(time)

    def live(self) -> I64Array:
        """List the keys of which anything may come."""
        return np.flatnonzero(self._live)

    def find_least_done(self) -> int:
        """Find up to when all keys are done of which anything may come."""
        return int(self._done[self._live].min(initial=LATEST))

    def stand_still(self) -> OutputRange:
        """Make the range of a clock that does not go on: nothing is computed."""
        return OutputRange(EMPTY, self.clock, -ENDLESS, final=False)

    def plan(
        self,
        codes: I64Array,
        clock: OutputRange,
        rows: Mapping[str, KeyedSnapshots],
        edges_of: Mapping[str, RowEdges],
        bounds: Mapping[str, tuple[int, int]],
    ) -> KeyPlan:
        """Plan what to compute of some keys.

        `rows` are the keys', and `edges_of` the edges of those, by input, `bounds` the
        first start and the last end of inputs without keys.
        """
        edges = reduce(RowEdges.later, (edges_of[name] for name in self.keyed))
        tdom = self.definition.tdom
        first, last = self._first[codes], self._last[codes]
        if self.traits.apart:  # rows whose cell is complete are gone
            edges = edges.later(RowEdges(last, last, edges.newest))
        born = first < LATEST
        for name in self.others:
            if name in bounds:
                low, high = bounds[name]
                first, last = np.minimum(first, low), np.maximum(last, high)
        first, last = np.where(born, first, 0), np.where(born, last, 0)
        start = first if self.start is None else np.full_like(first, self.start)
        end = self.find_end(last, clock)
        wanted = born & (start < end)
        ends = ceil_to(tdom, end)
        late = self.traits.sparse and not self.awaited
        newborn = np.maximum(start, clock.low) if late else start
        begin = np.where(self._live[codes], self._done[codes], newborn)
        self._done[codes], self._live[codes] = begin, born
        self.clock = max(clock.low, clock.high)
        until = ends
        if not clock.final:
            until = self.find_until(ends, edges, clock)
            for name, ticks in self.awaited.items():  # a stamp follows its row's start
                until = np.minimum(until, edges_of[name].newest + 1 - ticks)
            end = np.full(len(end), ENDLESS if self.end is None else self.end)
        domains = Domains(np.where(wanted, start, 0), np.where(wanted, end, 0))
        # One from before all time would make each key a run of its own.
        ranges = KeyedRanges(domains, np.maximum(begin, start), until)
        change = self.find_next_change(rows, clock)
        return KeyPlan(codes, ranges, ends, edges, clock.high, clock.final, change)

    def find_end(self, last: Times, clock: OutputRange) -> Times:
        """Find where domains end so far, by the greatest ends of the keys' rows."""
        del clock  # which says nothing of rows to come
        if self.end is not None:
            return np.full_like(last, self.end)
        return round_up(self.definition.tdom, last)

    def find_until(self, ends: Times, edges: RowEdges, clock: OutputRange) -> Times:
        """Find up to when to compute, by the `ends` of domains: as far as the clock."""
        return np.minimum(self._look_behind(ends, edges), clock.high)

    def find_next_change(
        self, rows: Mapping[str, KeyedSnapshots], clock: OutputRange
    ) -> Times | None:
        """Find the next boundary of each key behind the clock; None if nobody asks."""
        del rows, clock
        return None

    def _look_behind(self, ends: Times, edges: RowEdges) -> Times:
        """Find up to when it pays to look at what comes behind the domains.

        Not where a key waits for its next row anyway. States are those of the last cell
        computed, and never go back.
        """
        if self.lasts:
            return ends
        if self.traits.dense:
            return ends + self.definition.tdom.precision
        return np.maximum(ends, self._find_settling(edges))

    def _find_settling(self, edges: RowEdges) -> Times:
        """Find the times from which on the keys' rows change nothing any more."""
        return np.maximum(edges.settled, EARLIEST + self.tail) + self.tail

    def close(
        self,
        plan: KeyPlan,
        made: KeyedSnapshots,
        carried: Mapping[int, int],
        heads: Mapping[str, Heads],
    ) -> KeyedSnapshots:
        """Join what was made with what was open; returns what is complete.

        `carried` are the ends of open snapshots that stand nowhere else, by place, and
        `heads` those of the rows that came, by input.
        """
        self.finished = plan.final
        if self.definition.tdom.rows is not None:
            return self._close_rows(plan, made, heads)
        if plan.final:
            return self._join(plan, made, carried)
        tdom = self.definition.tdom
        ranges, cells = plan.ranges, plan.ranges.cells(tdom)
        # A row that holds on ends nowhere yet, and what is made of it ends no later.
        reached = np.where(ranges.nonempty, floor_to(tdom, ranges.high), EARLIEST)
        seams = np.where(cells.seam, cells.first - tdom.precision, EARLIEST)
        times = CloseTimes(seams, reached, plan.ends, carried)
        closed = close_keys(
            self.open.take(plan.codes), made, times, self.definition.type
        )
        self.open.put(plan.codes, closed.waiting)
        self._schedule(plan, closed.goes_on, closed.is_open)
        return closed.final

    def _close_rows(
        self, plan: KeyPlan, made: KeyedSnapshots, heads: Mapping[str, Heads]
    ) -> KeyedSnapshots:
        """Return the rows whose ends are known; they are never joined.

        A row that holds waits for the next one of its key, or for the clock; while that
        stands still, all do.
        """
        count = len(plan.codes)
        waits = np.zeros(count, np.bool_)
        ends = np.full(count, NEVER)
        if self.root is not None:
            none = no_rows(self.definition.type, count)
            opened, _ = heads[self.root].end(self.open.take(plan.codes))
            made = join_by_key([none, opened, made], self.definition.type)
            if not plan.final:
                moves = plan.limit >= self.clock
                waiting = (made.ends > self.clock) | (not moves)
                keys = np.repeat(np.arange(count), made.counts)[waiting]
                waits[keys] = True
                np.minimum.at(ends, keys, made.ends[waiting])
                self.open.put(plan.codes, made.keep(waiting))
                made = made.keep(~waiting)
        if not plan.final:
            self._schedule(plan, np.zeros(count, np.bool_), waits, ends)
        return made

    def _join(
        self, plan: KeyPlan, made: KeyedSnapshots, carried: Mapping[int, int]
    ) -> KeyedSnapshots:
        """Make open snapshots longer where they go on, and put the others behind."""
        payload = self.definition.type
        left = self.open.take(plan.codes)
        cells = plan.ranges.cells(self.definition.tdom)
        some = np.flatnonzero(made.counts)
        heads = (made.counts.cumsum() - made.counts)[some]
        seams = cells.first[some] - self.definition.tdom.precision
        before = np.asarray(cells.seam)[some] & (made.starts[heads] < seams)
        joins = before & (made.ends[heads] > seams)
        reach = np.full(len(plan.codes), EARLIEST)
        reach[some[joins]] = made.ends[heads[joins]]
        for place, end in carried.items():
            reach[place] = max(reach[place], end)
        opened = np.flatnonzero(left.counts)
        assert (left.counts[reach > EARLIEST] == 1).all(), "nothing open goes on"
        ends = np.maximum(left.ends, reach[opened])
        left = replace(left, ends=ends)
        mask = np.ones(len(made.starts), np.bool_)
        mask[heads[before]] = False
        none = no_rows(payload, len(plan.codes))
        return join_by_key([none, left, made.keep(mask)], payload)

    def _schedule(
        self,
        plan: KeyPlan,
        goes_on: BoolArray,
        is_open: BoolArray,
        latest: Times | None = None,
    ) -> None:
        """Settle how far each key is, and when it is to be computed again.

        A key whose domain ends before the clock: to see whether its last snapshot goes
        on, and once its rows have settled. Another one when the clock gets there, but
        with every span where more than its own rows may change it. At `latest` in any
        case.
        """
        codes, ranges = plan.codes, plan.ranges
        high = np.where(ranges.nonempty, ranges.high, ranges.low)
        in_reach = high < self._find_last_reach(plan.edges)
        changes = KeyChanges(high, in_reach, goes_on, is_open)
        due = self.find_due(plan, changes, self._find_settling(plan.edges))
        dead = ~in_reach & ~goes_on & ~is_open & self.traits.sparse
        live = (self._first[codes] < LATEST) & ~dead
        # Other rows of a key may still come before those that begin behind the clock.
        self._done[codes] = np.minimum(np.minimum(high, plan.ends), self.clock)
        self._live[codes] = live
        self._has_states[codes] |= ranges.cells(self.definition.tdom).some
        due = np.where(live, due, NEVER)
        self._due.set(codes, due if latest is None else np.minimum(due, latest))

    def find_due(self, plan: KeyPlan, changes: KeyChanges, settled: Times) -> Times:
        """Find when keys are to be computed again, whose rows have `settled` then."""
        traits, high, ends = self.traits, changes.high, plan.ends
        step = self.definition.tdom.precision
        due = np.full(len(high), NEVER)
        looks_behind = not self.lasts
        if looks_behind and not traits.dense and (traits.sparse or traits.steady):
            due = np.where(high < settled, settled, due)
        if looks_behind:
            due = np.where(high < ends + step, ends + step, due)
        later = settled if self.end is not None else ends
        if traits.steady:
            return np.where(ends > plan.limit, later, due)
        due = np.where(ends > plan.limit, NEVER, due)
        # What has no keys may change any cell, and make the domain longer.
        busy = changes.in_reach | (not traits.sparse)
        return np.where(busy, EARLIEST, due)

    def _find_last_reach(self, edges: RowEdges) -> Times:
        """Find the times from which on no cell sees a row of the keys."""
        return np.maximum(edges.ends, EARLIEST + self.tail) + self.tail

    def horizon(self, name: str, codes: I64Array, *, points: bool) -> Times:
        """Find the times by which rows of an input have ended that nothing needs.

        All of its rows so far may be `points`.
        """
        tdom = self.definition.tdom
        if self.finished or name not in self.reach:
            return np.full(len(codes), LATEST)
        horizon = floor_to(tdom, self._done[codes])
        if self.traits.apart and points:
            # Rows tell the last cell from an empty one, which would go on.
            kept = 0 if self.traits.sparse else tdom.precision
            return np.where(self._live[codes], horizon - kept, LATEST)
        back: int | Times = self.reach[name].back.ticks
        if self.resumed_reach is not None:
            resumed = self.resumed_reach[name].back.ticks
            back = np.where(self._has_states[codes], resumed, back)
        back = back + tdom.precision + self.rounding
        return np.where(self._live[codes], horizon - back, LATEST)

    def count_last(self, name: str) -> int:
        """Count the rows of an input that a key needs from before its horizon."""
        if self.finished or name not in self.reach:
            return 0
        return last_rows(name, self.reach, self.resumed_reach or {})
