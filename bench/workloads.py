"""The workloads: seeded data, and the query that runs over it.

Values are multiples of 1/8 and small, so that sums of floats are exact in any order and
a peer must give the same bits. There are as many events as asked for in all, however
many streams they come in. Every query's output is called `out`.

A *sampled* workload has an event for every period and no column of times. Its twins run
the same query over events that last 1 to 10 ticks (*contiguous*), over such events with
gaps (*intervals*), and over events that are there for one tick, 1 to 10 ticks apart
(*points*) or thousands (*sparse*): there, rolling results are those at the events.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float32] | NDArray[np.int32]
Valid = NDArray[np.bool_]
Family = Literal["sampled", "contiguous", "intervals", "points", "keyed"]

WINDOW = 1000
"""Ticks in a window of the sliding and tumbling reductions."""
SHORT, LONG = 20, 50
"""Ticks in the windows of the trading query."""
GAINS = 14
"""Differences in the windows of the RSI."""
BLOCK = 10_000
"""Ticks of the z-score and of imputation."""
PANE = 100
"""Ticks in a pane of the vibration and Yahoo queries."""
CAMPAIGN_WINDOW = 10_000
"""Ticks of the Yahoo query by campaign."""
BEFORE = 10
"""Ticks before an event that the fraud query looks at."""
LONGEST = 10
"""The longest event of an irregular stream, and the longest way between two points."""
SPARSE = (2000, 4000)
"""The shortest and the longest way between the points of a sparse stream."""
LARGEST = 8000
"""The largest magnitude of a value, in eighths."""
KINDS = 5
"""Event types of the Yahoo query: 0, 1, ..."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that begins at time 0.

    Event `i` lasts over `(starts[i], ends[i]]`. Without `starts` it starts where the
    one before ends; without `ends` either it lasts over `(i * period, (i+1) * period]`.
    Where `valid` is false there is a row, but no event. With `keys` each row has one,
    and all this is so among the rows of a key.
    """

    values: Values
    ends: Times | None = None
    starts: Times | None = None
    valid: Valid | None = None
    period: int = 1
    keys: pa.Array | None = None

    def times(self) -> tuple[Times, Times]:
        """The starts and ends of all rows."""
        ends = self.ends
        if ends is None:
            edges = np.arange(len(self.values) + 1, dtype=np.int64) * self.period
            return edges[:-1], edges[1:]
        if self.starts is not None:
            return self.starts, ends
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return starts, ends

    def column(self) -> pa.Array:
        """The values, null where there is no event."""
        missing = None if self.valid is None else ~self.valid
        return pa.array(self.values, mask=missing)

    def frame(self, name: str) -> pa.Table:
        """The rows as a table with the columns `start`, `end` and the name."""
        starts, ends = self.times()
        return pa.table({"start": starts, "end": ends, name: self.column()})


Make = Callable[[int, int], dict[str, Stream]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A query, and its data: `make(events, seed)` gives the streams by their names.

    `base` is the workload that this one is a twin of, or its own name.
    """

    name: str
    query: str
    make: Make
    family: Family
    base: str

    @property
    def sampled(self) -> bool:
        """Whether results are cells of a grid, nearly all of them there."""
        return " sampled " in self.query

    @property
    def folded(self) -> bool:
        """Whether rows by key need not be grouped."""
        return self.family == "keyed" and self.base == "Yahoo"


def numbers(count: int, random: np.random.Generator) -> Values:
    """Multiples of 1/8."""
    eighths = random.integers(-LARGEST, LARGEST + 1, count, dtype=np.int16)
    return eighths.astype(np.float32) / np.float32(8)


def _kinds(count: int, random: np.random.Generator) -> Values:
    return random.integers(0, KINDS, count, dtype=np.int32)


Draw = Callable[[int, np.random.Generator], Values]


def _sampled(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    return Stream(draw(count, random))


def _every_fourth(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    return Stream(draw(count, random), period=4)


def _missing(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    """A tenth of the values is missing, but neither the first nor the last."""
    valid = random.integers(0, 10, count) > 0
    valid[[0, -1]] = True
    return Stream(draw(count, random), valid=valid)


def _contiguous(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(1, LONGEST + 1, count))
    return Stream(draw(count, random), ends)


def _intervals(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    """A fifth of the events has a gap before it, 1 to 10 ticks long too."""
    lengths = random.integers(1, LONGEST + 1, count)
    gaps = random.integers(1, LONGEST + 1, count)
    gaps[random.integers(0, 5, count) > 0] = 0
    ends = np.cumsum(lengths + gaps)
    return Stream(draw(count, random), ends, ends - lengths)


def _points(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(1, LONGEST + 1, count))
    return Stream(draw(count, random), ends, ends - 1)


def _sparse(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(SPARSE[0], SPARSE[1] + 1, count))
    return Stream(draw(count, random), ends, ends - 1)


Layout = Callable[[Draw, np.random.Generator, int], Stream]


def _maker(layout: Layout, names: str = "x", draw: Draw = numbers) -> Make:
    def make(events: int, seed: int) -> dict[str, Stream]:
        random = np.random.default_rng(seed)
        count = events // len(names)
        return {name: layout(draw, random, count) for name in names}

    return make


BODIES = {
    "select": "~out[t] = ~x[t] + 1",
    "where": "~out[t] = ~x[t] > 0 ? ~x[t] : φ",
    "tumbling sum": f"""\
w = TDom(-∞, ∞, {WINDOW})
~out[w] = sum(~x[w-{WINDOW} : w])""",
    "sliding sum": f"~out[t] = sum(~x[t-{WINDOW} : t])",
    "sliding max": f"~out[t] = max(~x[t-{WINDOW} : t])",
    "aligned join": "~out[t] = ~a[t] + ~b[t]",
    "unaligned join": "~out[t] = ~a[t] + ~b[t]",
    "trading": f"~out[t] = mean(~x[t-{SHORT} : t]) > mean(~x[t-{LONG} : t])",
    "RSI": f"""\
~change[t] = ~x[t] - ~x[t-1]
~up[t] = mean(max(d, 0) for d in ~change[t-{GAINS} : t])
~down[t] = mean(max(-d, 0) for d in ~change[t-{GAINS} : t])
~out[t] = 100 - 100 / (1 + ~up[t] / ~down[t])""",
    "z-score": f"""\
w = TDom(-∞, ∞, {BLOCK})
~mean[w] = mean(~x[w-{BLOCK} : w])
~std[w] = std(~x[w-{BLOCK} : w])
~out[t] = (~x[t] - ~mean[t]) / ~std[t]""",
    "impute": f"""\
w = TDom(-∞, ∞, {BLOCK})
~mean[w] = mean(~x[w-{BLOCK} : w])
~out[t] = ~x[t] != φ ? ~x[t] : ~mean[t]""",
    "resample": """\
g = TDom(-∞, ∞, 5)
~out[g] = ~x[g] + (~x[g-4] - ~x[g]) * f32(end(~x[g]) - g) / 4""",
    "Pan-Tompkins": """\
~sum[t] = sum(~x[t-6 : t])
~low[t] = sum(~sum[t-6 : t])
~high[t] = ~low[t-16] - mean(~low[t-32 : t])
~slope[t] = (2 * ~high[t] + ~high[t-1] - ~high[t-3] - 2 * ~high[t-4]) / 8
~square[t] = ~slope[t] * ~slope[t]
~out[t] = mean(~square[t-30 : t])""",
    "vibration": f"""\
w = TDom(-∞, ∞, {PANE})
~out[w] = {{
    rms = rms(~x[w-{PANE} : w])
    peak = max(abs(v) for v in ~x[w-{PANE} : w])
    return {{ kurtosis = kurtosis(~x[w-{PANE} : w]), rms = rms, crest = peak / rms }}
}}""",
    "fraud": f"""\
~out[t] = {{
    usual = mean(~x[t-{BEFORE + 1} : t-1])
    return ~x[t] > usual + 3 * std(~x[t-{BEFORE + 1} : t-1])
}}""",
    "Yahoo": f"""\
w = TDom(-∞, ∞, {PANE})
~out[w] = count(v for v in ~x[w-{PANE} : w] if v == 1)""",
}
"""What is asked, by the names of the workloads."""

EVERY = (SPARSE[0] + SPARSE[1]) // 2
"""Ticks between the points of a sparse stream, on average."""

AT_EVENTS = {
    "sliding sum": f"~out[t] = ~x[t] != φ ? sum(~x[t-{WINDOW} : t]) : φ",
    "sliding max": f"~out[t] = ~x[t] != φ ? max(~x[t-{WINDOW} : t]) : φ",
    "unaligned join": f"~out[t] = ~a[t] + last(~b[t-{PANE} : t])",
    "trading": f"""\
~out[t] = ~x[t] != φ ? mean(~x[t-{SHORT} : t]) > mean(~x[t-{LONG} : t]) : φ""",
}
"""What is asked of points, where that is something else."""

SPARSELY = {
    "sliding sum": f"~out[t] = ~x[t] != φ ? sum(~x[t-{WINDOW * EVERY} : t]) : φ",
    "sliding max": f"~out[t] = ~x[t] != φ ? max(~x[t-{WINDOW * EVERY} : t]) : φ",
    "trading": f"""\
~out[t] = ~x[t] != φ ?
    mean(~x[t-{SHORT * EVERY} : t]) > mean(~x[t-{LONG * EVERY} : t]) : φ""",
}
"""The same over as many events, which are further apart."""

LAYOUTS: dict[str, tuple[Family, str, Layout]] = {
    "sampled": ("sampled", "sampled 1", _sampled),
    "contiguous": ("contiguous", "interval (start, end)", _contiguous),
    "intervals": ("intervals", "interval (start, end)", _intervals),
    "points": ("points", "time end point", _points),
    "sparse": ("points", "time end point", _sparse),
}
"""How events lie in time: the family, the lifetime, and the data."""

_CHEAP = ("select", "where")
_SLIDING = ("sliding sum", "sliding max", "trading")
_BLOCKS = ("tumbling sum", "z-score", "vibration", "Yahoo")
TWINS = {
    "contiguous": (*_CHEAP, *_SLIDING, *_BLOCKS, "RSI", "fraud"),
    "intervals": (*_CHEAP, *_SLIDING, *_BLOCKS, "unaligned join", "impute", "fraud"),
    "points": (*_CHEAP, *_SLIDING, *_BLOCKS, "unaligned join", "fraud"),
    "sparse": (*_CHEAP, *_SLIDING),
}
"""Which workloads have twins."""


def _workload(base: str, kind: str, own: str | None = None) -> Workload:
    """A workload over events that lie in time like those of a kind of stream."""
    family, lifetime, layout = LAYOUTS[kind]
    names = "ab" if base.endswith("join") else "x"
    scalar, draw = ("i32", _kinds) if base == "Yahoo" else ("f32", numbers)
    body = BODIES[base]
    if family == "points":
        body = (SPARSELY if kind == "sparse" else AT_EVENTS).get(base, body)
    if kind == "sampled" and base == "resample":
        lifetime, layout = "sampled 4", _every_fourth
    if kind == "sampled" and base == "impute":
        layout = _missing
    inputs = "".join(f"input {name} : {scalar} {lifetime}\n" for name in names)
    query = f"{inputs}{body}\noutput ~out\n"
    name = own or f"{base}, {kind}"
    return Workload(name, query, _maker(layout, names, draw), family, base)


def _all() -> tuple[Workload, ...]:
    found = []
    for base in BODIES:
        first = "contiguous" if base == "unaligned join" else "sampled"
        found.append(_workload(base, first, own=base))
    for kind, bases in TWINS.items():
        found.extend(_workload(base, kind) for base in bases)
    return tuple(found)


WORKLOADS = _all()
