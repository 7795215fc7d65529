"""Cursor loops for rolling results at point events: one an event, one tick long.

See `blocks.py` for what the loops have in common.
"""

import numpy as np

from bench.outcome import Array


def join(
    a_ends: Array,
    a: Array,
    b_ends: Array,
    b: Array,
    starts: Array,
    ends: Array,
    out: Array,
) -> int:
    """At each event of `a`, the last one of `b` in 100 ticks."""
    count, j = 0, 0
    for i in range(len(a)):
        time = a_ends[i]
        while j < len(b) and b_ends[j] <= time:
            j += 1
        if j > 0 and b_ends[j - 1] > time - 100:
            starts[count] = time - 1
            ends[count] = time
            out[count] = a[i] + b[j - 1]
            count += 1
    return count


def sliding_sum(
    ends: Array,
    x: Array,
    size: int,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """A running sum over some ticks."""
    drop, total = 0, 0.0
    for i in range(len(x)):
        total += x[i]
        while ends[drop] <= ends[i] - size:
            total -= x[drop]
            drop += 1
        out_starts[i] = ends[i] - 1
        out_ends[i] = ends[i]
        out[i] = total
    return len(x)


def sliding_max(
    ends: Array,
    x: Array,
    size: int,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """A queue of candidates in falling order, over some ticks."""
    mask = 4095
    queue = np.empty(mask + 1, np.int64)
    head, tail = 0, 0
    for i in range(len(x)):
        while tail > head and x[queue[(tail - 1) & mask]] <= x[i]:
            tail -= 1
        queue[tail & mask] = i
        tail += 1
        while ends[queue[head & mask]] <= ends[i] - size:
            head += 1
        out_starts[i] = ends[i] - 1
        out_ends[i] = ends[i]
        out[i] = x[queue[head & mask]]
    return len(x)


def trading(
    ends: Array,
    x: Array,
    short_size: int,
    long_size: int,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Two running sums over some ticks, compared as means."""
    drop_short, drop_long = 0, 0
    short, long = 0.0, 0.0
    for i in range(len(x)):
        short += x[i]
        long += x[i]
        while ends[drop_short] <= ends[i] - short_size:
            short -= x[drop_short]
            drop_short += 1
        while ends[drop_long] <= ends[i] - long_size:
            long -= x[drop_long]
            drop_long += 1
        out_starts[i] = ends[i] - 1
        out_ends[i] = ends[i]
        out[i] = short * (i + 1 - drop_long) > long * (i + 1 - drop_short)
    return len(x)


def fraud(ends: Array, x: Array, out_starts: Array, out_ends: Array, out: Array) -> int:
    """Test whether each event is far above those in the 10 ticks before."""
    count, drop = 0, 0
    total, squares = 0.0, 0.0
    for i in range(len(x)):
        while drop < i and ends[drop] <= ends[i] - 11:
            total -= x[drop]
            squares -= np.float64(x[drop]) * x[drop]
            drop += 1
        if drop < i:
            mean = total / (i - drop)
            deviation = np.sqrt(max(0.0, squares / (i - drop) - mean * mean))
            out_starts[count] = ends[i] - 1
            out_ends[count] = ends[i]
            out[count] = x[i] > mean + 3 * deviation
            count += 1
        total += x[i]
        squares += np.float64(x[i]) * x[i]
    return count
