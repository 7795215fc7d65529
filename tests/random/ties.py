"""Random cases whose events share their times: any generator's, with events repeated.

An event that shares both times with the one before has a payload of its own.
"""

from dataclasses import replace
from random import Random

from tests.random.queries import Case
from tiltpy.interpreter.evaluate import Event

SHARES = (0.03, 0.3)
"""Probabilities that another event has an event's times."""


def with_ties(case: Case, seed: int) -> Case:
    """Repeat some events of a case with payloads of others."""
    random = Random(f"ties {seed}")  # noqa: S311 - tests, not secrets
    events = {name: _repeat(random, rows) for name, rows in case.events.items()}
    return replace(case, events=events)


def _repeat(random: Random, events: list[Event]) -> list[Event]:
    share = random.choice(SHARES)
    repeated = []
    for event in events:
        repeated.append(event)
        while random.random() < share:
            payload = random.choice(events).value
            repeated.append(Event(event.start, event.end, payload))
    return repeated
