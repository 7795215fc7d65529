"""Sliding windows forget what has left them, whatever the shape of the loop.

Running sums drift, one NaN can poison all that comes after it, variances of running
sums fall below zero. Here a stream slides through windows of several lengths, as
regular samples, without and with gaps, and overlapping with ends in order and not.
"""

import math
from collections.abc import Iterator
from itertools import accumulate
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import tiltpy as tilt
from tests.plain import Rows, held, same_bits
from tiltpy.ops import REDUCTIONS

Floats = NDArray[np.float64]

SAMPLES, GAPLESS, GAPS, IN_ORDER, ANY_ORDER = range(5)
LAYOUTS = {
    SAMPLES: "sampled",
    GAPLESS: "contiguous",
    GAPS: "intervals",
    IN_ORDER: "overlapping",
    ANY_ORDER: "overlapping (ends out of order)",
}
SIZES = (1, 2, 3, 7, 1000)
ROWS = 2500


def laid_out(kind: int, values: Floats) -> Rows:
    """The values as rows of a layout, about a tick each."""
    cells = [float(value) for value in values]
    match kind:
        case 0:
            return [(i, i + 1, v) for i, v in enumerate(cells)]
        case 1:
            ends = [0, *accumulate(1 + (i % 3 == 0) for i in range(len(cells)))]
            return list(zip(ends[:-1], ends[1:], cells, strict=True))
        case 2:
            return [(2 * i, 2 * i + 1, v) for i, v in enumerate(cells)]
        case 3:
            return [(i, i + 3, v) for i, v in enumerate(cells)]
        case _:
            return [(i, i + 3 + 4 * (i % 2), v) for i, v in enumerate(cells)]


def run(
    kind: int, values: Floats, expressions: list[str], scalar: str = "f64"
) -> tuple[Floats, list[list[float | None]]]:
    """The ends of the results, and a column for each expression."""
    fields = ", ".join(f"o{i} = {text}" for i, text in enumerate(expressions))
    query = tilt.parse(f"input x : {scalar}\n~o[t] = {{ {fields} }}")
    frame = held(laid_out(kind, values), scalar)
    assert f"~x: {LAYOUTS[kind]}\n" in query.explain(inputs={"x": frame})
    table = query.run(x=frame, chunk=333).to_arrow()
    columns = [table[f"o{i}"].to_pylist() for i in range(len(expressions))]
    return table["end"].to_numpy(), columns


def windows(kind: int, values: Floats, size: int, ends: Floats) -> Iterator[Floats]:
    """The values in the window at each of some times."""
    rows = laid_out(kind, values)
    starts = np.array([row[0] for row in rows])
    stops = np.array([row[1] for row in rows])
    for end in ends:
        yield values[(starts < end) & (stops > end - size)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_sums_and_means_are_accurate(kind: int, scalar: str) -> None:
    draws = Random(kind)  # noqa: S311
    magnitudes = [10.0 ** draws.randint(-3, 6) for _ in range(ROWS)]
    values = np.array([draws.uniform(-m, m) for m in magnitudes])
    if scalar == "f32":
        values = values.astype(np.float32).astype(np.float64)
    for size in SIZES:
        texts = [f"sum(~x[t-{size}:t])", f"mean(~x[t-{size}:t])"]
        ends, (sums, means) = run(kind, values, texts, scalar)
        step = 1 + len(ends) // 300
        held_then = windows(kind, values, size, ends[::step])
        for window, total, mean in zip(
            held_then, sums[::step], means[::step], strict=True
        ):
            exact, n = math.fsum(window), max(1, len(window))
            if total is None or mean is None:
                assert len(window) == 0
                continue
            relative = (math.log2(n) + 2) * 2.0**-24 if scalar == "f32" else 1e-12
            bound = relative * math.fsum(abs(window))
            assert abs(total - exact) <= bound
            assert abs(mean - exact / n) <= bound / n


FOLDS = [r.name for r in REDUCTIONS.values() if not r.whole and r.result != "bool"]
INTRUDERS = {500: 1e30, 900: math.nan, 1300: math.inf, 1700: -math.inf, 1702: -1e308}


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_what_has_left_a_window_leaves_no_trace(kind: int, size: int) -> None:
    draws = Random(size)  # noqa: S311
    clean = np.array([draws.randint(-64, 64) / 8 for _ in range(ROWS)])
    soiled = clean.copy()
    for row, value in INTRUDERS.items():
        soiled[row] = value
    texts = [f"{name}(~x[t-{size}:t])" for name in FOLDS]
    ends, expected = run(kind, clean, texts)
    same_ends, found = run(kind, soiled, texts)
    assert np.array_equal(ends, same_ends)
    marks = np.zeros(ROWS)
    marks[list(INTRUDERS)] = 1
    touched = [window.any() for window in windows(kind, marks, size, ends)]
    assert 0 < sum(touched) < len(touched)
    for name, ours, theirs in zip(FOLDS, found, expected, strict=True):
        for there, one, other in zip(touched, ours, theirs, strict=True):
            assert there or same_bits(one, other), name


@pytest.mark.parametrize("kind", LAYOUTS)
def test_variances_of_equal_values_are_zero_and_none_is_negative(kind: int) -> None:
    texts = [f"{name}(~x[t-{size}:t])" for name in ("var", "std") for size in SIZES]
    _, columns = run(kind, np.full(ROWS, 0.1), texts)
    assert all(value in (0.0, None) for column in columns for value in column)
    draws = Random(kind)  # noqa: S311
    near = 1e9 + np.array([draws.choice((0.0, 0.0, 0.0, 1e-6)) for _ in range(ROWS)])
    _, columns = run(kind, near, texts)
    assert all(value is None or value >= 0 for column in columns for value in column)
