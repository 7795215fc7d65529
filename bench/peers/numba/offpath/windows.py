"""Loops with rolling windows over samples that are all there, and over their rates."""

import numpy as np

from bench.outcome import Array


def mean(x: Array, size: int, out: Array) -> int:
    """Keep a running sum."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        if i >= size:
            total -= x[i - size]
        out[i] = total / min(i + 1, size)
    return len(x)


def mean_and_max(x: Array, size: int, means: Array, most: Array) -> int:
    """Keep a running sum, and a queue of candidates in falling order."""
    queue = np.empty(len(x), np.int64)
    head, tail, total = 0, 0, 0.0
    for i in range(len(x)):
        total += x[i]
        if i >= size:
            total -= x[i - size]
            if queue[head] == i - size:
                head += 1
        while tail > head and x[queue[tail - 1]] <= x[i]:
            tail -= 1
        queue[tail] = i
        tail += 1
        means[i] = total / min(i + 1, size)
        most[i] = x[queue[head]]
    return len(x)


def seven(
    x: Array,
    size: int,
    sums: Array,
    means: Array,
    deviations: Array,
    least: Array,
    most: Array,
    firsts: Array,
    lasts: Array,
) -> int:
    """Keep running sums and squares, and a queue each for the least and the most."""
    low, high = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    low_head, low_tail, high_head, high_tail = 0, 0, 0, 0
    total, squares = 0.0, 0.0
    for i in range(len(x)):
        total += x[i]
        squares += x[i] * x[i]
        if i >= size:
            old = x[i - size]
            total -= old
            squares -= old * old
            low_head += int(low[low_head] == i - size)
            high_head += int(high[high_head] == i - size)
        while low_tail > low_head and x[low[low_tail - 1]] >= x[i]:
            low_tail -= 1
        while high_tail > high_head and x[high[high_tail - 1]] <= x[i]:
            high_tail -= 1
        low[low_tail] = high[high_tail] = i
        low_tail += 1
        high_tail += 1
        rows = min(i + 1, size)
        mean = total / rows
        sums[i] = total
        means[i] = mean
        deviations[i] = np.sqrt(max(0.0, squares / rows - mean * mean))
        least[i] = x[low[low_head]]
        most[i] = x[high[high_head]]
        firsts[i] = x[i + 1 - rows]
        lasts[i] = x[i]
    return len(x)


def vwap(
    _open: Array,
    _high: Array,
    _low: Array,
    close: Array,
    volume: Array,
    size: int,
    out: Array,
) -> int:
    """Keep what was paid and what was traded."""
    paid, traded = 0.0, 0.0
    for i in range(len(close)):
        paid += close[i] * volume[i]
        traded += volume[i]
        if i >= size:
            paid -= close[i - size] * volume[i - size]
            traded -= volume[i - size]
        out[i] = paid / traded
    return len(close)


def ten_means(
    a: Array, b: Array, c: Array, d: Array, e: Array, short: int, long: int, out: Array
) -> int:
    """Keep two running sums for each of five columns."""
    columns = (a, b, c, d, e)
    for k in range(5):
        x = columns[k]
        few, many = 0.0, 0.0
        for i in range(len(x)):
            few += x[i]
            many += x[i]
            if i >= short:
                few -= x[i - short]
            if i >= long:
                many -= x[i - long]
            out[k, i] = few / min(i + 1, short)
            out[k + 5, i] = many / min(i + 1, long)
    return len(a)


def correlation(x: Array, y: Array, size: int, there: Array, out: Array) -> int:
    """Keep five running sums."""
    sx, sy, xx, yy, xy = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        sx += x[i]
        sy += y[i]
        xx += x[i] * x[i]
        yy += y[i] * y[i]
        xy += x[i] * y[i]
        if i >= size:
            p, q = x[i - size], y[i - size]
            sx -= p
            sy -= q
            xx -= p * p
            yy -= q * q
            xy -= p * q
        n = min(i + 1, size)
        vary = (n * xx - sx * sx) * (n * yy - sy * sy)
        there[i] = vary > 0
        if vary > 0:
            out[i] = (n * xy - sx * sy) / np.sqrt(vary)
    return len(x)


def integer_mean(x: Array, size: int, out: Array) -> int:
    """Keep a running sum of integers."""
    total = 0
    for i in range(len(x)):
        total += x[i]
        if i >= size:
            total -= x[i - size]
        out[i] = total // min(i + 1, size)
    return len(x)


def three_rates(a: Array, b: Array, c: Array, out: Array) -> int:
    """Take the sample of the slower ones that holds: periods of 10, 100 and 600."""
    count = min(len(a), 10 * len(b), 60 * len(c))
    for i in range(count):
        out[i] = a[i] * b[i // 10] + c[i // 60]
    return count


def two_rates(a: Array, b: Array, out: Array) -> int:
    """Take the slow sample once for its 60 fast ones."""
    for j in range(len(b)):
        for i in range(60 * j, 60 * j + 60):
            out[i] = a[i] * b[j]
    return 60 * len(b)


def resample(x: Array, out: Array) -> int:
    """Draw lines between samples every 3 ticks, and look at each 7."""
    count = 3 * len(x) // 7
    for i in range(count):
        time = 7 * i + 7
        row = (time - 1) // 3
        out[i] = x[row] + (x[row - 1] - x[row]) * (3 * row + 3 - time) / 3
    return count
