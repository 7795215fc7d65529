"""Cursor loops that give a result for each event, or block of ticks, of a stream.

Like all loops here they fill arrays with starts, ends and values, return how many they
found, and are plain Python until Numba compiles them. Events may be contiguous or have
gaps; `starts` is None where each lasts for one tick, which Numba decides on before it
compiles. A block takes part in its last event again if that goes on behind it.
"""

import numpy as np

from bench.outcome import Array


def select(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """`x + 1`."""
    for i in range(len(x)):
        out_starts[i] = ends[i] - 1 if starts is None else starts[i]
        out_ends[i] = ends[i]
        out[i] = x[i] + np.float32(1)
    return len(x)


def where(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Write always, count what is positive."""
    count = 0
    for i in range(len(x)):
        out_starts[count] = ends[i] - 1 if starts is None else starts[i]
        out_ends[count] = ends[i]
        out[count] = x[i]
        count += int(x[i] > 0)
    return count


def tumbling_sum(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """A sum for each 1,000 ticks."""
    domain = ends[0] - 1 if starts is None else starts[0]
    count, low, i = 0, 0, 0
    while i < len(x):
        start = ends[i] - 1 if starts is None else starts[i]
        low = max(low, start // 1000 * 1000)
        high = low + 1000
        total = 0.0
        while start < high:
            total += x[i]
            i += 1
            if i == len(x):
                break
            start = ends[i] - 1 if starts is None else starts[i]
        out_starts[count] = max(low, domain)
        out_ends[count] = high
        out[count] = total
        count += 1
        i -= int(ends[i - 1] > high)
        low = high
    return count


def z_score(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Mean and deviation of each 10,000 ticks, then their events by them."""
    count, low, first = 0, 0, 0
    while first < len(x):
        start = ends[first] - 1 if starts is None else starts[first]
        low = max(low, start // 10_000 * 10_000)
        high = low + 10_000
        total = 0.0
        last = first
        while start < high:
            total += x[last]
            last += 1
            if last == len(x):
                break
            start = ends[last] - 1 if starts is None else starts[last]
        mean = total / (last - first)
        squares = 0.0
        for i in range(first, last):
            squares += (x[i] - mean) ** 2
        deviation = np.sqrt(squares / (last - first))
        for i in range(first, last):
            start = ends[i] - 1 if starts is None else starts[i]
            out_starts[count] = max(low, start)
            out_ends[count] = min(high, ends[i])
            out[count] = (x[i] - mean) / deviation
            count += 1
        first = last - int(ends[last - 1] > high)
        low = high
    return count


def impute(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """The mean of each 10,000 ticks, then the events and the gaps between them."""
    count, low, first, time = 0, 0, 0, starts[0]
    while first < len(x):
        low = max(low, starts[first] // 10_000 * 10_000)
        high = low + 10_000
        total = 0.0
        last = first
        while last < len(x) and starts[last] < high:
            total += x[last]
            last += 1
        mean = total / (last - first)
        for i in range(first, last):
            if starts[i] > time:
                out_starts[count] = time
                out_ends[count] = starts[i]
                out[count] = mean
                count += 1
                time = starts[i]
            out_starts[count] = time
            time = min(high, ends[i])
            out_ends[count] = time
            out[count] = x[i]
            count += 1
        if last < len(x) and time < high:
            out_starts[count] = time
            out_ends[count] = high
            out[count] = mean
            count += 1
            time = high
        first = last - int(ends[last - 1] > high)
        low = high
    return count


def vibration(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    kurtosis: Array,
    rms: Array,
    crest: Array,
) -> int:
    """Moments and the largest magnitude of each 100 ticks."""
    domain = ends[0] - 1 if starts is None else starts[0]
    count, low, first = 0, 0, 0
    while first < len(x):
        start = ends[first] - 1 if starts is None else starts[first]
        low = max(low, start // 100 * 100)
        high = low + 100
        total, squares, largest = 0.0, 0.0, 0.0
        last = first
        while start < high:
            total += x[last]
            squares += x[last] * x[last]
            largest = max(largest, abs(x[last]))
            last += 1
            if last == len(x):
                break
            start = ends[last] - 1 if starts is None else starts[last]
        mean = total / (last - first)
        second, fourth = 0.0, 0.0
        for i in range(first, last):
            square = (x[i] - mean) ** 2
            second += square
            fourth += square * square
        root = np.sqrt(squares / (last - first))
        out_starts[count] = max(low, domain)
        out_ends[count] = high
        kurtosis[count] = fourth * (last - first) / (second * second) - 3
        rms[count] = root
        crest[count] = largest / root
        count += 1
        first = last - int(ends[last - 1] > high)
        low = high
    return count


def yahoo(
    starts: Array | None,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Count the events of one type in each 100 ticks.

    Blocks one after the other that count the very same events, or none, are one
    result.
    """
    domain = ends[0] - 1 if starts is None else starts[0]
    count, i, before, before_last = 0, 0, -2, -2
    end = ends[len(x) - 1]
    for low in range(domain // 100 * 100, end, 100):
        high = low + 100
        found, first, last = 0, -1, -1
        while i < len(x):
            start = ends[i] - 1 if starts is None else starts[i]
            if start >= high:
                break
            if x[i] == 1:
                first = i if found == 0 else first
                last = i
                found += 1
            i += 1
        if first == before and last == before_last:
            out_ends[count - 1] = high
        else:
            out_starts[count] = max(low, domain)
            out_ends[count] = high
            out[count] = found
            count += 1
        before, before_last = first, last
        i -= int(i > 0 and ends[i - 1] > high)
    return count
