"""Loops over events of one tick at irregular times, in order.

They write starts, ends and values, and return how many. A result at an event is one of
its stamp: of several with one stamp the last one counts, but windows see them all.
"""

import numpy as np

from bench.outcome import Array


def select(ends: Array, x: Array, starts: Array, stamps: Array, out: Array) -> int:
    """`x + 1`."""
    count = 0
    for i in range(len(x)):
        if i + 1 < len(x) and ends[i + 1] == ends[i]:
            continue
        starts[count] = ends[i] - 1
        stamps[count] = ends[i]
        out[count] = x[i] + 1
        count += 1
    return count


def row_before(
    ends: Array, x: Array, size: int, starts: Array, stamps: Array, out: Array
) -> int:
    """Subtract the value of the stamp before, if that is near."""
    count, before = 0, -1
    for i in range(len(x)):
        if i + 1 < len(x) and ends[i + 1] == ends[i]:
            continue
        if before >= 0 and ends[before] > ends[i] - size:
            starts[count] = ends[i] - 1
            stamps[count] = ends[i]
            out[count] = x[i] - x[before]
            count += 1
        before = i
    return count


def mean(
    ends: Array, x: Array, size: int, starts: Array, stamps: Array, out: Array
) -> int:
    """Keep a running sum of the last ticks."""
    count, drop, total = 0, 0, 0.0
    for i in range(len(x)):
        total += x[i]
        if i + 1 < len(x) and ends[i + 1] == ends[i]:
            continue
        while ends[drop] <= ends[i] - size:
            total -= x[drop]
            drop += 1
        starts[count] = ends[i] - 1
        stamps[count] = ends[i]
        out[count] = total / (i + 1 - drop)
        count += 1
    return count


def deviation(
    ends: Array, x: Array, size: int, starts: Array, stamps: Array, out: Array
) -> int:
    """Keep running sums of values and squares."""
    count, drop, total, squares = 0, 0, 0.0, 0.0
    for i in range(len(x)):
        total += x[i]
        squares += x[i] * x[i]
        if i + 1 < len(x) and ends[i + 1] == ends[i]:
            continue
        while ends[drop] <= ends[i] - size:
            total -= x[drop]
            squares -= x[drop] * x[drop]
            drop += 1
        rows = i + 1 - drop
        starts[count] = ends[i] - 1
        stamps[count] = ends[i]
        out[count] = np.sqrt(max(0.0, squares / rows - (total / rows) ** 2))
        count += 1
    return count


def session_start(
    ends: Array, x: Array, gap: int, starts: Array, stamps: Array, out: Array
) -> int:
    """Look at the stamp before."""
    for i in range(len(x)):
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = i == 0 or ends[i] - ends[i - 1] > gap
    return len(x)


def mean_each(
    ends: Array,
    x: Array,
    size: int,
    step: int,
    starts: Array,
    stamps: Array,
    out: Array,
) -> int:
    """Look at the last ticks every `step`; what sees the same rows is one result."""
    count, drop, take, total = 0, 0, 0, 0.0
    before = (0, 0)
    start = ends[0] - 1
    time = start // step * step + step
    while time - step < ends[-1]:
        while take < len(x) and ends[take] <= time:
            total += x[take]
            take += 1
        while drop < take and ends[drop] <= time - size:
            total -= x[drop]
            drop += 1
        if take > drop:
            if count > 0 and before == (drop, take):
                stamps[count - 1] = time
            else:
                starts[count] = max(time - step, start)
                stamps[count] = time
                out[count] = total / (take - drop)
                count += 1
        before = (drop, take)
        time += step
    return count


def vwap(
    ends: Array,
    price: Array,
    volume: Array,
    size: int,
    starts: Array,
    stamps: Array,
    out: Array,
) -> int:
    """Keep what was paid and what was traded in the last ticks."""
    drop, paid, traded = 0, 0.0, 0.0
    for i in range(len(price)):
        paid += price[i] * volume[i]
        traded += volume[i]
        while ends[drop] <= ends[i] - size:
            paid -= price[drop] * volume[drop]
            traded -= volume[drop]
            drop += 1
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = paid / traded
    return len(price)


def bars(
    ends: Array,
    price: Array,
    volume: Array,
    size: int,
    starts: Array,
    stamps: Array,
    opened: Array,
    high: Array,
    low: Array,
    closed: Array,
    traded: Array,
) -> int:
    """Fill the bar of a pane until an event lies behind it."""
    count, end = -1, ends[0] - 1
    for i in range(len(price)):
        if ends[i] > end:
            count += 1
            begin = (ends[i] - 1) // size * size
            end = begin + size
            starts[count] = max(begin, ends[0] - 1)
            stamps[count] = end
            opened[count] = high[count] = low[count] = price[i]
            traded[count] = 0.0
        high[count] = max(high[count], price[i])
        low[count] = min(low[count], price[i])
        closed[count] = price[i]
        traded[count] += volume[i]
    return count + 1


def median(
    ends: Array,
    price: Array,
    _volume: Array,
    size: int,
    starts: Array,
    stamps: Array,
    out: Array,
) -> int:
    """Keep the last ticks in order of price."""
    ranked = np.empty(len(price))
    drop, count = 0, 0
    for i in range(len(price)):
        while ends[drop] <= ends[i] - size:
            place = np.searchsorted(ranked[:count], price[drop])
            for k in range(place, count - 1):
                ranked[k] = ranked[k + 1]
            count -= 1
            drop += 1
        place = np.searchsorted(ranked[:count], price[i])
        for k in range(count, place, -1):
            ranked[k] = ranked[k - 1]
        ranked[place] = price[i]
        count += 1
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = (ranked[(count - 1) // 2] + ranked[count // 2]) / 2
    return len(price)
