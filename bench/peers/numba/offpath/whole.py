"""Loops that look at a window as a whole: ranks, the most frequent, how many different.

Integers are below 100, which those loops know.
"""

import numpy as np

from bench.outcome import Array

KINDS = 100


def tumbling_top(
    x: Array, size: int, one: Array, two: Array, three: Array, four: Array, five: Array
) -> int:
    """Insert each into five that are in order."""
    panes = -(-len(x) // size)
    top = np.empty(5)
    for pane in range(panes):
        top[:] = -np.inf
        for i in range(pane * size, min(pane * size + size, len(x))):
            if x[i] > top[4]:
                place = 4
                while place > 0 and top[place - 1] < x[i]:
                    top[place] = top[place - 1]
                    place -= 1
                top[place] = x[i]
        one[pane], two[pane], three[pane] = top[0], top[1], top[2]
        four[pane], five[pane] = top[3], top[4]
    return panes


def tumbling_median(x: Array, size: int, out: Array) -> int:
    """Sort each pane."""
    panes = -(-len(x) // size)
    for pane in range(panes):
        ranked = np.sort(x[pane * size : pane * size + size])
        middle = len(ranked) // 2
        if len(ranked) % 2:
            out[pane] = ranked[middle]
        else:
            out[pane] = (ranked[middle - 1] + ranked[middle]) / 2
    return panes


def tumbling_nunique(x: Array, size: int, out: Array) -> int:
    """Mark what was seen."""
    panes = -(-len(x) // size)
    seen = np.full(KINDS, -1)
    for pane in range(panes):
        count = 0
        for i in range(pane * size, min(pane * size + size, len(x))):
            count += int(seen[x[i]] != pane)
            seen[x[i]] = pane
        out[pane] = count
    return panes


def quantile(x: Array, size: int, share: float, out: Array) -> int:
    """Keep the window in order: find places by halves, and move what lies between."""
    ranked = np.empty(size + 1)
    count = 0
    for i in range(len(x)):
        if i >= size:
            place = np.searchsorted(ranked[:count], x[i - size])
            for k in range(place, count - 1):
                ranked[k] = ranked[k + 1]
            count -= 1
        place = np.searchsorted(ranked[:count], x[i])
        for k in range(count, place, -1):
            ranked[k] = ranked[k - 1]
        ranked[place] = x[i]
        count += 1
        rank = share * (count - 1)
        low = int(rank)
        high = min(low + 1, count - 1)
        out[i] = ranked[low] + (ranked[high] - ranked[low]) * (rank - low)
    return len(x)


def mode(x: Array, size: int, out: Array) -> int:
    """Count kinds, and know where each stands first, which breaks ties."""
    counts = np.zeros(KINDS, np.int64)
    first, latest = np.zeros(KINDS, np.int64), np.zeros(KINDS, np.int64)
    following = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        if i >= size:
            old = x[i - size]
            counts[old] -= 1
            first[old] = following[i - size]
        kind = x[i]
        if counts[kind] == 0:
            first[kind] = i
        else:
            following[latest[kind]] = i
        latest[kind] = i
        counts[kind] += 1
        best = kind
        for other in range(KINDS):
            if counts[other] > counts[best] or (
                counts[other] == counts[best] and first[other] < first[best]
            ):
                best = other
        out[i] = best
    return len(x)


def nunique(x: Array, size: int, out: Array) -> int:
    """Count kinds, and how many have any."""
    counts = np.zeros(KINDS, np.int64)
    found = 0
    for i in range(len(x)):
        if i >= size:
            counts[x[i - size]] -= 1
            found -= int(counts[x[i - size]] == 0)
        found += int(counts[x[i]] == 0)
        counts[x[i]] += 1
        out[i] = found
    return len(x)


def equal_values(x: Array, size: int, out: Array) -> int:
    """Count kinds, and how many are as the newest one."""
    counts = np.zeros(KINDS, np.int64)
    for i in range(len(x)):
        if i >= size:
            counts[x[i - size]] -= 1
        counts[x[i]] += 1
        out[i] = counts[x[i]]
    return len(x)
