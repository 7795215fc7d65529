"""The workloads with keys.

Rows come in order of time, those of all keys among each other. Customers are small
numbers, sessions numbers of any size, instruments strings.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from bench.workloads.layouts import numbers
from bench.workloads.streams import Stream, Workload
from bench.workloads.tuned import LONG, SHORT

CUSTOMERS = 10_000
"""Customers, at most; there are 100 events of each or more."""
OFTEN = 15_000
"""Seconds from one event of a customer to the next, on average."""
TEN_DAYS = 10 * 86_400
"""Seconds before an event that fraud is looked for in."""
MOST = 10_000_000
"""Rows of the other workloads, at most; and the ticks that sessions come in."""
ROWS = 10
"""Rows of a session."""
RECENT = MOST // 2
"""Ticks of a session's window: half of its rows are that close, on average."""
SYMBOLS = 100
"""Instruments that are sampled side by side, at most."""
EACH = 500
"""Samples of an instrument, about, where there are few."""
FAR_APART = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiples of it, modulo 2^64, are in no order."""


def _customers(events: int, random: np.random.Generator) -> Stream:
    """A customer drawn for each event; times rise by a second or more."""
    customers = max(1, min(CUSTOMERS, events // 100))
    gaps = random.integers(1, 2 * max(1, OFTEN // customers), events)
    ends = np.cumsum(gaps)
    keys = pa.array(random.integers(0, customers, events))
    return Stream(numbers(events, random), ends, ends - 1, keys=keys)


def _sessions(events: int, random: np.random.Generator) -> Stream:
    """Ten rows of each key, all in any order."""
    sessions = max(1, min(events, MOST) // ROWS)
    known = (np.arange(sessions, dtype=np.uint64) * FAR_APART).view(np.int64)
    keys = random.permutation(np.repeat(known, ROWS))
    ends = np.arange(1, len(keys) + 1) * (MOST // len(keys))
    return Stream(numbers(len(keys), random), ends, ends - 1, keys=pa.array(keys))


def _symbols(events: int, random: np.random.Generator) -> Stream:
    """At each tick a sample of every instrument."""
    symbols = max(1, min(SYMBOLS, events // EACH))
    return _samples(min(events, MOST), symbols, random)


def _one_symbol(events: int, random: np.random.Generator) -> Stream:
    """All rows are of one instrument."""
    return _samples(min(events, MOST), 1, random)


def _samples(events: int, symbols: int, random: np.random.Generator) -> Stream:
    """Each has a multiple of 16 of them, where the code in C begins to write."""
    names = pa.array([f"S{number:02}" for number in range(symbols)])
    ticks, index = np.divmod(np.arange(events // symbols // 16 * 16 * symbols), symbols)
    keys = names.take(pa.array(index))
    return Stream(numbers(len(index), random), ticks + 1, ticks, keys=keys)


_TRADING = f"~out[t] = mean(~x[t-{SHORT} : t]) > mean(~x[t-{LONG} : t])"
_FRAUD = f"""\
~out[t] = {{
    usual = mean(~x[t-1-{TEN_DAYS} : t-1])
    return ~x[t] > usual + 3 * std(~x[t-1-{TEN_DAYS} : t-1])
}}"""
_SESSIONS = f"~out[t] = ~x[t] != φ ? mean(~x[t-{RECENT} : t]) : φ"


def _workload(
    name: str,
    base: str,
    lifetime: str,
    body: str,
    draw: Callable[[int, np.random.Generator], Stream],
) -> Workload:
    def make(events: int, seed: int) -> dict[str, Stream]:
        return {"x": draw(events, np.random.default_rng(seed))}

    query = f"input x by k : f32 time end {lifetime}\n{body}\noutput ~out\n"
    return Workload(name, query, make, "keyed", base)


KEYED = (
    _workload("fraud by customer", "fraud", "point", _FRAUD, _customers),
    _workload("mean by session", "mean", "point", _SESSIONS, _sessions),
    _workload("trading by symbol", "trading", "sampled 1", _TRADING, _symbols),
    _workload("trading, one key", "trading", "sampled 1", _TRADING, _one_symbol),
)
"""Many events of many keys, a million keys, sampled keys, and one with all rows."""
