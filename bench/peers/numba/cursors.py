"""Cursor loops for windows over events with durations: a result from change to change.

An event comes into the window `(t-size, t]` when it starts, and leaves it `size - 1`
ticks after it ended; results last until the next one of these. See `blocks.py` for
what the loops have in common.
"""

import numpy as np

from bench.outcome import Array

MASK = 31
"""Of an index into a ring buffer, which holds more than the changes in 14 ticks."""


def join(
    a_starts: Array,
    a_ends: Array,
    a: Array,
    b_starts: Array,
    b_ends: Array,
    b: Array,
    starts: Array,
    ends: Array,
    out: Array,
) -> int:
    """A result for every stretch in which both are there and neither changes."""
    i, j, count = 0, 0, 0
    while i < len(a) and j < len(b):
        start = max(a_starts[i], b_starts[j])
        a_end, b_end = a_ends[i], b_ends[j]
        end = min(a_end, b_end)
        starts[count] = start
        ends[count] = end
        out[count] = a[i] + b[j]
        count += int(start < end)
        i += int(a_end == end)
        j += int(b_end == end)
    return count


def sliding_sum(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """A running sum over 1,000 ticks."""
    end, time = ends[len(x) - 1], starts[0]
    count, add, drop, total = 0, 0, 0, 0.0
    enter, leave = starts[0], ends[0] + 999
    while time < end:
        if enter == time:
            total += x[add]
            add += 1
            enter = starts[add] if add < len(x) else end
        if leave == time:
            total -= x[drop]
            drop += 1
            leave = ends[drop] + 999
        out_starts[count] = time
        time = min(enter, leave, end)
        out_ends[count] = time
        out[count] = total
        count += int(add > drop)
    return count


def sliding_max(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """A queue of candidates in falling order, over 1,000 ticks."""
    queue = np.empty(1024, np.int64)
    head, size = 0, 0
    end, time = ends[len(x) - 1], starts[0]
    count, add, drop = 0, 0, 0
    enter, leave = starts[0], ends[0] + 999
    while time < end:
        if enter == time:
            while size > 0 and x[queue[(head + size - 1) & 1023]] <= x[add]:
                size -= 1
            queue[(head + size) & 1023] = add
            size += 1
            add += 1
            enter = starts[add] if add < len(x) else end
        if leave == time:
            if queue[head] == drop:
                head = (head + 1) & 1023
                size -= 1
            drop += 1
            leave = ends[drop] + 999
        out_starts[count] = time
        time = min(enter, leave, end)
        out_ends[count] = time
        if size > 0:
            out[count] = x[queue[head]]
            count += 1
    return count


def trading(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Two running sums over 20 and 50 ticks, compared as means."""
    end, time = ends[len(x) - 1], starts[0]
    count, add, drop_short, drop_long = 0, 0, 0, 0
    short, long = 0.0, 0.0
    enter, leave_short, leave_long = starts[0], ends[0] + 19, ends[0] + 49
    while time < end:
        if enter == time:
            short += x[add]
            long += x[add]
            add += 1
            enter = starts[add] if add < len(x) else end
        if leave_short == time:
            short -= x[drop_short]
            drop_short += 1
            leave_short = ends[drop_short] + 19
        if leave_long == time:
            long -= x[drop_long]
            drop_long += 1
            leave_long = ends[drop_long] + 49
        out_starts[count] = time
        time = min(enter, leave_short, leave_long, end)
        out_ends[count] = time
        out[count] = short * (add - drop_long) > long * (add - drop_short)
        count += int(add > drop_short)
    return count


def rsi(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Gains and losses in 14 ticks, of contiguous events.

    A change has two snapshots an event: from the one before, for a tick, and none at
    all, for the rest. The first event has the second one only.
    """
    steps = np.zeros(MASK + 1, np.float32)
    leaves = np.empty(MASK + 1, np.int64)
    end, time = ends[len(x) - 1], starts[0]
    count, i, add, drop = 0, 0, 0, 0
    gain, loss = np.float64(0), np.float64(0)
    enter, leave = starts[0] + 1, end
    while time < end:
        if enter == time:
            comes = i > 0 and time == starts[i]
            step = x[i] - x[i - 1] if comes else np.float32(0)
            gone = time + 1 if comes else ends[i]
            if gone > time:
                gain += max(step, np.float32(0))
                loss += max(-step, np.float32(0))
                steps[add & MASK] = step
                leaves[add & MASK] = gone + 13
                add += 1
                leave = leaves[drop & MASK]
            i += int(gone == ends[i])
            enter = gone
        if leave == time:
            gain -= max(steps[drop & MASK], np.float32(0))
            loss -= max(-steps[drop & MASK], np.float32(0))
            drop += 1
            leave = leaves[drop & MASK]
        out_starts[count] = time
        time = min(enter, leave, end)
        out_ends[count] = time
        out[count] = 100.0 - 100.0 / (1.0 + gain / loss)
        count += int(add > drop)
    return count


def fraud(
    starts: Array,
    ends: Array,
    x: Array,
    out_starts: Array,
    out_ends: Array,
    out: Array,
) -> int:
    """Each event, and whether it is far above the 10 ticks before."""
    count, add, drop = 0, 0, 0
    total, squares = 0.0, 0.0
    enter, leave = starts[0] + 1, ends[0] + 10
    for i in range(len(x)):
        time, end = starts[i], ends[i]
        while time < end:
            while enter <= time:
                total += x[add]
                squares += np.float64(x[add]) * x[add]
                add += 1
                enter = starts[add] + 1 if add < len(x) else end
            while leave <= time:
                total -= x[drop]
                squares -= np.float64(x[drop]) * x[drop]
                drop += 1
                leave = ends[drop] + 10
            out_starts[count] = time
            time = min(enter, leave, end)
            out_ends[count] = time
            if add > drop:
                mean = total / (add - drop)
                deviation = np.sqrt(max(0.0, squares / (add - drop) - mean * mean))
                out[count] = x[i] > mean + 3 * deviation
                count += 1
    return count
