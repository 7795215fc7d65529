"""Loops with a state that goes on from row to row."""

from bench.outcome import Array


def total(ends: Array, x: Array, starts: Array, stamps: Array, out: Array) -> int:
    """Add each row."""
    state = 0.0
    for i in range(len(x)):
        state += x[i]
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = state
    return len(x)


def highest(ends: Array, x: Array, starts: Array, stamps: Array, out: Array) -> int:
    """Keep the greatest."""
    state = x[0]
    for i in range(len(x)):
        state = max(state, x[i])
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = state
    return len(x)


def last_mean(
    ends: Array, x: Array, size: int, starts: Array, stamps: Array, out: Array
) -> int:
    """Keep a running sum of the last rows."""
    state = 0.0
    for i in range(len(x)):
        state += x[i]
        if i >= size:
            state -= x[i - size]
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = state / min(i + 1, size)
    return len(x)


def ema(
    ends: Array, x: Array, alpha: float, starts: Array, stamps: Array, out: Array
) -> int:
    """Take a share of each row."""
    state = x[0]
    for i in range(len(x)):
        state = (1.0 - alpha) * state + alpha * x[i]
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = state
    return len(x)


def biquad(
    ends: Array,
    x: Array,
    gain: float,
    middle: float,
    peak: float,
    starts: Array,
    stamps: Array,
    out: Array,
) -> int:
    """Keep two delays: transposed direct form II."""
    a, b = 0.0, 0.0
    for i in range(len(x)):
        y = gain * x[i] + a
        a = middle * y + b
        b = -gain * x[i] - peak * y
        starts[i] = ends[i] - 1
        stamps[i] = ends[i]
        out[i] = y
    return len(x)


def sessions(
    offsets: Array,
    ends: Array,
    _x: Array,
    pause: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    first: Array,
    rows: Array,
) -> int:
    """Write a session of a key where the row after its last is far away."""
    count = 0
    for key in range(len(offsets) - 1):
        begin = offsets[key]
        for i in range(begin, offsets[key + 1]):
            if i + 1 < offsets[key + 1] and ends[i + 1] - ends[i] <= pause:
                continue
            starts[count] = ends[i] - 1
            stamps[count] = ends[i]
            keys[count] = key
            first[count] = ends[begin]
            rows[count] = i + 1 - begin
            begin = i + 1
            count += 1
    return count
