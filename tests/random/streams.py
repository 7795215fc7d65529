"""Random streams of events for random queries: small times, few values, many edges."""

import math
from collections.abc import Iterator
from ctypes import c_float
from itertools import pairwise
from random import Random

from tiltpy.interpreter.evaluate import Event, Value
from tiltpy.interpreter.scalars import Atom
from tiltpy.types import F32, Scalar, Struct, Type, columns, int_range

Spans = list[tuple[int, int]]
WORDS = (
    "", "a", "a", "ab", "aB", "b", "view", "views", "click", "é", "e\u0301", "\uffff",
    "\U0001f600", '"', "\\", "\0", "a\0b", " ", "10s", "\n", "zz",
)  # fmt: skip
"""Few strings, many of them alike; some whose order in UTF-8 is not that in UTF-16."""


class StreamMaker:
    """Draws the events of one case, all inputs over about the same span.

    `exact` payloads are multiples of 1/8 of at most 8; `specials` mixes in NaN, -0.0,
    infinities and the ends of integer types.
    """

    def __init__(self, random: Random, *, exact: bool, specials: bool) -> None:
        self.random = random
        self.exact = exact
        self.specials = specials
        self.null_fields = 0.2
        self.start = random.choice((0, 0, 0, -40, -7, 5, 1000))
        self.end = self.start + random.choice((8, 20, 30, 50, 80, 80))

    def events(self, payload: Type) -> tuple[list[Event], bool]:
        """A stream, and whether its events are disjoint."""
        shape = self.random.choice(
            (
                self.contiguous,
                self.with_gaps,
                self.with_gaps,
                self.sampled,
                self.points,
                self.overlapping,
                self.equal_stamps,
            )
        )
        spans = sorted(shape(), key=lambda span: span[0])
        if self.random.random() < 0.05:
            spans = spans[: self.random.randint(0, 1)]
        pools = self.pools(payload)
        events = [
            Event(start, end, self.payload(payload, pools)) for start, end in spans
        ]
        overlap = any(a.end > b.start for a, b in pairwise(events))
        return events, not overlap

    # Lifetimes

    def contiguous(self) -> Spans:
        longest = self.random.choice((1, 3, 8, 20))
        return [(s, e) for s, e, gap in self.walk(longest, 0.0) if not gap]

    def with_gaps(self) -> Spans:
        longest = self.random.choice((1, 3, 8, 20))
        return [(s, e) for s, e, gap in self.walk(longest, 0.35) if not gap]

    def walk(self, longest: int, gaps: float) -> list[tuple[int, int, bool]]:
        found, time = [], self.start + self.random.randint(0, 2)
        while time < self.end:
            end = time + self.random.randint(1, longest)
            found.append((time, end, self.random.random() < gaps))
            time = end
        return found

    def sampled(self) -> Spans:
        period = self.random.choice((1, 1, 2, 3, 5, 10))
        lost = self.random.choice((0.0, 0.0, 0.2))
        return [
            (time, time + period)
            for time in range(self.start, self.end, period)
            if self.random.random() >= lost
        ]

    def points(self) -> Spans:
        share = self.random.choice((0.2, 0.5, 0.8))
        stamps = (
            t for t in range(self.start, self.end) if self.random.random() < share
        )
        return [(stamp - 1, stamp) for stamp in stamps]

    def overlapping(self) -> Spans:
        longest = self.random.choice((3, 10, 40))
        rows = self.random.randint(3, 25)
        starts = [self.random.randint(self.start, self.end - 1) for _ in range(rows)]
        if self.random.random() < 0.5:  # one duration: the ends are in order too
            return [(start, start + longest) for start in starts]
        return [(start, start + self.random.randint(1, longest)) for start in starts]

    def equal_stamps(self) -> Spans:
        """Held until the next strictly greater stamp; rows with one stamp overlap."""
        found: Spans = []
        for start, end, gap in self.walk(6, 0.2):
            found += [(start, end)] * (0 if gap else self.random.choice((1, 1, 2, 3)))
        return found

    # Payloads

    def pools(self, payload: Type) -> list[list[Atom]]:
        """A few values per column, so that neighbours are often equal."""
        size = self.random.choice((2, 3, 6, 30))
        scalars = [scalar for _, scalar in columns(payload)]
        return [[self.value(scalar) for _ in range(size)] for scalar in scalars]

    def payload(self, payload: Type, pools: list[list[Atom]]) -> Value:
        drawn = iter([self.random.choice(pool) for pool in pools])
        if not isinstance(payload, Struct):
            return next(drawn)
        return self.fields(payload, drawn)

    def fields(self, payload: Struct, drawn: Iterator[Atom]) -> Value:
        found: dict[str, Value | None] = {}
        for name, of in payload.fields:
            value: Value = next(drawn)
            if isinstance(of, Struct):
                value = self.fields(of, drawn)
            null = self.random.random() < self.null_fields
            found[name] = None if null else value
        return found

    def value(self, scalar: Scalar) -> Atom:
        if scalar.kind == "string":
            return self.random.choice(WORDS)
        if scalar.kind == "bool":
            return self.random.random() < 0.5
        special = self.specials and self.random.random() < 0.25
        if scalar.is_integer or scalar.is_temporal:
            least, greatest = int_range(scalar)
            if special:
                return self.random.choice((least, greatest, greatest - 1))
            return self.random.randint(max(least, -9), 9)
        if special:
            return self.random.choice((math.nan, -0.0, math.inf, -math.inf))
        if self.exact:
            return self.random.randint(-64, 64) / 8
        drawn = self.random.uniform(-10, 10)
        return c_float(drawn).value if scalar == F32 else drawn
