"""Seeded rows: values are multiples of 1/8, so that sums of doubles are exact."""

import numpy as np
import pyarrow as pa

from bench.workloads.offpath.rows import Array, Inputs, Make, Rows, Times

LARGEST = 8000
"""The largest magnitude of a value, in eighths."""
BETWEEN = 10
"""Ticks from one event to the next, on average."""
US = 28_000
"""Microseconds between two trades, on average: 3 million in a day."""


def numbers(count: int, random: np.random.Generator) -> Array:
    """Values as doubles."""
    eighths = random.integers(-LARGEST, LARGEST + 1, count)
    values: Array = eighths / 8
    return values


def walk(count: int, random: np.random.Generator) -> Array:
    """Prices that move by an eighth or stay, above 500."""
    steps: Array = random.integers(-1, 2, count).cumsum()
    eighths: Array = np.abs(steps % 8000 - 4000)
    return np.add(1000, eighths / 8)


def kinds(count: int, random: np.random.Generator) -> Array:
    """One of 100 integers, each as often as the others."""
    return random.integers(0, 100, count)


def samples(count: int, random: np.random.Generator, period: int = 1) -> Rows:
    """A signal without gaps."""
    return Rows("sampled", {"x": numbers(count, random)}, period=period)


def gaps(share: float) -> Make:
    """A signal with a share of nulls; the first and the last value are there."""

    def make(events: int, random: np.random.Generator) -> Inputs:
        valid = random.random(events) >= share
        valid[[0, -1]] = True
        return {"x": Rows("sampled", {"x": numbers(events, random)}, valid=valid)}

    return make


def signal(events: int, random: np.random.Generator) -> Inputs:
    """A signal `x`."""
    return {"x": samples(events, random)}


def prices(events: int, random: np.random.Generator) -> Inputs:
    """A signal `x` that changes little from sample to sample."""
    return {"x": Rows("sampled", {"x": walk(events, random)})}


def categories(events: int, random: np.random.Generator) -> Inputs:
    """A signal `x` of integers below 100."""
    return {"x": Rows("sampled", {"x": kinds(events, random)})}


def bars(events: int, random: np.random.Generator) -> Inputs:
    """Sampled structs `bar`: open, high, low, close, volume."""
    opened, closed = walk(events, random), walk(events, random)
    columns = {
        "open": opened,
        "high": np.maximum(opened, closed) + 1,
        "low": np.minimum(opened, closed) - 1,
        "close": closed,
        "volume": random.integers(1, 1000, events) * 1.0,
    }
    return {"bar": Rows("sampled", columns)}


def stamps(count: int, random: np.random.Generator, between: int = BETWEEN) -> Times:
    """Rising times, from 1 to twice `between` ticks apart."""
    return random.integers(1, 2 * between, count).cumsum()


def points(events: int, random: np.random.Generator) -> Inputs:
    """Events `x` of one tick at irregular times."""
    return {"x": Rows("point", {"x": numbers(events, random)}, stamps(events, random))}


def one_tie(events: int, random: np.random.Generator) -> Inputs:
    """The same, two of which share a stamp."""
    ends = stamps(events, random)
    ends[events // 2] = ends[events // 2 - 1]
    return {"x": Rows("point", {"x": numbers(events, random)}, ends)}


def left_out(events: int, random: np.random.Generator) -> Inputs:
    """An event at every tick, but for one in a hundred."""
    ends = (1 + (random.random(events) < 0.01)).cumsum()
    return {"x": Rows("point", {"x": numbers(events, random)}, ends)}


def trades(events: int, random: np.random.Generator) -> Inputs:
    """Trades at a microsecond each: price and size."""
    return {"trade": trade_rows(events, random)}


def trade_rows(count: int, random: np.random.Generator) -> Rows:
    """Trades, without their name."""
    size = random.integers(1, 500, count) * 1.0
    columns = {"price": walk(count, random), "size": size}
    return Rows("point", columns, stamps(count, random, US))


def zipf(count: int, keys: int, random: np.random.Generator) -> Array:
    """Keys of which the first has the most rows, the `n`th an `n`th of that."""
    weights = 1.0 / np.arange(1, keys + 1)
    edges = weights.cumsum() / weights.sum()
    drawn: Array = edges.searchsorted(random.random(count))
    return np.minimum(drawn, keys - 1)


def names_of(codes: Array) -> pa.Array:
    """Keys as strings, not encoded as a dictionary."""
    distinct = pa.array([f"K{code:06}" for code in range(int(codes.max()) + 1)])
    return distinct.take(pa.array(codes))
