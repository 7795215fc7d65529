"""Loops over what holds for a time: quotes, intervals that meet or overlap."""

import heapq

import numpy as np

from bench.outcome import Array


def as_of(
    ends: Array,
    price: Array,
    _size: Array,
    quoted: Array,
    bid: Array,
    ask: Array,
    starts: Array,
    stamps: Array,
    out: Array,
) -> int:
    """Follow the quotes with a cursor: one with a trade's stamp counts already."""
    count, row = 0, -1
    for i in range(len(price)):
        while row + 1 < len(bid) and quoted[row + 1] <= ends[i]:
            row += 1
        if row >= 0:
            starts[count] = ends[i] - 1
            stamps[count] = ends[i]
            out[count] = price[i] - (bid[row] + ask[row]) / 2
            count += 1
    return count


def time_mean(
    stamps: Array,
    x: Array,
    size: int,
    step: int,
    starts: Array,
    ends: Array,
    out: Array,
) -> int:
    """Weigh each state by how long it held in the last ticks, every `step` of them."""
    count, drop = 0, 0
    start = stamps[0] - 1
    time = start // step * step + step
    while time - step < stamps[-1]:
        while drop + 1 < len(x) and stamps[drop + 1] - 1 <= time - size:
            drop += 1
        area, i = 0.0, drop
        while i < len(x) and stamps[i] - 1 < time:
            until = time if i + 1 == len(x) else min(time, stamps[i + 1] - 1)
            area += x[i] * (until - max(stamps[i] - 1, time - size))
            i += 1
        starts[count] = max(time - step, start)
        ends[count] = time
        out[count] = area / (time - max(start, time - size))
        count += 1
        time += step
    return count


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
    """Step over whichever interval ends first."""
    count, i, j = 0, 0, 0
    while i < len(a) and j < len(b):
        begin = max(a_starts[i], b_starts[j])
        end = min(a_ends[i], b_ends[j])
        if begin < end:
            starts[count] = begin
            ends[count] = end
            out[count] = a[i] * b[j]
            count += 1
        if a_ends[i] == end:
            i += 1
        if b_ends[j] == end:
            j += 1
    return count


def count_alive(
    begun: Array, ended: Array, _x: Array, starts: Array, ends: Array, out: Array
) -> int:
    """Sort the ends, and merge them with the starts."""
    over = np.sort(ended)
    count, i, j = 0, 0, 0
    time = begun[0]
    while j < len(over):
        while i < len(begun) and begun[i] == time:
            i += 1
        while over[j] == time:
            j += 1
        until = over[j]
        if i < len(begun):
            until = min(until, begun[i])
        starts[count] = time
        ends[count] = until
        out[count] = i - j
        count += 1
        time = until
        if time == over[-1]:
            break
    return count


def most_alive(
    begun: Array,
    ended: Array,
    x: Array,
    size: int,
    starts: Array,
    ends: Array,
    out: Array,
) -> int:
    """Keep a heap of what is in the window; drop what has left when it is on top."""
    over = np.sort(ended) + (size - 1)
    last = over[-1] - (size - 1)
    alive = [(-x[0], ended[0] + (size - 1))]
    count, i, j = 0, 1, 0
    time = begun[0]
    while time < last:
        while i < len(begun) and begun[i] == time:
            heapq.heappush(alive, (-x[i], ended[i] + (size - 1)))
            i += 1
        while over[j] == time:
            j += 1
        while len(alive) > 0 and alive[0][1] <= time:
            heapq.heappop(alive)
        until = min(over[j], last)
        if i < len(begun):
            until = min(until, begun[i])
        if len(alive) > 0:
            starts[count] = time
            ends[count] = until
            out[count] = -alive[0][0]
            count += 1
        time = until
    return count
