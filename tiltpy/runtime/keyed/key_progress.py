"""Progress by key of an output that is run in parts, and its open snapshots.

All keys have one clock: the time up to which all inputs are complete. A key's domain
ends with its own rows, and may end later with its next row. So what comes behind it is
not computed but for a look at whether the last snapshot goes on; what the key still
needs of its rows waits. Where an output is φ without rows, and nothing came behind the
domain once its rows are out of reach, a key needs nothing any more.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import record
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.routines.catalogue import RETIRE_KEYS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.execution.call_numbers import (
    ceil_to,
    choose,
    end_cells,
    floor_to,
    least,
    most,
)
from tiltpy.runtime.execution.column_formulas import (
    ColumnFormulas,
    Columns,
    FormulaOperand,
    Operands,
    Table,
    WholeTimes,
)
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
    KeyedRanges,
)
from tiltpy.runtime.execution.time_domain import EMPTY, Cells, OutputRange, Request
from tiltpy.runtime.keyed.due_times import NEVER, DueTimes
from tiltpy.runtime.keyed.held_rows import TakenRows
from tiltpy.runtime.keyed.join import join_by_key, no_rows
from tiltpy.runtime.keyed.key_records import KeyRecords
from tiltpy.runtime.keyed.open_snapshots import CloseTimes, OpenSnapshots
from tiltpy.runtime.keyed.row_arena import RowArena
from tiltpy.runtime.keyed.row_store import RowStore, make_store
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import ALL_FUTURE, ENDLESS, MAX_TIME, Boundary, last_rows


@record(frozen=True, slots=True, eq=False)
class KeyPlan:
    """The work of an evaluation for some keys.

    `codes` are theirs; `ranges` go on behind their domains where the clock, `limit`,
    does. `columns` are the results of `KeyProgress.find_work`; `form` decides which
    they are. The rows of inputs in `points` are such.
    """

    codes: I64Array
    ranges: KeyedRanges
    columns: Columns
    form: Hashable
    limit: int
    final: bool
    points: frozenset[str]


@record(frozen=True, slots=True, eq=False)
class KeyChanges:
    """The changes that some keys may still see; numbers may be traced.

    `high`: how far each was computed, `ends`: where its domain ends so far, `limit`:
    where the clock is. `in_reach`: a cell behind that sees a row. `goes_on`: its last
    snapshot does, behind its domain; `is_open`: that may. `is_wanted`: something was
    computed. `settled`, `unseen`, `newest` and `next_change` are those of its plan.
    """

    high: Times
    ends: Times
    limit: int
    in_reach: BoolArray
    goes_on: BoolArray
    is_open: BoolArray
    is_wanted: BoolArray
    settled: Times
    unseen: Times
    newest: Times | None
    next_change: Times | None


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
        self._records = KeyRecords()
        self.open: OpenSnapshots | RowStore | RowArena
        if definition.tdom.rows is None:
            self.open = OpenSnapshots(definition.type, self._records)
        else:
            self.open = make_store(definition.type)
        backs = [reach[name].back for name in self.keyed]
        self.awaited = {n: reach[n].ahead.ticks for n in reach if reach[n].ahead.rows}
        """The inputs whose next rows it needs, from so many ticks ahead on."""
        self.lasts = any(back.is_unbounded or back.rows for back in backs)
        self.lasts |= bool(self.awaited)
        """Whether a row of a key may matter to all later cells."""
        self.retires = False
        """True if it tells which keys wait for nothing but their rows to settle."""
        back = ALL_FUTURE if self.lasts else max(back.ticks for back in backs)
        self.tail = back + rounding + 2 * definition.tdom.precision
        """Ticks behind its last edge from which on no cell sees a row."""
        self._due = DueTimes(self._records)
        self._formulas = ColumnFormulas()
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
        if self.resumed_reach is not None:
            self._next_tables["has states"] = Table(truths("has states"))
        if self.retires:
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
        return self._due.take(time, tells_over=self.retires)

    def retire(
        self, codes: I64Array, touched: I64Array, entries: I64Array, time: int
    ) -> I64Array:
        """Note that nothing changes for some keys any more before they have other rows.

        But for those that are touched, which `entries` tell as `TOUCH_KEYS` does; the
        others are returned. That is so at the time that the clock shows: open snapshots
        go on up to it.
        """
        others = np.empty_like(codes)
        ends = int(self.traits.sparse)
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
        if self.retires:
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
        for name in self.keyed:
            rows = taken[name].rows
            operands[f"starts of {name}"] = WholeTimes(rows.starts)
            operands[f"ends of {name}"] = WholeTimes(rows.ends)
            operands[f"before of {name}"] = taken[name].before
        others = [name for name in self.others if name in bounds]
        for name in others:
            low, high = bounds[name]
            operands[f"first of {name}"], operands[f"last of {name}"] = low, high
        moves = clock.high > clock.low
        form = self._find_form("work", clock.final, moves, *others)
        find_work = partial(self.find_work, others, moves=moves, final=clock.final)
        blocks = [taken[name].edges for name in self.keyed]
        found = self._formulas.compute(form, find_work, operands, codes, blocks)
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
        points = frozenset(name for name in self.keyed if taken[name].points)
        return KeyPlan(codes, ranges, found, form, clock.high, clock.final, points)

    def _find_form(self, *facts: Hashable) -> Hashable:
        """Find what formulas take for granted; None where no loop can be made."""
        return None if self.definition.tdom.calendar else facts

    def find_work(
        self, others: Sequence[str], operands: Operands, *, moves: bool, final: bool
    ) -> Operands:
        """Find what to compute of keys; `moves`: the clock goes on.

        `ends` are where domains end so far, on the grid. Rows have `settled`, and no
        cell sees any from `unseen` on. Nothing changes before the `next change`, if
        rows tell.
        """
        tdom, low, high = self.definition.tdom, operands["low"], operands["high"]
        first, last = operands["first"], operands["last"]
        edges: dict[str, Any] = {}
        for name in self.keyed:
            first = least(first, operands[f"first of {name}"])
            last = most(last, operands[f"last of {name}"])
            for edge in ("end", "settled"):
                other = operands[f"{edge} of {name}"]
                edges[edge] = most(edges[edge], other) if edge in edges else other
        if self.traits.apart:  # rows whose cell is complete are gone
            edges = {edge: most(times, last) for edge, times in edges.items()}
        results = {"first": first, "last": last}
        born = first < LATEST
        for name in others:
            first = least(first, operands[f"first of {name}"])
            last = most(last, operands[f"last of {name}"])
        first, last = choose(born, first, 0), choose(born, last, 0)
        start = first if self.start is None else self.start
        end: Any = self.find_end(last, most(low, high))
        ends = ceil_to(tdom, end)
        wanted = born & (start < end)
        late = self.traits.sparse and not self.awaited
        newborn = most(low, start) if late else start
        begin = choose(operands["live"], operands["done"], newborn)
        until = ends
        settled, unseen = (
            most(edges[edge], EARLIEST + self.tail) + self.tail
            for edge in ("settled", "end")
        )
        if not final:
            until = self.find_until(ends, settled, high, moves=moves)
            for name, ticks in self.awaited.items():  # a stamp follows its row's start
                until = least(operands[f"newest of {name}"] + 1 - ticks, until)
            end = ENDLESS if self.end is None else self.end
        if final:  # else they follow from what is made
            results |= {"done": begin, "live": born}
        results["ends"] = ends
        results |= {"settled": settled, "unseen": unseen}
        # A domain from before all time would make each key a run of its own.
        domain = choose(wanted, start, 0), choose(wanted, end, 0)
        results |= self._find_cells(domain, wanted, most(begin, start), until)
        if self.retires and self.definition.tdom.rows is not None:
            results["newest"] = reduce(most, map(partial(_stamp, operands), self.keyed))
        change = self.find_next_change(operands) if moves else None
        return results if change is None else {**results, "next change": change}

    def _find_cells(
        self, domain: tuple[Any, Any], wanted: Any, low: Any, high: Any
    ) -> Operands:
        """Find the cells of a range, and what closing it asks for."""
        tdom, (start, end) = self.definition.tdom, domain
        wanted = wanted & (low < high)
        begin, stop = ceil_to(tdom, start + 1), ceil_to(tdom, end)
        first = most(ceil_to(tdom, low + 1), begin)
        reached = floor_to(tdom, high)
        last = choose(wanted, least(reached, stop), first - 1)
        seam = first > begin
        return {
            "start": start,
            "end": end,
            "range low": low,
            "range high": high,
            "wanted": wanted,
            "first cell": first,
            "last cell": last,
            "seam": seam,
            "is last": ~wanted | (last == stop),
            # A row that holds on ends nowhere yet, and what is made of it no later.
            "reached": choose(wanted, reached, EARLIEST),
            "seams": choose(seam, first - tdom.precision, EARLIEST),
        }

    def find_end(self, last: Times, clock: int) -> Times | int:
        """Find where domains end so far, by the greatest ends of the keys' rows."""
        del clock  # which says nothing of rows to come
        return end_cells(self.definition.tdom, last) if self.end is None else self.end

    def find_until(
        self, ends: Times, settled: Times, clock: int, *, moves: bool
    ) -> Times:
        """Find up to when to compute, by the `ends` of domains: as far as the clock.

        It pays to look at what comes behind the domains, but where a key waits for its
        next row anyway. States are those of the last cell computed, and never go back.
        """
        del moves
        if self.lasts:
            return least(ends, clock)
        if self.traits.dense:
            return least(ends + self.definition.tdom.precision, clock)
        return least(most(ends, settled), clock)

    def find_next_change(self, operands: Operands) -> Times | None:
        """Find the next boundary of each key behind the clock; None if nobody asks."""
        del operands
        return None

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
        if self.definition.tdom.rows is not None:
            return self._close_rows(plan, made, taken)
        if plan.final:
            return self._join(plan, made, carried), None
        times = CloseTimes(
            plan.columns["seams"],
            plan.columns["reached"],
            plan.columns["ends"],
            carried,
        )
        assert isinstance(self.open, OpenSnapshots)
        closed = self.open.close(plan.codes, made, times)
        return closed.final, self._schedule(plan, closed.goes_on, closed.is_open)

    def _close_rows(
        self, plan: KeyPlan, made: KeyedSnapshots, taken: Mapping[str, TakenRows]
    ) -> tuple[KeyedSnapshots, Columns | None]:
        """Return the rows whose ends are known; they are never joined.

        A row that holds waits for the next one of its key, or for the clock; while that
        stands still, all do.
        """
        count = len(plan.codes)
        waits = np.zeros(count, np.bool_)
        ends = np.full(count, NEVER)
        if self.root is not None:
            none = no_rows(self.definition.type, count)
            assert not isinstance(self.open, OpenSnapshots)
            opened, _ = taken[self.root].heads.end(self.open.take(plan.codes))
            made = join_by_key([none, opened, made], self.definition.type)
            if not plan.final:
                moves = plan.limit >= self.clock
                waiting = (made.ends > self.clock) | (not moves)
                keys = np.repeat(np.arange(count), made.counts)[waiting]
                waits[keys] = True
                np.minimum.at(ends, keys, made.ends[waiting])
                self.open.put(plan.codes, made.keep(waiting))
                made = made.keep(~waiting)
        if plan.final:
            return made, None
        return made, self._schedule(plan, np.zeros(count, np.bool_), waits, ends)

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
    ) -> Columns:
        """Settle how far each key is, and when it is to be computed again.

        A key whose domain ends before the clock: to see whether its last snapshot goes
        on, and once its rows have settled. Another one when the clock gets there, but
        with every span where more than its own rows may change it. At `latest` in any
        case.
        """
        operands: dict[str, FormulaOperand] = {
            **self._next_tables,
            "goes on": goes_on,
            "is open": is_open,
            "limit": plan.limit,
            "clock": self.clock,
        }
        if latest is not None:
            operands["latest"] = latest
        form = self._find_form("next", plan.form, plan.points, *operands)
        find_next = partial(self.find_next, plan.points)
        found = self._formulas.compute(
            form, find_next, operands, plan.codes, [plan.columns]
        )
        self._due.list_near(plan.codes, found["new due"])
        return found

    def find_next(self, points: Collection[str], operands: Operands) -> Operands:
        """Find how far keys are, when they are due, and which rows they need.

        Nothing needs rows of an input that have ended by its horizon. Those of inputs
        in `points` are such.
        """
        is_wanted, ends = operands["wanted"], operands["ends"]
        high = choose(is_wanted, operands["range high"], operands["range low"])
        in_reach = high < operands["unseen"]
        goes_on, is_open = operands["goes on"], operands["is open"]
        changes = KeyChanges(
            high,
            ends,
            operands["limit"],
            in_reach,
            goes_on,
            is_open,
            is_wanted,
            operands["settled"],
            operands["unseen"],
            operands.get("newest"),
            operands.get("next change"),
        )
        dead = ~in_reach & ~goes_on & ~is_open & self.traits.sparse
        live = (operands["first"] < LATEST) & ~dead
        due = choose(live, self.find_due(changes), NEVER)
        # Other rows of a key may come before those that begin behind the clock.
        done = least(least(high, ends), operands["clock"])
        due = least(due, operands["latest"]) if "latest" in operands else due
        results = {"done": done, "live": live, "due": due, "new due": due}
        has_states: Any = False
        if self.resumed_reach is not None:
            some = operands["first cell"] <= operands["last cell"]
            results["has states"] = has_states = operands["has states"] | some
        if self.retires:
            results["over"] = live & self.find_over(changes)
        reached = floor_to(self.definition.tdom, done)
        for name in self.keyed:
            back = self._look_back(name, has_states, points=name in points)
            results[f"horizon of {name}"] = choose(live, reached - back, LATEST)
        return results

    def _look_back(self, name: str, has_states: BoolArray, *, points: bool) -> Any:
        """Find how far before the last cells their next ones look at an input."""
        precision = self.definition.tdom.precision
        if self.traits.apart and points:
            # Rows tell the last cell from an empty one, which would go on.
            return 0 if self.traits.sparse else precision
        back: Any = self.reach[name].back.ticks
        if self.resumed_reach is not None:
            resumed = self.resumed_reach[name].back.ticks
            back = choose(has_states, resumed, back)
        return back + precision + self.rounding

    def find_over(self, changes: KeyChanges) -> BoolArray:
        """Find whether nothing changes for a key once its rows have settled."""
        del changes
        raise AssertionError("only sessions retire keys")

    def find_due(self, changes: KeyChanges) -> Times | int:
        """Find when a key is to be computed again."""
        traits, high, ends = self.traits, changes.high, changes.ends
        step = self.definition.tdom.precision
        settled = changes.settled
        due: Times | int = NEVER
        looks_behind = not self.lasts
        if looks_behind and not traits.dense and (traits.sparse or traits.steady):
            due = choose(high < settled, settled, due)
        if looks_behind:
            due = choose(high < ends + step, ends + step, due)
        is_behind = ends > changes.limit
        if traits.steady:
            return choose(is_behind, settled if self.end is not None else ends, due)
        # What has no keys may change any cell, and make the domain longer.
        busy = changes.in_reach | (not traits.sparse)
        return choose(busy, EARLIEST, choose(is_behind, NEVER, due))

    def count_last(self, name: str) -> int:
        """Count the rows of an input that a key needs from before its horizon."""
        if self.finished or name not in self.reach:
            return 0
        return last_rows(name, self.reach, self.resumed_reach or {})


def _stamp(operands: Operands, name: str) -> Any:
    """Find the greatest stamp of the rows of keys, of an input; early without rows."""
    newest = most(operands[f"newest of {name}"], EARLIEST + MAX_TIME)
    return newest + operands[f"before of {name}"]
