"""Streams out of order: the starts of events in order of arrival, drawn from a seed.

After the data sets of *Impatience Is a Virtue* (ICDE 2018, sections II and VI): a log
in order; events of which some are moved back; servers of which some fail for a while,
and phones that upload what they have logged. There is about an event for each tick.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]

SERVERS = 400
LATENCIES = 40.0
"""The mean latency of a server, in ticks; each has one of its own."""
FAILURES = 1 / 50_000
"""The chance of a failure, for each event."""
OUTAGE = 20_000.0
"""The mean ticks until a failed server is back."""
PHONES = 100
UPLOAD = 2_000
"""The mean events of an upload."""


@dataclass(frozen=True, slots=True)
class Disorder:
    """A kind of disorder, and the reorder latency that nearly all events need."""

    name: str
    draw: Callable[[int, np.random.Generator], Starts]
    reorder: int


def draw_ordered(count: int, random: np.random.Generator) -> Starts:
    """Draw events in order, some at the same time."""
    return np.sort(random.integers(0, count, count))


def draw_moved(
    count: int, random: np.random.Generator, share: float = 0.3, distance: float = 64
) -> Starts:
    """Draw events of which a share is moved back, by |N(0, distance)| ticks."""
    starts = np.arange(count)
    moved = random.random(count) < share
    back = np.abs(random.normal(0, distance, int(moved.sum())))
    starts[moved] -= back.astype(np.int64)
    return starts


def draw_servers(count: int, random: np.random.Generator) -> Starts:
    """Draw events of servers, each of which sends its own in order.

    A server that fails sends what it has when it is back.
    """
    starts = np.arange(count)
    server = random.integers(0, SERVERS, count)
    latency = random.exponential(LATENCIES, SERVERS)[server]
    arrivals = starts + latency
    failures = np.flatnonzero(random.random(count) < FAILURES)
    outages = random.exponential(OUTAGE, len(failures))
    for begin, length in zip(failures.tolist(), outages.tolist(), strict=True):
        stop = min(count, begin + int(length))
        rows = begin + np.flatnonzero(server[begin:stop] == server[begin])
        arrivals[rows] = np.maximum(arrivals[rows], begin + length + latency[rows])
    return starts[np.argsort(arrivals, kind="stable")]


def draw_phones(count: int, random: np.random.Generator) -> Starts:
    """Draw events of phones, which upload all that they have since the last time."""
    starts = np.arange(count)
    phone = random.integers(0, PHONES, count)
    every = UPLOAD * PHONES
    phase = random.integers(0, every, PHONES)
    upload = (starts + phase[phone]) // every
    jitter = random.random((PHONES, int(upload.max()) + 1)) * 0.9
    arrivals = (upload + 1 + jitter[phone, upload]) * every - phase[phone]
    return starts[np.lexsort((starts, phone, arrivals))]


DISORDERS = (
    Disorder("in order", draw_ordered, 0),
    Disorder("30 % moved, 64 ticks", draw_moved, 400),
    Disorder("servers that fail", draw_servers, 100_000),
    Disorder("phones that upload", draw_phones, 2 * UPLOAD * PHONES),
)
