"""Loops over rows that lie key after key: those of a key from an offset to the next."""

import numpy as np

from bench.outcome import Array


def mean(
    offsets: Array,
    ends: Array,
    x: Array,
    size: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    out: Array,
) -> int:
    """Keep a running sum of the last ticks of a key."""
    for key in range(len(offsets) - 1):
        drop, total = offsets[key], 0.0
        for i in range(offsets[key], offsets[key + 1]):
            total += x[i]
            while ends[drop] <= ends[i] - size:
                total -= x[drop]
                drop += 1
            starts[i] = ends[i] - 1
            stamps[i] = ends[i]
            keys[i] = key
            out[i] = total / (i + 1 - drop)
    return len(x)


def session_start(
    offsets: Array,
    ends: Array,
    x: Array,
    gap: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    out: Array,
) -> int:
    """Look at the row before of the key."""
    for key in range(len(offsets) - 1):
        for i in range(offsets[key], offsets[key + 1]):
            starts[i] = ends[i] - 1
            stamps[i] = ends[i]
            keys[i] = key
            out[i] = i == offsets[key] or ends[i] - ends[i - 1] > gap
    return len(x)


def row_before(
    offsets: Array,
    ends: Array,
    x: Array,
    size: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    out: Array,
) -> int:
    """Subtract the row before of the key, if it is near."""
    count = 0
    for key in range(len(offsets) - 1):
        for i in range(offsets[key] + 1, offsets[key + 1]):
            if ends[i - 1] > ends[i] - size:
                starts[count] = ends[i] - 1
                stamps[count] = ends[i]
                keys[count] = key
                out[count] = x[i] - x[i - 1]
                count += 1
    return count


def panes(
    offsets: Array,
    ends: Array,
    x: Array,
    size: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    out: Array,
) -> int:
    """Add up the rows of a pane until one lies behind it."""
    count = -1
    for key in range(len(offsets) - 1):
        first = ends[offsets[key]] - 1
        end = first
        for i in range(offsets[key], offsets[key + 1]):
            if ends[i] > end:
                count += 1
                begin = (ends[i] - 1) // size * size
                end = begin + size
                starts[count] = max(begin, first)
                stamps[count] = end
                keys[count] = key
                out[count] = 0.0
            out[count] += x[i]
    return count + 1


def hops(
    offsets: Array,
    ends: Array,
    x: Array,
    size: int,
    step: int,
    starts: Array,
    stamps: Array,
    keys: Array,
    counts: Array,
    sums: Array,
    most: Array,
) -> int:
    """Look at the last ticks of a key every `step`; the same rows are one result."""
    count = 0
    for key in range(len(offsets) - 1):
        drop = take = offsets[key]
        start, end = ends[take] - 1, ends[offsets[key + 1] - 1]
        time = start // step * step + step
        total, dropped, taken = 0.0, -1, -1
        while time - step < end:
            while take < offsets[key + 1] and ends[take] <= time:
                total += x[take]
                take += 1
            while drop < take and ends[drop] <= time - size:
                total -= x[drop]
                drop += 1
            if (drop, take) == (dropped, taken):
                stamps[count - 1] = time
            else:
                starts[count] = max(time - step, start)
                stamps[count] = time
                keys[count] = key
                counts[count] = take - drop
                sums[count] = total if take > drop else np.nan
                most[count] = np.nan if take == drop else x[drop]
                for i in range(drop + 1, take):
                    most[count] = max(most[count], x[i])
                count += 1
            dropped, taken = drop, take
            time += step
    return count


def as_of(
    offsets: Array,
    ends: Array,
    trade: Array,
    quote_offsets: Array,
    quoted: Array,
    quote: Array,
    starts: Array,
    stamps: Array,
    keys: Array,
    out: Array,
) -> int:
    """Follow the quotes of a key with a cursor."""
    count = 0
    for key in range(len(offsets) - 1):
        row = quote_offsets[key] - 1
        for i in range(offsets[key], offsets[key + 1]):
            while row + 1 < quote_offsets[key + 1] and quoted[row + 1] <= ends[i]:
                row += 1
            if row >= quote_offsets[key]:
                starts[count] = ends[i] - 1
                stamps[count] = ends[i]
                keys[count] = key
                out[count] = trade[i] - quote[row]
                count += 1
    return count
