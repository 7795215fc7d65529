"""Random arrivals of the rows of a case, and a model of which of them are late."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.random.key_rows import KeyedInput, Row
from tiltpy.lifetimes import Interval


def start_of(rows: KeyedInput, row: Row) -> int:
    """The start of a row's event."""
    if isinstance(rows.lifetime, Interval):
        return row.start
    return row.end - rows.lifetime.before


def select_rows(rows: KeyedInput, places: Sequence[int]) -> KeyedInput:
    """Some rows of an input, in an order."""
    ranks = None if rows.ranks is None else tuple(rows.ranks[n] for n in places)
    return replace(rows, rows=tuple(rows.rows[n] for n in places), ranks=ranks)


def shuffle_arrivals(rows: KeyedInput, delay: int, random: Random) -> KeyedInput:
    """Put rows into an order of arrival, each up to `delay` ticks behind its time."""
    places = range(len(rows.rows))
    times = [start_of(rows, row) + random.randint(0, delay) for row in rows.rows]
    return select_rows(rows, sorted(places, key=lambda place: (times[place], place)))


@dataclass(slots=True)
class LatenessModel:
    """The rule of lateness, a row at a time: written without the engine."""

    reorder: int
    complete: int | None = None
    greatest: int | None = None

    def accepts(self, start: int) -> bool:
        """Tell whether a row is accepted, and move the bound."""
        if self.complete is not None and start < self.complete:
            return False
        if self.greatest is None or start > self.greatest:
            self.greatest = start
        self.promise(self.greatest - self.reorder)
        return True

    def promise(self, time: int) -> None:
        """Take a promise."""
        if self.complete is None or time > self.complete:
            self.complete = time


@dataclass(frozen=True, slots=True)
class Push:
    """Rows of an input to push, from one place to another."""

    input: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise of time for an input."""

    input: str
    time: int


Call = Push | Promise


def random_calls(
    inputs: Mapping[str, KeyedInput], random: Random, *, promises: bool = True
) -> Iterator[Call]:
    """Push the rows of all inputs in batches of any size, about in order of time."""
    places = dict.fromkeys(inputs, 0)
    largest = random.choice((1, 3, 10, 1000))
    while True:
        left = [name for name, rows in inputs.items() if places[name] < len(rows.rows)]
        if not left:
            return
        name = min(
            left,
            key=lambda each: (
                start_of(inputs[each], inputs[each].rows[places[each]])
                + random.randint(0, 6)
            ),
        )
        rows = inputs[name]
        first = places[name]
        stop = min(len(rows.rows), first + random.randint(1, largest))
        yield Push(name, first, stop)
        places[name] = stop
        if promises and random.random() < 0.15:
            last = start_of(rows, rows.rows[stop - 1])
            yield Promise(name, last + random.randint(-5, 5))
