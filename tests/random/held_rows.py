"""Random cases whose last rows hold on, as those of `until_next` do.

Any generator's case may have such rows: the events of an input that start last, where
all others have ended, hold without end or, as with `max`, some ticks longer.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from tests.random.queries import Case
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.types import ENDLESS


def with_held_rows(case: Case, seed: int) -> Case:
    """Hold the last rows of about two inputs in three."""
    random = Random(f"held {seed}")  # noqa: S311 - tests, not secrets
    events = {
        name: _held(random, rows) if random.random() < 0.7 else rows
        for name, rows in case.events.items()
    }
    return replace(case, events=events)


def _held(random: Random, events: list[Event]) -> list[Event]:
    last = max((event.start for event in events), default=0)
    others = [event for event in events if event.start < last]
    if any(event.end > last for event in others):
        return events
    longest = random.choice((None, None, 1, 2, 5, 30))
    end = FOREVER if longest is None else last + longest
    held = [
        LastEvent(last, end, event.value) for event in events if event.start == last
    ]
    return [*others, *held]


def as_intervals(events: Sequence[Event]) -> list[Event]:
    """Events whose ends an interval column can hold."""
    return [
        Event(event.start, event.domain_end, event.value)
        if isinstance(event, LastEvent)
        else event
        for event in events
    ]


def hold_on(buffer: SnapshotBuffer, events: Sequence[Event]) -> SnapshotBuffer:
    """Put back the ends that an interval column could not hold."""
    last = [event for event in events if isinstance(event, LastEvent)]
    if not last:
        return buffer
    starts, ends = buffer.times()
    held = starts == last[0].start
    ends = np.where(held, min(last[0].end, ENDLESS), ends)
    found = lay_out(np.ascontiguousarray(starts), ends, buffer.columns)
    return replace(found, domain_end=last[0].domain_end)
