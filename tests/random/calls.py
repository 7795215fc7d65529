"""Random calls of functions, the grids to ask them on, and data of every lifetime.

A call is drawn by the function's signature alone, so that a new function of the library
is called without a word about it here. Calls stand at the time variable `{t}`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tiltpy.frontend.surface import syntax
from tiltpy.interpreter.evaluate import Event

SPAN = 48
"""How many ticks the data and the domains of these queries span."""
INPUTS = """input x : f64
input y : f64
input b : bool
input q : { price: f64, size: i64 }
"""
_NUMBERS = (
    "~x",
    "~q.price",
    "~x[{t}] * 2 - ~y[{t}]",
    "~x[{t}] != φ ? ~x[{t}] : ~y[{t}-1]",
    "-~y[{t}]",
)
_KINDS = (
    _NUMBERS,
    _NUMBERS,
    ("~b", "~x[{t}] > 0", "~x[{t}] > ~y[{t}+1]", "~b[{t}] && ~b[{t}-2]"),
    ("~x", "~y"),
    ("~q.price", "~q.size"),
)
"""Objects to give: numbers, conditions, inputs alone, fields of one object."""
_VALUES = ("1", "2", "3", "4", "7", "9", "0.5", "0.25", "~y[{t}]", "~x[{t}-1] + 1")
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Grid:
    """A bounded time domain."""

    start: int
    end: int
    precision: int
    offset: int

    def __str__(self) -> str:
        return f"TDom({self.start}, {self.end}, {self.precision}, {self.offset})"

    def points(self) -> Iterator[int]:
        """The grid points within the bounds and the span of the data."""
        for time in range(max(0, self.start) + 1, min(SPAN, self.end) + 1):
            if (time - self.offset) % self.precision == 0:
                yield time


def random_grid(random: Random) -> Grid:
    """A grid coarser than ticks, at any offset, that meets the span of the data."""
    precision = random.choice((2, 3, 4, 5, 7, 12))
    start, end = random.randint(-9, SPAN // 3), random.randint(SPAN // 2, SPAN + 9)
    return Grid(start, end, precision, random.randrange(precision))


def random_calls(random: Random, function: syntax.FunctionDefinition) -> Iterator[str]:
    """Calls that may be queries or not, whatever the function takes."""
    for _ in range(_TRIES):
        kind = random.choice(_KINDS)
        objects = list(kind) * 9 if random.random() < 0.3 else random.choices(kind, k=9)
        given = []
        for one in function.parameters:
            value = objects.pop(0) if one.object else random.choice(_VALUES)
            if one.default is None:
                given.append(value)
            elif random.random() < 0.5:
                given.append(f"{one.name.text} = {value}")
        yield f"{function.name.text}({', '.join(given)})"


# -- functions of a query's own -------------------------------------------------------

_OBJECTS = (
    "~{v}[t] * k",
    "~{v}[t-w] - ~{u}[t+1]",
    "~{v}[t] != φ ? ~{v}[t] : k",
    "sum(~{v}[t-w-2 : t])",
    "t % 5 * ~{u}[t]",
    "~{v}[t] > ~{u}[t] ? f64(t) : φ",
    "~{u}[t] != ~{u}[t-1] ? ~{v}[t] : φ",
)
_RESULTS = (
    "max(~{v}[t-5 : t+w])",
    "~{v}[t-w] + ~{u}[t]",
    "f64(count(~{v}[t-7 : t-1])) * k",
    "sum(d * 2 for d in ~{v}[t-6 : t] if d > 0)",
    "last(~{u}[t-9 : t]) - first(~{v}[t-w : t])",
)


def own_functions(random: Random) -> str:
    """Some functions with objects in their bodies; later ones call those before."""
    texts = []
    for number in range(random.randint(1, 3)):
        objects = list(_OBJECTS)
        results = list(_RESULTS)
        for called in range(number):
            objects.append(f"f{called}(~{{v}}, ~{{u}}[t] + k, ~{{u}}[t-1])")
            results.append(f"f{called}(~{{u}}[t] * 2, ~{{v}}, k, w = 3)")
        names = ["v", "u"]
        body = []
        for name in random.sample(("d", "e", "g"), random.randint(1, 3)):
            body.append(f"    ~{name}[t] = {_filled(random, objects, names)}")
            names.append(name)
        if random.random() < 0.3:
            body.append("    win = TDom(-∞, ∞, 4)")
            body.append(f"    ~m[win] = max(~{names[-1]}[win-4 : win])")
            names.append("m")
        body.append(f"    return {_filled(random, results, names)}")
        lines = "\n".join(body)
        texts.append(f"def f{number}(~v, ~u, k, w = 2) = {{\n{lines}\n}}\n")
    return "".join(texts)


def _filled(random: Random, choices: Sequence[str], names: Sequence[str]) -> str:
    v, u = random.choices(names[-3:], k=2)
    return random.choice(choices).format(v=v, u=u)


# -- data -----------------------------------------------------------------------------


def random_events(random: Random) -> dict[str, list[Event]]:
    """Events of every input, each of a lifetime of its own."""

    def number() -> float:
        return random.randint(-24, 24) / 8

    def row() -> dict[str, float | int]:
        return {"price": number(), "size": random.randint(-3, 9)}

    return {
        "x": [Event(*span, number()) for span in random_spans(random)],
        "y": [Event(*span, number()) for span in random_spans(random)],
        "b": [Event(*span, random.random() < 0.6) for span in random_spans(random)],
        "q": [Event(*span, row()) for span in random_spans(random)],
    }


def random_spans(random: Random) -> list[tuple[int, int]]:
    """Spans of events: samples, points with jitter, held ones, with gaps or without."""
    period = random.choice((1, 2, 4, 5))
    gaps = random.choice((0.0, 0.2))
    stamps = [
        stamp
        for stamp in range(random.randint(-6, 0), SPAN, period)
        if random.random() >= gaps
    ]
    kind = random.choice(("sampled", "points", "held", "short"))
    if kind == "sampled":
        return [(stamp, stamp + period) for stamp in stamps]
    jitter = [stamp + random.randrange(period) for stamp in stamps]
    if kind == "points":
        return [(stamp, stamp + 1) for stamp in jitter]
    if kind == "held":
        return list(pairwise([*jitter, SPAN + 9]))
    return [(one, random.randint(one + 1, other)) for one, other in pairwise(jitter)]
