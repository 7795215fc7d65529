"""Loops for sampled streams as one would write them at first, for Numba to compile.

Each fills arrays that it is given and returns how many values it found. They are plain
Python, so that tests can run them as they are.
"""

import numpy as np

from bench.outcome import Array

MASK = 63
"""Of an index into a ring buffer, which holds more than Pan-Tompkins looks back to."""


def select(x: Array, out: Array) -> int:
    """`x + 1`."""
    for i in range(len(x)):
        out[i] = x[i] + np.float32(1)
    return len(x)


def where(x: Array, kept: Array, out: Array) -> int:
    """Keep what is positive, and say which."""
    count = 0
    for i in range(len(x)):
        kept[i] = x[i] > 0
        out[count] = x[i]
        count += int(x[i] > 0)
    return count


def tumbling_sum(x: Array, out: Array) -> int:
    """A sum for each 1,000."""
    count = 0
    for low in range(0, len(x), 1000):
        total = 0.0
        for i in range(low, min(low + 1000, len(x))):
            total += x[i]
        out[count] = total
        count += 1
    return count


def sliding_sum(x: Array, out: Array) -> int:
    """A running sum that adds what comes and subtracts what goes."""
    total = 0.0
    for i in range(min(1000, len(x))):
        total += x[i]
        out[i] = total
    for i in range(1000, len(x)):
        total += x[i] - x[i - 1000]
        out[i] = total
    return len(x)


def sliding_max(x: Array, out: Array) -> int:
    """A queue of candidates in falling order: the textbook's way."""
    queue = np.empty(1024, np.int64)
    head, size = 0, 0
    for i in range(len(x)):
        if size > 0 and queue[head] <= i - 1000:
            head = (head + 1) & 1023
            size -= 1
        while size > 0 and x[queue[(head + size - 1) & 1023]] <= x[i]:
            size -= 1
        queue[(head + size) & 1023] = i
        size += 1
        out[i] = x[queue[head]]
    return len(x)


def aligned_join(a: Array, b: Array, out: Array) -> int:
    """`a + b`."""
    for i in range(len(a)):
        out[i] = a[i] + b[i]
    return len(a)


def trading(x: Array, out: Array) -> int:
    """Two running sums, compared as means."""
    short, long = 0.0, 0.0
    for i in range(min(50, len(x))):
        short += x[i]
        long += x[i]
        if i >= 20:
            short -= x[i - 20]
        out[i] = short / min(i + 1, 20) > long / (i + 1)
    for i in range(50, len(x)):
        short += x[i] - x[i - 20]
        long += x[i] - x[i - 50]
        out[i] = short / 20 > long / 50
    return len(x)


def rsi(x: Array, out: Array) -> int:
    """Running sums of the last 14 gains and losses; none for the first sample."""
    gain, loss = np.float64(0), np.float64(0)
    for i in range(1, len(x)):
        step = x[i] - x[i - 1]
        if step > 0:
            gain += step
        else:
            loss -= step
        if i > 14:
            step = x[i - 14] - x[i - 15]
            if step > 0:
                gain -= step
            else:
                loss += step
        out[i - 1] = 100.0 - 100.0 / (1.0 + gain / loss)
    return max(0, len(x) - 1)


def z_score(x: Array, out: Array) -> int:
    """Mean and deviation of each block of 10,000, then its samples by them."""
    for low in range(0, len(x), 10_000):
        high = min(low + 10_000, len(x))
        total = 0.0
        for i in range(low, high):
            total += x[i]
        mean = total / (high - low)
        squares = 0.0
        for i in range(low, high):
            squares += (x[i] - mean) ** 2
        deviation = np.sqrt(squares / (high - low))
        for i in range(low, high):
            out[i] = (x[i] - mean) / deviation
    return len(x)


def impute(x: Array, valid: Array, out: Array) -> int:
    """The mean of what there is in each block of 10,000, then what is missing."""
    for low in range(0, len(x), 10_000):
        high = min(low + 10_000, len(x))
        total, count = 0.0, 0
        for i in range(low, high):
            if valid[i]:
                total += x[i]
                count += 1
        mean = total / count
        for i in range(low, high):
            out[i] = x[i] if valid[i] else mean
    return len(x)


def resample(x: Array, out: Array) -> int:
    """From one in 4 ticks to one in 5, on the line between two samples."""
    count = 4 * len(x) // 5
    for k in range(count):
        time = 5 * (k + 1)
        i = (time - 1) // 4
        ahead = np.float32(4 * (i + 1) - time)
        out[k] = x[i] + (x[i - 1] - x[i]) * ahead / np.float32(4)
    return count


def pan_tompkins(x: Array, out: Array) -> int:
    """All filters of one sample after the other; rings hold what they look back to."""
    sums = np.zeros(MASK + 1, np.float64)
    low = np.zeros(MASK + 1, np.float64)
    high = np.zeros(MASK + 1, np.float64)
    squares = np.zeros(MASK + 1, np.float64)
    first, low_sum, high_sum, total = 0.0, 0.0, 0.0, 0.0
    count = 0
    for i in range(len(x)):
        first += x[i] - (x[i - 6] if i >= 6 else 0.0)
        low_sum += first - (sums[(i - 6) & MASK] if i >= 6 else 0.0)
        sums[i & MASK] = first
        low[i & MASK] = low_sum
        high_sum += low_sum - (low[(i - 32) & MASK] if i >= 32 else 0.0)
        if i < 16:
            continue
        high[i & MASK] = low[(i - 16) & MASK] - high_sum / min(i + 1, 32)
        if i < 20:
            continue
        slope = 2 * high[i & MASK] + high[(i - 1) & MASK]
        slope -= high[(i - 3) & MASK] + 2 * high[(i - 4) & MASK]
        square = (slope / 8) ** 2
        total += square - squares[(i - 30) & MASK]
        squares[i & MASK] = square
        out[count] = total / min(i - 19, 30)
        count += 1
    return count


def vibration(x: Array, kurtosis: Array, rms: Array, crest: Array) -> int:
    """Moments and the largest magnitude of each block of 100."""
    count = 0
    for low in range(0, len(x), 100):
        high = min(low + 100, len(x))
        total, squares, largest = 0.0, 0.0, 0.0
        for i in range(low, high):
            total += x[i]
            squares += x[i] * x[i]
            largest = max(largest, abs(x[i]))
        mean = total / (high - low)
        second, fourth = 0.0, 0.0
        for i in range(low, high):
            square = (x[i] - mean) ** 2
            second += square
            fourth += square * square
        root = np.sqrt(squares / (high - low))
        kurtosis[count] = fourth * (high - low) / (second * second) - 3
        rms[count] = root
        crest[count] = largest / root
        count += 1
    return count


def fraud(x: Array, out: Array) -> int:
    """Mean and deviation of the 10 before, folded anew for each sample."""
    for i in range(1, len(x)):
        low = max(0, i - 10)
        total = 0.0
        for j in range(low, i):
            total += x[j]
        mean = total / (i - low)
        squares = 0.0
        for j in range(low, i):
            squares += (x[j] - mean) ** 2
        out[i - 1] = x[i] > mean + 3 * np.sqrt(squares / (i - low))
    return max(0, len(x) - 1)


def yahoo(x: Array, out: Array) -> int:
    """Count the events of one type among each 100."""
    blocks = 0
    for low in range(0, len(x), 100):
        count = 0
        for i in range(low, min(low + 100, len(x))):
            count += int(x[i] == 1)
        out[blocks] = count
        blocks += 1
    return blocks
