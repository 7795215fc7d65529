"""Random rows of many keys, as users bind them, and what they mean.

A stream for every key: that of a case, one like it (moved, cut, thinned out), or
another one. They become rows of any lifetime, with nulls among them, which are then put
into one table: in order of time, key after key, or shuffled.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from random import Random
from typing import Literal, NamedTuple, assert_never

import pyarrow as pa

from tests.compiled import with_null_rows
from tests.random.key_columns import Family, written
from tests.random.streams import StreamMaker
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent
from tiltpy.interpreter.keys import Key, key_order, same_key
from tiltpy.ir.nodes import Input
from tiltpy.lifetimes import (
    LIFETIMES,
    FixedDuration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    UntilNext,
    make_lifetime,
)
from tiltpy.types import Scalar, Struct


class Row(NamedTuple):
    """A row as it is bound: stamped with `end`, or with both times.

    Without a value it is null as a whole.
    """

    key: Key
    start: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class KeyedInput:
    """An input, its rows in the order in which they are bound, and what they mean."""

    declared: Input
    lifetime: Lifetime
    rows: tuple[Row, ...]
    types: tuple[pa.DataType, ...]
    """Those of the key columns."""
    ranks: tuple[int, ...] | None
    """What breaks ties, where the order of the rows does not."""
    in_column: bool
    """Whether the fields of a struct are bound as one column."""

    def by_key(self) -> dict[Key, list[Event]]:
        """The events of each key, in order of start, then tie order."""
        found: dict[Key, list[tuple[int, Row]]] = {}
        for place, row in enumerate(self.rows):
            rank = place if self.ranks is None else self.ranks[place]
            found.setdefault(same_key(row.key), []).append((rank, row))
        made = {}
        for key, ranked in found.items():
            ordered = sorted(ranked, key=lambda one: (self._stamp(one[1]), one[0]))
            rows = [row for _, row in ordered]
            made[key] = [e for e in self._events(rows) if e.value is not None]
        return made

    def _stamp(self, row: Row) -> int:
        return row.start if isinstance(self.lifetime, Interval) else row.end

    def _events(self, rows: Sequence[Row]) -> Iterator[Event]:
        """Return what a key's rows are by their lifetime, null ones too."""
        stamps = sorted({row.end for row in rows})
        for row in rows:
            start, last, stamp = row.end - 1, row.end, row.end
            kind = Event
            match self.lifetime:
                case Point():
                    pass
                case FixedDuration(ticks):
                    last = start + ticks
                case Sampled(period):
                    start = stamp - period
                case UntilNext(longest):
                    later = [other for other in stamps if other > stamp]
                    last = later[0] - 1 if later else FOREVER
                    kind = Event if later else LastEvent
                    if longest is not None:
                        last = min(last, start + longest)
                case Interval():
                    start = row.start
                case _:
                    assert_never(self.lifetime)
            yield kind(start, last, row.value)  # type: ignore[arg-type]


class RowWriter:
    """Draws the rows of a case's inputs."""

    def __init__(self, random: Random, maker: StreamMaker | None) -> None:
        self.random = random
        self.maker = maker
        """None where all rows must be as regular as those of the case."""

    def input(
        self,
        declared: Input,
        events: Sequence[Event],
        pool: Sequence[Key],
        families: Sequence[Family],
    ) -> KeyedInput:
        """An input with a stream for some of the keys."""
        random = self.random
        in_column = isinstance(declared.type, Struct) and random.random() < 0.4
        nulls = in_column or isinstance(declared.type, Scalar)
        disjoint = all(a.end <= b.start for a, b in pairwise(events))
        lifetime = self._lifetime(events)
        share = random.choice((1.0, 1.0, 0.7, 0.3)) if families else 1.0
        hot = random.choice(pool) if pool and random.random() < 0.25 else None
        null_share = random.choice((0.0, 0.0, 0.2)) if nulls else 0.0
        by_key: dict[Key, list[Row]] = {}
        for place, key in enumerate(pool):
            if random.random() >= share:
                continue
            own = self._stream(declared, events, whole=place == 0 or key == hot)
            if hot not in (None, key):
                own = [event for event in own if random.random() < 0.15]
            rows = _stamped(key, own, lifetime, disjoint=disjoint)
            if nulls:
                rows = self._with_nulls(rows, lifetime, null_share)
                if random.random() < 0.05:
                    rows = [row._replace(value=None) for row in rows]
            by_key[key] = [row._replace(key=self._written(key)) for row in rows]
        all_rows = tuple(self._order(by_key, lifetime))
        ranks = None
        if random.random() < 0.2:
            ranks = tuple(random.sample(range(len(all_rows)), len(all_rows)))
        types = tuple(random.choice(family.types) for family in families)
        return KeyedInput(declared, lifetime, all_rows, types, ranks, in_column)

    def cells(
        self,
        declared: Input,
        events: Sequence[Event],
        pool: Sequence[Key],
        families: Sequence[Family],
    ) -> KeyedInput:
        """An input whose intervals are cells: none of a key overlaps another."""
        random, lifetime = self.random, Interval("start", "end")
        by_key: dict[Key, list[Row]] = {}
        for key in pool:
            if families and random.random() < 0.2:
                continue
            own = events if random.random() < 0.5 else self._like(events)
            by_key[key] = [Row(self._written(key), *event) for event in own]
        rows = tuple(self._order(by_key, lifetime))
        types = tuple(random.choice(family.types) for family in families)
        return KeyedInput(declared, lifetime, rows, types, None, False)

    def _written(self, key: Key) -> Key:
        return tuple(written(self.random, value) for value in key)

    # Streams

    def _stream(
        self, declared: Input, events: Sequence[Event], *, whole: bool
    ) -> list[Event]:
        """The case's own stream, one like it, or another one."""
        random = self.random
        if whole and random.random() < 0.6:
            return list(events)
        if self.maker is not None and (not events or random.random() < 0.4):
            return self.maker.events(declared.type)[0]
        return self._like(events)

    def _like(self, events: Sequence[Event]) -> list[Event]:
        """Events with the same lengths and values: moved, cut, thinned, mixed."""
        random = self.random
        values = [event.value for event in events]
        if random.random() < 0.5:
            random.shuffle(values)
        by = random.choice((0, 0, 1, 2, -3, 10, random.randint(-60, 60)))
        found = [
            Event(event.start + by, event.end + by, value)
            for event, value in zip(events, values, strict=True)
        ]
        if random.random() < 0.6:
            first = random.randint(0, len(found))
            found = found[first : first + random.choice((1, 2, 5, 20, len(found)))]
        lost = random.choice((0.0, 0.0, 0.1, 0.5))
        return [event for event in found if random.random() >= lost]

    def _lifetime(self, events: Sequence[Event]) -> Lifetime:
        """One that the events may have, or most of them after a change."""
        random = self.random
        lengths = {event.end - event.start for event in events}
        if self.maker is None or random.random() < 0.45:
            alike = len(lengths) == 1 and random.random() < 0.5
            return Sampled(min(lengths)) if alike else Interval("start", "end")
        kind = random.choice(tuple(LIFETIMES.values()))
        return draw_lifetime(kind, random, (1, 2, 3, 5, 8, 12, 20, *lengths))

    def _with_nulls(
        self, rows: list[Row], lifetime: Lifetime, share: float
    ) -> list[Row]:
        """Rows without a value among them, before, behind, or in the gaps."""
        random = self.random
        if isinstance(lifetime, Interval) and rows and random.random() < 0.4:
            (key, *_), *_ = rows
            events = [Event(row.start, row.end, row.value) for row in rows]  # type: ignore[arg-type]
            kind: Literal["gaps", "samples"] = random.choice(("gaps", "samples"))
            return [Row(key, *found) for found in with_null_rows(events, kind)]
        made = list(rows)
        for row in rows:
            if random.random() < share:
                stamp = row.start + random.randint(-3, 12)
                length = random.choice((1, row.end - row.start))
                made.append(Row(row.key, stamp, stamp + length, None))
        return sorted(made, key=partial(_time, lifetime))

    # Orders

    def _order(
        self, by_key: Mapping[Key, Sequence[Row]], lifetime: Lifetime
    ) -> list[Row]:
        """The rows of all keys in one order."""
        random = self.random
        keys = list(by_key)
        kind = random.choice(("time", "time", "keys", "groups", "shuffled"))
        if kind == "keys":
            keys.sort(key=key_order)
        elif kind == "groups":
            random.shuffle(keys)
        rows = [row for key in keys for row in by_key[key]]
        if kind == "time":
            rows.sort(key=partial(_time, lifetime))
        if kind == "shuffled":
            random.shuffle(rows)
        return rows


def draw_lifetime(
    kind: type[Lifetime], random: Random, lengths: Sequence[int]
) -> Lifetime:
    """Draw a lifetime of a kind whose arguments are lengths in ticks, if it has any.

    Columns have their default names; a length that can be left out is, half the time.
    """
    arguments: list[int] = []
    for argument in fields(kind):
        may_lack = argument.default is None and random.random() < 0.5
        if isinstance(argument.default, str) or may_lack:
            break
        arguments.append(random.choice(lengths))
    return make_lifetime(kind.keyword, *arguments)


def _time(lifetime: Lifetime, row: Row) -> int:
    """Return what a key's rows are sorted by."""
    return row.start if isinstance(lifetime, Interval) else row.end


def _stamped(
    key: Key, events: Sequence[Event], lifetime: Lifetime, *, disjoint: bool
) -> list[Row]:
    """Rows of about those times; without those that would overlap, where none may."""
    rows = []
    until = None
    for start, end, value in events:
        stamp, length = start + 1, 1
        match lifetime:
            case Interval():
                rows.append(Row(key, start, end, value))
                continue
            case FixedDuration(ticks):
                length = ticks
            case Sampled(period):
                stamp, length = end, period
            case Point() | UntilNext():
                pass
            case _:
                assert_never(lifetime)
        if disjoint and until is not None and stamp < until:
            continue
        rows.append(Row(key, start, stamp, value))
        until = stamp + length
    return rows
