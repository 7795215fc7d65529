"""Loops over samples that may be missing: a byte a cell says whether there is a result.

`valid` says which samples are there. A window of `size` are a sample and those before.
"""

import numpy as np

from bench.outcome import Array


def last(x: Array, valid: Array, size: int, there: Array, out: Array) -> int:
    """Remember where the last one was; filling forward is the same."""
    seen = -size
    for i in range(len(x)):
        if valid[i]:
            seen = i
        there[i] = i - seen < size
        out[i] = x[seen]
    return len(x)


def first(x: Array, valid: Array, size: int, there: Array, out: Array) -> int:
    """Follow the window with a cursor that stands on its first sample."""
    head = 0
    for i in range(len(x)):
        head = max(head, i - size + 1)
        while head < i and not valid[head]:
            head += 1
        there[i] = valid[head]
        out[i] = x[head]
    return len(x)


def interpolate(x: Array, valid: Array, size: int, there: Array, out: Array) -> int:
    """Draw a line from a sample to the next, if both are near."""
    before, after = -size, 0
    for i in range(len(x)):
        if valid[i]:
            before = i
            there[i] = True
            out[i] = x[i]
            continue
        while after < len(x) and (after <= i or not valid[after]):
            after += 1
        there[i] = after < len(x) and i - before < size and after - i <= size
        if there[i]:
            share = (i - before) / (after - before)
            out[i] = x[before] + (x[after] - x[before]) * share
    return len(x)


def mean(x: Array, valid: Array, size: int, there: Array, out: Array) -> int:
    """Keep a running sum and a running count."""
    total, count = 0.0, 0
    for i in range(len(x)):
        if valid[i]:
            total += x[i]
            count += 1
        if i >= size and valid[i - size]:
            total -= x[i - size]
            count -= 1
        there[i] = count > 0
        if count > 0:
            out[i] = total / count
    return len(x)


def change(x: Array, there: Array, out: Array) -> int:
    """Keep what is not as it was."""
    there[0] = False
    for i in range(1, len(x)):
        there[i] = x[i] != x[i - 1]
        out[i] = x[i]
    return len(x)


def hop_mean(x: Array, valid: Array, out: Array) -> int:
    """Sum panes of 60, then add and subtract panes."""
    panes = -(-len(x) // 60)
    totals = np.zeros(panes)
    counts = np.zeros(panes, np.int64)
    for i in range(len(x)):
        if valid[i]:
            totals[i // 60] += x[i]
            counts[i // 60] += 1
    total, count = 0.0, 0
    for pane in range(panes):
        total += totals[pane]
        count += counts[pane]
        if pane >= 60:
            total -= totals[pane - 60]
            count -= counts[pane - 60]
        out[pane] = total / count
    return panes


def hop_count(x: Array, valid: Array, out: Array) -> int:
    """Count panes of 60, then add and subtract panes."""
    panes = -(-len(x) // 60)
    counts = np.zeros(panes, np.int64)
    for i in range(len(x)):
        counts[i // 60] += int(valid[i])
    count = 0
    for pane in range(panes):
        count += counts[pane]
        if pane >= 60:
            count -= counts[pane - 60]
        out[pane] = count
    return panes


def hop_max(x: Array, valid: Array, out: Array) -> int:
    """Take the maximum of panes of 60, and that of the last 60 panes."""
    panes = -(-len(x) // 60)
    most = np.full(panes, -np.inf)
    for i in range(len(x)):
        if valid[i]:
            most[i // 60] = max(most[i // 60], x[i])
    for pane in range(panes):
        found = most[pane]
        for other in range(max(0, pane - 59), pane):
            found = max(found, most[other])
        out[pane] = found
    return panes


def hop_dense(x: Array, out: Array) -> int:
    """Sum panes of 60 samples that are all there."""
    panes = -(-len(x) // 60)
    totals = np.zeros(panes)
    for pane in range(panes):
        total = 0.0
        for i in range(60 * pane, min(60 * pane + 60, len(x))):
            total += x[i]
        totals[pane] = total
    total = 0.0
    for pane in range(panes):
        total += totals[pane]
        if pane >= 60:
            total -= totals[pane - 60]
        rows = min(60 * pane + 60, len(x)) - max(0, 60 * pane - 3540)
        out[pane] = total / rows
    return panes
