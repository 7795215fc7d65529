"""Formulas of the progress by key of an output: what to compute of keys, and when.

All keys have one clock: the time up to which all inputs are complete. A key's domain
ends with its own rows, and may end later with its next row. So what comes behind it is
not computed but for a look at whether the last snapshot goes on; what the key still
needs of its rows waits. Where an output is φ without rows, and nothing came behind the
domain once its rows are out of reach, a key needs nothing any more.

Formulas are evaluated over columns with an entry for each key, or traced.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import record
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.execution.call_numbers import (
    ceil_to,
    choose,
    end_cells,
    floor_to,
    least,
    most,
)
from tiltpy.runtime.execution.column_formulas import Operands
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.keyed.due_times import NEVER
from tiltpy.types import ALL_FUTURE, ENDLESS, MAX_TIME, Boundary


@record(frozen=True, slots=True, eq=False)
class KeyChanges:
    """The changes that some keys may still see; numbers may be traced.

    `high`: how far each was computed, `ends`: where its domain ends so far, `limit`:
    where the clock is. `in_reach`: a cell behind that sees a row. `goes_on`: its last
    snapshot does, behind its domain; `is_open`: that may. `is_wanted`: something was
    computed; `waits`: its first cell comes behind the clock. `settled`, `unseen`,
    `newest` and `next_change` are those of its plan.
    """

    high: Times
    ends: Times
    limit: int
    in_reach: BoolArray
    goes_on: BoolArray
    is_open: BoolArray
    is_wanted: BoolArray
    waits: BoolArray
    settled: Times
    unseen: Times
    newest: Times | None
    next_change: Times | None


class KeyFormulas:
    """Formulas of an output that is run in parts."""

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
        """The reach of a key with states of windows that fold on; None without them."""
        self.keyed = [name for name in reach if name in keyed]
        self.others = [name for name in reach if name not in keyed]
        self.rounding = rounding
        self.traits = traits
        self.start, self.end = request.limits(definition.tdom)
        backs = [reach[name].back for name in self.keyed]
        self.awaited = {n: reach[n].ahead.ticks for n in reach if reach[n].ahead.rows}
        """The inputs whose next rows it needs, from so many ticks ahead on."""
        self.lasts = any(back.is_unbounded or back.rows for back in backs)
        self.lasts |= bool(self.awaited)
        """True if all later cells may see a row."""
        self.retires = False
        """True if it tells which keys wait for nothing but their rows to settle."""
        back = ALL_FUTURE if self.lasts else max(back.ticks for back in backs)
        self.tail = back + rounding + 2 * definition.tdom.precision
        """Ticks behind its last edge from which on no cell sees a row."""

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

    def find_next(self, points: Collection[str], operands: Operands) -> Operands:
        """Find how far keys are, when they are due, and which rows they need.

        Nothing needs rows of an input that have ended by its horizon. Those of inputs
        in `points` are such.
        """
        is_wanted, ends = operands["wanted"], operands["ends"]
        high = choose(is_wanted, operands["range high"], operands["range low"])
        in_reach = high < operands["unseen"]
        waits = ~is_wanted & (operands["clock"] < high)
        goes_on, is_open = operands["goes on"], operands["is open"]
        changes = KeyChanges(
            high,
            ends,
            operands["limit"],
            in_reach,
            goes_on,
            is_open,
            is_wanted,
            waits,
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


def _stamp(operands: Operands, name: str) -> Any:
    """Find the greatest stamp of the rows of keys, of an input; early without rows."""
    newest = most(operands[f"newest of {name}"], EARLIEST + MAX_TIME)
    return newest + operands[f"before of {name}"]
