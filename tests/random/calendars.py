"""Random queries over calendars: random cases whose ticks are hours and days of zones.

A random case spans some eighty ticks. Here each of them is an hour, or a few days, of a
query in seconds, near a change of the clocks; some definitions get the cells of a
calendar, some windows those of their reader, and some times become components of dates.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.random.open_windows import random_open_case
from tests.random.queries import Case, random_case
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import (
    At,
    Binary,
    Cast,
    CellSpan,
    Const,
    DateComponent,
    EventBound,
    Expr,
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.ir.traversal import rewrite, source_cuts, walk
from tiltpy.ops import DATE_COMPONENTS
from tiltpy.types import ALL_FUTURE, ALL_PAST, I64, STEPS, TIME, Bound, Calendar, TDom
from tiltpy.zones import zone_table

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
    "America/Sao_Paulo", "Asia/Kathmandu", "America/Juneau", "Africa/Cairo", "",
)  # fmt: skip
TICKS = 3600, 4 * 3600, 86400, 86400, 5 * 86400
"""The seconds of a tick of the case."""
YEAR = 12  # months
MOST = 3
"""Objects, at most: the interpreter evaluates each at each tick of its readers."""


def random_calendar_case(seed: int, *, exact: bool = True) -> Case | None:
    """Draw a case over calendars; None if it would take the interpreter too long."""
    case = random_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    if exact and seed % 4 == 3:
        case = random_open_case(seed, by_rows=False) or case
    if len(case.query.definitions) > MOST or case.bounds:
        return None
    random = Random(f"calendar {seed}")  # noqa: S311 - tests, not secrets
    zone, tick = random.choice(ZONES), random.choice(TICKS)
    changes = [int(time) for time in zone_table(zone or "UTC").changes[1:-2]]
    begin = random.choice(changes or [0]) - random.randrange(60) * tick
    begin -= begin % random.choice((1, 3600))
    drawn = _Writer(random, zone, tick, begin, exact=exact).case(case)
    return None if _goes_on_for_years(drawn.query) else drawn


def _goes_on_for_years(query: Query) -> bool:
    """Tell whether cells of years see windows of all the past of an object.

    The interpreter folds them anew at each of the object's ticks.
    """
    calendars = [each.tdom.calendar for each in query.definitions]
    if not any(one is not None and one.months >= YEAR for one in calendars):
        return False
    made = {each.name for each in query.definitions}
    nodes = (node for each in query.definitions for node in walk(each.body))
    return any(
        isinstance(node, Reduce)
        and node.window.start == ALL_PAST
        and node.window.object in made
        for node in nodes
    )


class _Writer:
    """Writes a case in seconds: `begin` is 0, and `tick` is 1."""

    def __init__(
        self, random: Random, zone: str, tick: int, begin: int, *, exact: bool
    ) -> None:
        self.random = random
        self.exact = exact
        self.zone = zone
        self.tick = tick
        self.begin = begin

    def case(self, case: Case) -> Case:
        events = {
            name: [self.event(event) for event in rows]
            for name, rows in case.events.items()
        }
        query = self.query(case.query)
        return Case(query, events, self.time(case.start), self.time(case.end))

    def time(self, time: int | None) -> int | None:
        return None if time is None else self.begin + time * self.tick

    def event(self, event: Event) -> Event:
        start, end = self.time(event.start), self.time(event.end)
        assert start is not None
        assert end is not None
        return event._replace(start=start, end=end)

    def query(self, query: Query) -> Query:
        definitions = tuple(self.definition(each) for each in query.definitions)
        return replace(query, unit="s", definitions=definitions)

    def definition(self, definition: TemporalExpr) -> TemporalExpr:
        tdom = self.domain(definition.tdom)
        body = rewrite(definition.body, lambda node: self.node(node, tdom))
        distinct = self.exact and self.random.random() < 0.15
        scaled = replace(definition, tdom=tdom, body=body, cuts=source_cuts(body))
        return replace(scaled, distinct=distinct)

    def domain(self, tdom: TDom) -> TDom:
        start, end = self.bound(tdom.start), self.bound(tdom.end)
        if self.random.random() < 0.6:
            step = self.random.choice((*STEPS, "d", "d", "d"))
            zone = (
                self.zone if step in ("d", "w") else self.random.choice((self.zone, ""))
            )
            calendar = Calendar(self.random.choice((1, 1, 1, 2)), step, zone, "s")
            if zone or calendar.months:
                return TDom(start, end, left=True, calendar=calendar)
        precision = tdom.precision * self.tick
        offset = (
            tdom.offset * self.tick + self.begin - self.random.randrange(2)
        ) % precision
        return TDom(start, end, precision, offset)

    def bound(self, bound: Bound) -> Bound:
        assert not isinstance(bound, str)
        return self.time(bound)

    def node(self, node: Expr, tdom: TDom) -> Expr:
        """Scale a reference; make some of them cells, or components of dates."""
        match node:
            case At() | EventBound():
                return replace(node, offset=node.offset * self.tick)
            case Reduce(window=window) if not window.is_fixed:
                return replace(node, window=self.open_window(window))
            case Reduce(window=window):
                start, end = window.start * self.tick, window.end * self.tick
                cells = None
                if tdom.calendar is not None and self.random.random() < 0.7:
                    count = self.random.choice((1, 1, 1, 2, 3))
                    cells = CellSpan(tdom.calendar, count)
                    start, end = -count * tdom.calendar.longest, 0
                window = replace(window, start=start, end=end, cells=cells)
                return replace(node, window=window)
            case Time() if self.random.random() < 0.5:
                component = self.random.choice(tuple(DATE_COMPONENTS))
                time = Cast(Binary("*", node, Const(37, I64), I64), TIME)
                moment = self.random.choice((replace(node, type=TIME), time))
                return DateComponent(component, moment, self.zone, "s", I64)
            case _:
                return node

    def open_window(self, window: Window) -> Window:
        """Scale a window without a fixed length."""
        start, end = window.start * self.tick, window.end * self.tick
        if window.start == ALL_PAST:
            start = ALL_PAST
        if window.end == ALL_FUTURE:
            end = ALL_FUTURE
        center = window.center * self.tick
        return replace(window, start=start, end=end, center=center)


def random_calendar_cases(first: int, count: int) -> Iterator[tuple[int, Case]]:
    """Draw cases, each with its seed."""
    for seed in range(first, first + count):
        case = random_calendar_case(seed)
        if case is not None:
            yield seed, case
