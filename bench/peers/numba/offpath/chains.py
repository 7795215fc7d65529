"""Loops for many definitions over one signal."""

import numpy as np

from bench.outcome import Array


def scalars(x: Array, links: int, out: Array) -> int:
    """Halve and add, link by link."""
    for i in range(len(x)):
        value = x[i]
        for link in range(links):
            value = value * 0.5 + link
        out[i] = value
    return len(x)


def conditionals(x: Array, links: int, out: Array) -> int:
    """Halve what is greater, add to what is not."""
    for i in range(len(x)):
        value = x[i]
        for link in range(links):
            value = value * 0.5 if value > link else value + link
        out[i] = value
    return len(x)


def means_of_means(x: Array, links: int, size: int, out: Array) -> int:
    """Run over the whole signal once for each link."""
    here, there = x.copy(), np.empty_like(x)
    for _ in range(links):
        total = 0.0
        for i in range(len(x)):
            total += here[i]
            if i >= size:
                total -= here[i - size]
            there[i] = total / min(i + 1, size)
        here, there = there, here
    out[: len(x)] = here
    return len(x)


def means(x: Array, out: Array) -> int:
    """Keep a running sum for each output, of 2 samples and more."""
    totals = np.zeros(len(out))
    for i in range(len(x)):
        for k in range(len(out)):
            size = k + 2
            totals[k] += x[i]
            if i >= size:
                totals[k] -= x[i - size]
            out[k, i] = totals[k] / min(i + 1, size)
    return len(x)


def ema(x: Array, alpha: float, out: Array) -> int:
    """Let the sum and the weights decay."""
    total, weights = 0.0, 0.0
    for i in range(len(x)):
        total = total * (1 - alpha) + x[i]
        weights = weights * (1 - alpha) + 1
        out[i] = total / weights
    return len(x)


def indicators(
    x: Array,
    sma: Array,
    lower: Array,
    upper: Array,
    rsi: Array,
    line: Array,
    signal: Array,
) -> int:
    """SMA 20, Bollinger's bands, RSI 14 and MACD, all in one pass."""
    total, squares, up, moved = 0.0, 0.0, 0.0, 0.0
    fast, slow, smooth = 0.0, 0.0, 0.0
    fast_weights, slow_weights, smooth_weights = 0.0, 0.0, 0.0
    a, b, c = 1 - 2 / 13, 1 - 2 / 27, 1 - 2 / 10
    for i in range(len(x)):
        total += x[i]
        squares += x[i] * x[i]
        if i >= 20:
            total -= x[i - 20]
            squares -= x[i - 20] * x[i - 20]
        rows = min(i + 1, 20)
        mean = total / rows
        deviation = np.sqrt(max(0.0, squares / rows - mean * mean))
        sma[i] = mean
        lower[i] = mean - 2 * deviation
        upper[i] = mean + 2 * deviation
        if i > 0:
            change = x[i] - x[i - 1]
            changes = min(i, 14)
            up += (max(change, 0.0) - up) / changes
            moved += (abs(change) - moved) / changes
        rsi[i] = np.nan if i < 14 else 50.0 if moved == 0 else 100 * up / moved
        fast, fast_weights = fast * a + x[i], fast_weights * a + 1
        slow, slow_weights = slow * b + x[i], slow_weights * b + 1
        apart = fast / fast_weights - slow / slow_weights
        smooth, smooth_weights = smooth * c + apart, smooth_weights * c + 1
        line[i] = apart
        signal[i] = smooth / smooth_weights
    return len(x)
