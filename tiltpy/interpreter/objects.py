"""Temporal objects: their snapshots, from events or by walking a grid."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

from tiltpy.forks import cached_property
from tiltpy.interpreter.calendars import cell_of
from tiltpy.interpreter.scalars import Atom, identical, unsign_zero
from tiltpy.ir.nodes import Cut, Expr, TemporalExpr, UserReduction
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import TDom

Value = Atom | dict[str, Any]
"""A payload: a scalar, or a struct's fields (None is a field that is φ). An expression
gives a `Value` or None, which is φ."""


FOREVER = 1 << 99
"""The end of an event that holds without end: Python's integers do not wrap."""


class Event(NamedTuple):
    """A payload valid over `(start, end]`."""

    start: int
    end: int
    value: Value

    @property
    def bounds(self) -> "Bounds":
        """Its start and its end, None where it holds without end."""
        return self.start, None if self.end == FOREVER else self.end

    @property
    def domain_end(self) -> int:
        """The end that the domain of an output takes into account."""
        return self.end


class LastEvent(Event):
    """A last row of `until_next`: however long it holds, a domain sees its own tick."""

    __slots__ = ()

    @property
    def domain_end(self) -> int:
        """Its own stamp."""
        return self.start + 1


class Snapshot(NamedTuple):
    """A value of a temporal object, held over `(start, end]`.

    It is None in a null row, which only outputs have.
    """

    start: int
    end: int
    value: Value | None


@dataclass(frozen=True, slots=True)
class EvaluationScope:
    """The surroundings of an expression: a time, local names, a window's element.

    `element_start` is where the element's snapshot starts. `row` is the number of the
    input's row, over whose rows the expression stands.
    """

    time: int
    names: Mapping[str, Value | None] = field(default_factory=dict)
    element: Value | None = None
    element_start: int | None = None
    row: int | None = None

    def bind(self, name: str, value: Value | None) -> "EvaluationScope":
        """Add a local name."""
        names = {**self.names, name: value}
        return EvaluationScope(
            self.time, names, self.element, self.element_start, self.row
        )


Bounds = tuple[int | None, int | None]
"""The start and the end of a snapshot; None where it has held since ever, or holds
without end."""


class Meaning(Protocol):
    """Evaluation of a query's expressions over its objects."""

    @property
    def objects(self) -> Mapping[str, "TemporalObject"]:
        """The inputs and the derived objects, by name."""

    @property
    def horizon(self) -> tuple[int, int]:
        """The time range outside of which no object has a snapshot to look for."""

    @property
    def user_reductions(self) -> Mapping[str, UserReduction]:
        """The reductions that the query defines, by name."""

    def evaluate(self, expr: Expr, scope: EvaluationScope) -> Value | None:
        """Evaluate an expression; None where it is φ."""

    def sees_same(self, cut: Cut, early: int, late: int) -> bool:
        """Tell whether a cut sees the same at two neighbouring grid points."""


class TemporalObject(ABC):
    """A temporal object: anything that has snapshots."""

    @abstractmethod
    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        """Find the snapshots that meet `(start, end]`, cut to it."""

    @abstractmethod
    def window(self, start: int, end: int) -> Sequence[Snapshot | Event]:
        """Find what a window `(start, end]` holds, in order."""

    @abstractmethod
    def bounds_at(self, time: int) -> Bounds | None:
        """Find the bounds of what a point reference sees; None in a gap."""

    def at(self, time: int) -> Value | None:
        """Evaluate it at a time; None where it has no snapshot."""
        snapshots = self.snapshots(time - 1, time)
        return snapshots[0].value if snapshots else None

    def same(self, early: int, late: int) -> bool:
        """Tell whether one snapshot holds both times, or one gap does."""
        snapshots = self.snapshots(early - 1, late)
        if not snapshots:
            return True
        return (snapshots[0].start, snapshots[0].end) == (early - 1, late)


class EventObject(TemporalObject):
    """Events. Windows see the events themselves, points the event on top."""

    events: Sequence[Event]

    @cached_property
    def runs(self) -> list[tuple[int, int, Event]]:
        """The longest ranges with one event on top."""
        return list(_split_by_top(self.events))

    @cached_property
    def starts(self) -> list[int]:
        """The starts of the runs."""
        return [start for start, _, _ in self.runs]

    @cached_property
    def begins(self) -> list[int]:
        """The starts of the events."""
        return [event.start for event in self.events]

    @cached_property
    def is_in_order(self) -> bool:
        """Tell whether the events come in order of their starts."""
        return all(one <= other for one, other in pairwise(self.begins))

    @cached_property
    def latest(self) -> list[int]:
        """The latest end of each event and all before it."""
        return list(accumulate((event.end for event in self.events), max))

    @abstractmethod
    def row(self, number: int) -> Event | None:
        """Find its own event that is row `number` of the input; None if it has none."""

    @abstractmethod
    def rows_to(self, number: int) -> list[tuple[int, Event]]:
        """List its events up to row `number` of the input, with their numbers."""

    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        snapshots = []
        earliest = max(0, bisect_right(self.starts, start) - 1)
        for first, last, event in self.runs[earliest:]:
            if first >= end:
                break
            if last > start:
                bounds = max(first, start), min(last, end)
                snapshots.append(Snapshot(*bounds, event.value))
        return snapshots

    def window(self, start: int, end: int) -> list[Event]:
        if not self.is_in_order:
            return [e for e in self.events if e.start < end and start < e.end]
        first, stop = bisect_right(self.latest, start), bisect_left(self.begins, end)
        return [event for event in self.events[first:stop] if start < event.end]

    def bounds_at(self, time: int) -> Bounds | None:
        run = bisect_right(self.starts, time - 1) - 1
        if run < 0 or self.runs[run][1] < time:
            return None
        return self.runs[run][2].bounds


class InputObject(EventObject):
    """The events of an input, each stamped `before` ticks after its start."""

    def __init__(self, events: Sequence[Event], before: int = 1) -> None:
        self.events = events
        self.before = before

    def row(self, number: int) -> Event:
        return self.events[number]

    def rows_to(self, number: int) -> list[tuple[int, Event]]:
        return list(enumerate(self.events[: number + 1]))


class RowObject(EventObject):
    """A temporal expression over the rows of an object, each with its own lifetime.

    It has an event for each of them where the expression is not φ.
    """

    def __init__(
        self,
        definition: TemporalExpr,
        meaning: Meaning,
        over: "InputObject | RowObject",
    ) -> None:
        self.definition = definition
        self.meaning = meaning
        self.over = over
        self.source: InputObject = (
            over if isinstance(over, InputObject) else over.source
        )

    @cached_property
    def values(self) -> dict[int, Value | None]:
        """The value for each of the rows that it stands over, by their numbers."""
        return {
            number: self.meaning.evaluate(
                self.definition.body,
                EvaluationScope(self.stamp(event), row=number),
            )
            for number, event in enumerate(self.source.events)
            if self.over.row(number) is not None
        }

    @cached_property
    def events(self) -> Sequence[Event]:
        rows = (self.row(number) for number in self.values)
        return [row for row in rows if row is not None]

    def row(self, number: int) -> Event | None:
        value = self.values.get(number)
        if value is None:
            return None
        return self.source.events[number]._replace(value=value)

    def rows_to(self, number: int) -> list[tuple[int, Event]]:
        rows = ((each, self.row(each)) for each in self.values if each <= number)
        return [(each, row) for each, row in rows if row is not None]

    def stamp(self, event: Event) -> int:
        """Find the time at which the expression is evaluated for a row."""
        at_ends = self.definition.tdom.at_ends
        return event.end if at_ends else event.start + self.source.before

    def rows_within(self, start: int, end: int) -> list[Snapshot]:
        """Find the rows that are stamped within `(start, end]`, null rows included."""
        rows = (
            (self.source.events[number], value) for number, value in self.values.items()
        )
        return [
            Snapshot(event.start, event.end, value)
            for event, value in rows
            if start < self.stamp(event) <= end
            and (value is not None or self.definition.tdom.nulls)
        ]


def _split_by_top(events: Sequence[Event]) -> Iterator[tuple[int, int, Event]]:
    """Find the longest ranges with one event on top: the alive one that started last.

    Each is its start, its end and the event.
    """
    starting: dict[int, list[int]] = {}
    ending: dict[int, list[int]] = {}
    for number, event in enumerate(events):
        starting.setdefault(event.start, []).append(number)
        ending.setdefault(event.end, []).append(number)
    times = sorted(starting.keys() | ending.keys())
    alive = set[int]()
    begun, top = 0, -1
    for start in times[:-1]:
        alive.update(starting.get(start, ()))
        alive.difference_update(ending.get(start, ()))
        highest = max(alive, default=-1)
        if highest != top:
            if top >= 0:
                yield begun, start, events[top]
            begun, top = start, highest
    if top >= 0:
        yield begun, times[-1], events[top]


class DerivedObject(TemporalObject):
    """A temporal expression over its grid, cut to its domain's finite bounds.

    Of a distinct one neighbours with identical values are one snapshot.
    """

    def __init__(
        self,
        definition: TemporalExpr,
        meaning: Meaning,
        start: int | None,
        end: int | None,
    ) -> None:
        self.definition = definition
        self.meaning = meaning
        self.start = start
        self.end = end
        self.values: dict[int, Value | None] = {}
        self.seams: dict[int, bool] = {}

    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        start = start if self.start is None else max(start, self.start)
        end = end if self.end is None else min(end, self.end)
        if start >= end:
            return []
        snapshots: list[Snapshot] = []
        for before, g in self.cells(start, end):
            value = self.value(g)
            if value is None:
                continue
            cell = Snapshot(max(before, start), min(g, end), value)
            last = snapshots[-1] if snapshots else None
            if last and last.end == cell.start and self.continues(before, g):
                same = self.definition.distinct or repr(last.value) == repr(value)
                assert same, f"a cut is missing at {g}"
                snapshots[-1] = last._replace(end=cell.end)
            else:
                snapshots.append(cell)
        return snapshots

    def window(self, start: int, end: int) -> list[Snapshot]:
        return self.snapshots(start, end)

    def cells(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Go through the cells that meet `(start, end]`."""
        tdom = self.definition.tdom
        if tdom.cells is None:
            yield from grid_cells(tdom, start, end)
            return
        intervals = self.meaning.objects[tdom.cells]
        for event in intervals.window(start, end):
            yield event.start, event.end

    def value(self, g: int) -> Value | None:
        """Evaluate `F(g)`, which holds over the cell `(g-p, g]`."""
        if g not in self.values:
            body = self.definition.body
            value = self.meaning.evaluate(body, EvaluationScope(g))
            self.values[g] = unsign_zero(value) if self.definition.distinct else value
        return self.values[g]

    def continues(self, before: int, g: int) -> bool:
        """Tell whether every cut sees the same at `g` as one grid point before.

        Of a distinct object the values decide alone. Intervals are never joined.
        """
        if g not in self.seams:
            if self.definition.tdom.cells is not None and not self.definition.distinct:
                self.seams[g] = False
            elif self.definition.distinct:
                self.seams[g] = identical(self.value(before), self.value(g))
            else:
                self.seams[g] = all(
                    self.meaning.sees_same(cut, before, g)
                    for cut in self.definition.cuts
                )
        return self.seams[g]

    # The bounds of the snapshots of a distinct object

    def bounds_at(self, time: int) -> Bounds | None:
        assert self.definition.distinct, "start() and end() of an object that has none"
        if not self.snapshots(time - 1, time):
            return None
        return self._start(time), self._end(time)

    def _cell(self, time: int) -> tuple[int, int] | None:
        """Find the grid points at both ends of the cell that holds a time, if any."""
        return next(self.cells(time - 1, time), None)

    def _start(self, time: int) -> int | None:
        """Find the start of the snapshot that holds a time.

        Nothing changes up to the horizon.
        """
        cell = self._cell(time)
        assert cell is not None
        before, g = cell
        while self.start is None or before > self.start:
            cell = self._cell(before)
            if cell is None or not self.continues(before, g):
                break
            if self.start is None and g <= self.meaning.horizon[0]:
                return None
            before, g = cell
        return before if self.start is None else max(before, self.start)

    def _end(self, time: int) -> int | None:
        """Find the end of the snapshot that holds a time.

        Nothing changes behind the horizon.
        """
        cell = self._cell(time)
        assert cell is not None
        before, g = cell
        while self.end is None or g < self.end:
            following = self._cell(g + 1)
            if following is None or not self.continues(g, following[1]):
                break
            if self.end is None and before >= self.meaning.horizon[1]:
                return None
            before, g = following
        return g if self.end is None else min(g, self.end)


def grid_cells(tdom: TDom, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Go through the cells that meet `(start, end]`: the grid points at both ends."""
    if tdom.calendar is None:
        for g in range(tdom.ceil(start + 1), tdom.ceil(end) + 1, tdom.precision):
            yield g - tdom.precision, g
        return
    while start < end:
        before, start = cell_of(tdom.calendar, start + 1)
        yield before, start
