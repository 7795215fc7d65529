"""Twenty workloads that a seeded generator draws over the axes of the family.

Nobody chose them: `tests/golden/bench/drawn.txt` lists them as they came out, and the
peers' programs are made from the same draws.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from bench.workloads.offpath.draws import BETWEEN, stamps
from bench.workloads.offpath.rows import Array, Inputs, OffPath, Rows
from bench.workloads.offpath.sampled import MILLION

COUNT, SEED = 20, 20261123
LARGEST = 1000
"""The largest magnitude of a value; floats are multiples of 1/8."""
PAYLOADS = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32}
AGGREGATES = ("sum", "mean", "std", "count", "min", "max", "first")
VISITED = 40
"""Ticks of a window in the interpreter, which goes from tick to tick."""

Layout = Literal["sampled", "point", "keyed"]
Window = Literal["rolling", "tumbling", "hopping"]
Use = Literal["alone", "deviation", "above", "beside"]


@dataclass(frozen=True, slots=True)
class Draw:
    """A query over `x`, and what its rows are like.

    Windows have `size` ticks, hopping ones follow each other after `step` ticks. Of the
    samples a share is null (`gaps`), of the events 1 % have the stamp of the one before
    (`ties`). The `use` tells what is made of the first aggregate: `beside` subtracts
    `y`, a signal of one sample for `ratio` of `x`, or a state of as few events.
    """

    number: int
    layout: Layout
    payload: str
    window: Window
    size: int
    step: int
    aggregates: tuple[str, ...]
    use: Use
    gaps: float = 0.0
    ties: bool = False
    keys: int = 1
    ratio: int = 1

    @property
    def name(self) -> str:
        """The number, and what is aggregated over what."""
        many = "+".join(self.aggregates)
        return f"draw {self.number}: {many}, {self.payload} {self.layout}"

    @property
    def types(self) -> tuple[type, ...]:
        """The types of the columns of a result."""
        return tuple(self._type(name) for name in self.aggregates)

    def _type(self, aggregate: str) -> type:
        payload = PAYLOADS[self.payload]
        integral = self.payload[0] == "i"
        if self.use == "above":
            return np.bool_
        if self.use != "alone" and not integral:
            return payload
        if aggregate == "count" or (aggregate == "sum" and integral):
            return np.int64
        return np.float64 if integral and aggregate in ("mean", "std") else payload

    def query(self) -> str:
        """The text of the query."""
        rolling = self.window == "rolling"
        at = "t" if rolling else "w"
        values = [f"{name}(~x[{at}-{self.size} : {at}])" for name in self.aggregates]
        value = values[0]
        match self.use:
            case "deviation":
                value = f"~x[{at}] - {value}"
            case "above":
                value = f"~x[{at}] > {value}"
            case "beside":
                value = f"{value} - ~y[{at}]"
        if len(values) > 1:
            fields = (
                f"{n} = {v}" for n, v in zip(self.aggregates, values, strict=True)
            )
            value = "{ " + ", ".join(fields) + " }"
        if rolling and self.layout != "sampled":
            value = f"~x[t] != φ ? {value} : φ"
        elif "count" in self.aggregates:  # zero where no peer has a row
            value = f"count(~x[{at}-{self.size} : {at}]) > 0 ? {value} : φ"
        grid = "" if rolling else f"w = TDom(-∞, ∞, {self.step})\n"
        return f"{self._inputs()}\n{grid}~out[{at}] = {value}\noutput ~out\n"

    def _inputs(self) -> str:
        by = " by k" if self.layout == "keyed" else ""
        of_x, of_y = "time ts point", "time ts until_next"
        if self.layout == "sampled":
            of_x, of_y = "sampled 1", f"sampled {self.ratio}"
        lines = [f"input x{by} : {self.payload} {of_x}"]
        if self.use == "beside":
            lines.append(f"input y{by} : {self.payload} {of_y}")
        return "\n".join(lines)

    def make(self, events: int, random: np.random.Generator) -> Inputs:
        """Rows of `x`, and of `y` if the query has it."""
        if self.layout == "sampled":
            whole = self.ratio if self.window == "rolling" else self.step
            return self._signals(max(1, events // whole) * whole, random)
        return self._events(events, random)

    def _signals(self, count: int, random: np.random.Generator) -> Inputs:
        valid = None
        if self.gaps:
            valid = random.random(count) >= self.gaps
            valid[[0, -1]] = True
        found = {"x": Rows("sampled", {"x": self._values(count, random)}, valid=valid)}
        if self.use == "beside":
            slow = {"y": self._values(count // self.ratio, random)}
            found["y"] = Rows("sampled", slow, period=self.ratio)
        return found

    def _events(self, count: int, random: np.random.Generator) -> Inputs:
        """The first of all events is one of `y`, for each key."""
        keyed = self.layout == "keyed"
        distinct = max(1, min(self.keys, count // 50))
        ends = stamps(count, random, 2 if keyed else BETWEEN) + 2
        if self.ties:
            tied = random.random(count) < 0.01
            ends = np.maximum.accumulate(np.where(tied, 0, ends))
        keys = {}
        if keyed:
            keys["k"] = pa.array(random.integers(0, distinct, count))
        found = {
            "x": Rows("point", {"x": self._values(count, random)}, ends, keys=keys)
        }
        if self.use == "beside":
            found["y"] = self._states(max(1, count // self.ratio), distinct, random)
        return found

    def _states(self, count: int, distinct: int, random: np.random.Generator) -> Rows:
        keyed = self.layout == "keyed"
        begun = np.arange(distinct if keyed else 1)
        codes = np.concatenate([begun, random.integers(0, len(begun), count)])
        later = stamps(count, random, self.ratio * (2 if keyed else BETWEEN))
        ends = np.concatenate([np.zeros(len(begun), np.int64), later])
        keys = {"k": pa.array(codes)} if keyed else {}
        values = {"y": self._values(len(codes), random)}
        return Rows("until_next", values, ends, keys=keys)

    def _values(self, count: int, random: np.random.Generator) -> Array:
        integral = self.payload[0] == "i"
        scale = 1 if integral else 8
        drawn = random.integers(-scale * LARGEST, scale * LARGEST + 1, count)
        values: Array = (drawn if integral else drawn / scale).astype(
            PAYLOADS[self.payload]
        )
        return values

    def workload(self) -> OffPath:
        """The draw as a workload over two million events, or one."""
        events = (2 if self.layout == "sampled" else 1) * MILLION
        coarse = max(1, self.size // VISITED) if self.layout != "sampled" else 1
        return OffPath(self.name, "drawn", self.query(), self.make, events, 200, coarse)


def _draw(number: int, random: np.random.Generator) -> Draw:
    layouts: list[Layout] = ["sampled", "sampled", "point", "point", "keyed"]
    layout = layouts[random.integers(len(layouts))]
    windows: list[Window] = ["rolling", "rolling", "rolling", "tumbling", "hopping"]
    window = windows[random.integers(4 + (layout == "sampled"))]
    keys = 1
    if layout == "keyed":
        keys = int(random.choice([10, 300, 10_000]))
    most = 100 if layout == "keyed" else 5000
    rows = int(np.exp(random.uniform(np.log(3), np.log(most))))
    size = rows * {"sampled": 1, "point": BETWEEN, "keyed": 2 * keys}[layout]
    step = size
    if window == "tumbling":
        size = step = max(50, size)
    if window == "hopping":
        step = max(2, size // int(random.choice([2, 5, 20])))
        size = step * int(random.choice([2, 5, 20]))
    count = int(random.choice([1, 1, 2]))
    drawn = random.choice(len(AGGREGATES), count, replace=False)
    uses: list[Use] = ["alone", "deviation", "above", "beside"]
    plain = count > 1 or window != "rolling"
    use: Use = "alone" if plain else uses[random.integers(len(uses))]
    return Draw(
        number,
        layout,
        str(random.choice(list(PAYLOADS))),
        window,
        size,
        step,
        tuple(AGGREGATES[i] for i in drawn),
        use,
        gaps=float(random.choice([0, 0.01, 0.2])) if layout == "sampled" else 0.0,
        ties=layout == "point" and bool(random.random() < 0.5),
        keys=keys,
        ratio=int(random.choice([7, 60, 600])) if use == "beside" else 1,
    )


def draw_all() -> tuple[Draw, ...]:
    """Draw all of them."""
    random = np.random.default_rng(SEED)
    return tuple(_draw(number, random) for number in range(1, COUNT + 1))


DRAWS = draw_all()
DRAWN = tuple(draw.workload() for draw in DRAWS)
