"""Seeded random windows per key that can be folded without grouping: text and events.

Values are small multiples of 1/8, so that sums are exact in any order. Every event
lasts as long as all others and lies in one pane.
"""

from dataclasses import dataclass
from random import Random

from tests.random.calendars import ZONES
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value
from tiltpy.ir.nodes import Query
from tiltpy.zones import zone_table

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f32", "f64")
FIELDS = (*INTEGERS, *FLOATS, "bool")
NUMBERS = ("sum", "mean", "min", "max", "count", "first", "last", "var", "std", "rms")
OWN = """\
reduction span(v: f64) {
    init = { low = f64(φ), high = f64(φ) }
    acc = {
        fresh = state.low == φ
        low = fresh ? v : min(state.low, v)
        return { low = low, high = fresh ? v : max(state.high, v) }
    }
    merge = { low = min(a.low, b.low), high = max(a.high, b.high) }
    result = state.high - state.low
}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """An event and its key; without a value, a row that is no event."""

    key: int
    event: Event | tuple[int, int, None]


@dataclass(frozen=True, slots=True)
class FoldCase:
    """A query of one input `x by k`, its rows in order of time, and a domain."""

    query: Query
    rows: list[Row]
    length: int
    start: int | None
    end: int | None


class FoldWriter:
    """Draws the parts of one case."""

    unit = ""
    tick = 1
    """The ticks by which times differ."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311
        random = self.random
        self.struct = random.random() < 0.7
        self.a = random.choice(FIELDS)
        self.b = random.choice(FIELDS)
        self.pane = random.choice((1, 2, 3, 4, 6, 12))
        self.cell = self.pane * random.choice((1, 1, 1, 2, 3))
        self.offset = random.choice((0, 0, 0, 1, 5))
        self.own = random.random() < 0.15
        self.low = random.choice((0, 0, -50, 1000, -(1 << 40)))

    def case(self) -> FoldCase:
        """A query and its rows."""
        random = self.random
        rows = self.rows()
        query = parse(self.text())
        start = end = None
        if random.random() < 0.3:
            start = self.low + random.randint(-60, 60) * self.tick
        if random.random() < 0.3:
            end = self.low + 90 * self.tick
            begin = self.low - 60 * self.tick if start is None else start
            end = random.randint(begin, end)
        return FoldCase(query, rows, self.length, start, end)

    def text(self) -> str:
        """The query."""
        payload = f"{{ a: {self.a}, b: {self.b} }}" if self.struct else self.a
        bounds = f"{self.bound(-40)}, {self.bound(40)}"
        tdom = f"TDom({bounds}, {self.cells()})"
        own = OWN if self.own else ""
        outputs = [
            self.output(name) for name in ("o", "p")[: self.random.choice((1, 2))]
        ]
        head = f"{self.unit}input x by k : {payload} interval (start, end)\n"
        return f"{head}{own}w = {tdom}\n" + "\n".join(outputs)

    def cells(self) -> str:
        """The cells of the outputs."""
        return f"{self.cell}, {self.offset}"

    def bound(self, near: int) -> str:
        if self.random.random() < 0.8:
            return "-∞" if near < 0 else "∞"
        return str(self.low + (near + self.random.randint(-30, 30)) * self.tick)

    def output(self, name: str) -> str:
        """The definition of an output."""
        random = self.random
        if random.random() < 0.3:
            first, second = self.reduction(), self.reduction()
            body = f"{{ f = {first}, g = {second} }}"
        elif random.random() < 0.3:
            body = f"{self.number()} {random.choice('+-*/<')} {self.number()}"
        elif random.random() < 0.3:
            body = f"count({self.window()}) > 1 ? {self.reduction()} : φ"
        else:
            body = self.reduction()
        return f"~{name}[w] = {body}"

    def window(self) -> str:
        high = self.random.choice((0, 0, 0, 0, 1, -1, 2)) * self.pane
        low = high - self.random.choice((1, 1, 1, 2, 3, 5)) * self.pane
        if self.random.random() < 0.4:
            low, high = -self.cell, 0
        return f"~x[w{low:+} : w{high:+}]"

    def field(self) -> tuple[str, str]:
        """A value of a row, and its type."""
        if not self.struct:
            return "v", self.a
        return self.random.choice((("v.a", self.a), ("v.b", self.b)))

    def condition(self) -> str:
        field, of = self.field()
        if self.random.random() < 0.5:
            return ""
        if of == "bool":
            return f" if {field}"
        if self.struct and self.random.random() < 0.3:
            return f" if {field} != φ"
        return f" if {field} {self.random.choice(('>', '<', '=='))} 1"

    def number(self) -> str:
        """A reduction to an `f64`."""
        field, _ = self.field()
        name = self.random.choice(("sum", "mean", "min", "max", "first", "last"))
        element = f"f64({field})"
        if self.own and self.random.random() < 0.5:
            name = "span"
        return f"f64({name}({element} for v in {self.window()}{self.condition()}))"

    def reduction(self) -> str:
        """Any reduction of anything."""
        random = self.random
        if random.random() < 0.25:
            return f"count(v for v in {self.window()}{self.condition()})"
        field, of = self.field()
        if of == "bool":
            name = random.choice(("any", "all", "sum", "mean", "min", "last", "first"))
            return f"{name}({field} for v in {self.window()}{self.condition()})"
        if random.random() < 0.2:
            return self.number()
        name = random.choice(NUMBERS)
        element = random.choice((field, f"{field} + {field}", f"-f64({field})"))
        return f"{name}({element} for v in {self.window()}{self.condition()})"

    # Rows

    def rows(self) -> list[Row]:
        """Events between the points of the panes' grid; some rows may be none."""
        random = self.random
        divisors = [d for d in range(1, self.pane + 1) if self.pane % d == 0]
        self.length = random.choice(divisors)
        count = random.choice((1, 2, 5, 20, 60))
        keys = random.choice((1, 2, 3, 8, 40))
        regular = random.random() < 0.4
        nulls = random.random() < 0.4
        time = self.low // self.length
        rows = []
        for _ in range(count):
            start = time * self.length + self.offset % self.pane
            value = None if nulls and random.random() < 0.3 else self.value(nulls=nulls)
            if value is None and self.struct:
                value = self.value(nulls=nulls)
            event = (
                Event(start, start + self.length, value)
                if value is not None
                else (start, start + self.length, None)
            )
            rows.append(Row(random.randrange(keys), event))
            time += 1 if regular else random.choice((0, 0, 1, 1, 2, 7))
        return rows

    def value(self, *, nulls: bool) -> Value:
        if not self.struct:
            return self.scalar(self.a)
        fields: dict[str, Value | None] = {
            "a": self.scalar(self.a),
            "b": self.scalar(self.b),
        }
        for name in fields:
            if nulls and self.random.random() < 0.3:
                fields[name] = None
        return fields

    def scalar(self, of: str) -> bool | int | float:
        random = self.random
        if of == "bool":
            return random.random() < 0.5
        if of in INTEGERS:
            low, high = (0, 40) if of.startswith("u") else (-40, 40)
            return random.randint(low, high)
        if random.random() < 0.05:
            return random.choice((float("nan"), -0.0))
        return random.randint(-40, 40) / 8


class CalendarFoldWriter(FoldWriter):
    """Draws cases over the days, weeks and months of a zone, near changes of clocks.

    Events last a second: wherever cells begin, each lies in one.
    """

    unit = "unit s\n"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        random = self.random
        self.zone = random.choice(ZONES)
        self.step = random.choice(("1d", "1d", "2d", "1w", "1mo", "1q"))
        self.tick = random.choice((3600, 4 * 3600, 86400, 5 * 86400))
        changes = [int(time) for time in zone_table(self.zone or "UTC").changes[1:-2]]
        self.low = random.choice(changes or [0]) - random.randrange(60) * self.tick

    def cells(self) -> str:
        zone = f', "{self.zone}"' if self.zone else ""
        return f"calendar({self.step}{zone})"

    def window(self) -> str:
        return f"~x[w - {self.random.choice((1, 1, 1, 2, 3))} cell : w]"

    def rows(self) -> list[Row]:
        nulls = self.random.random() < 0.4
        keys = self.random.choice((1, 2, 3, 8, 40))
        self.length = 1
        rows, time = [], self.low
        for _ in range(self.random.choice((1, 2, 5, 20, 60))):
            value = (
                None
                if nulls and self.random.random() < 0.3
                else self.value(nulls=nulls)
            )
            if value is None and self.struct:
                value = self.value(nulls=nulls)
            times = time, time + 1
            event = (*times, None) if value is None else Event(*times, value)
            rows.append(Row(self.random.randrange(keys), event))
            ticks = self.random.choice((0, 1, 1, 2, 7)) * self.tick
            time += max(ticks + self.random.choice((0, 0, -1)), 0)
        return rows
