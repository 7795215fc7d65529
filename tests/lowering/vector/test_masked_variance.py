"""Variances of a few ticks over irregular rows: what little precision they may cost.

Against the exact variance of what each window holds, found by looking at all rows.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plan.shapes import Census
from tiltpy.costs import Costs

ROWS = 4_200
Draw = Callable[[Random], float]

DRAWS: dict[str, Draw] = {
    "small": lambda draws: draws.gauss(0, 1),
    "far from zero": lambda draws: 1e6 + draws.random(),
    "nearly equal": lambda draws: draws.choice((16777215.0, 16777214.0, 16777213.0)),
    "mostly equal": lambda draws: draws.choice((0.1,) * 20 + (0.3,)),
    "one far off": lambda draws: draws.choice((1.5, 1.25, 1.0, 1.0, 1e7)),
    "two signs": lambda draws: draws.choice((1e8, -1e8, 1.0)),
    "huge": lambda draws: draws.choice((3e38, -3e38, 1e38, 0.0)),
    "tiny": lambda draws: draws.choice((1e-40, 3e-40, 1e-38, 0.0)),
    "of all sizes": lambda draws: draws.gauss(0, 1) * 10.0 ** draws.randint(-30, 15),
}


def rows(draws: Random, kind: str, draw: Draw) -> pa.Table:
    lengths = [1] if kind == "points" else range(1, 8)
    ends, starts, time = [], [], 0
    for _ in range(ROWS):
        if kind != "contiguous" and draws.random() < 0.4:
            time += draws.choice((1, 2, 3, 30))
        starts.append(time)
        time += draws.choice(lengths)
        ends.append(time)
    values = np.array([draw(draws) for _ in starts], np.float32)
    return pa.table({"start": starts, "end": ends, "x": values})


def run(table: pa.Table, scalar: str, size: int) -> pa.Table:
    window = f"~x[t-{size + 1} : t-1]"
    fields = f"var = var({window}), std = std({window}), sample = var({window}, ddof=1)"
    text = f"input x : {scalar} interval (start, end)\n~o[t] = {{ {fields} }}"
    cells = 4 * size  # states or a sweep serve longer windows
    costs = Costs(masked_variance_cells=cells, long_moment_window=cells)
    query = tilt.parse(text, options=tilt.CompileOptions(cache=False, costs=costs))
    found: list[pa.Table] = []
    census = Census()
    census.run(lambda: found.append(query.run(x=table).to_arrow()))
    assert census.counts["spread: of the values"], "another form served"
    inside = np.arange(100, len(found[0]) - 100, 5)  # other kernels make both ends
    return found[0].take(inside)


def held(table: pa.Table, found: pa.Table, size: int) -> list[list[float]]:
    """The values in the windows of the results."""
    starts, ends = table["start"].to_numpy(), table["end"].to_numpy()
    values = table["x"].to_pylist()
    low = np.searchsorted(ends, found["end"].to_numpy() - size - 1, "right")
    high = np.searchsorted(starts, found["end"].to_numpy() - 1, "left")
    return [values[i:j] for i, j in zip(low, high, strict=True)]


def variance(values: list[float], ddof: int = 0) -> Fraction:
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    squares = sum(((one - mean) ** 2 for one in exact), Fraction())
    return squares / (len(exact) - ddof)


def near(one: float, exact: Fraction, scalar: str) -> bool:
    """As near as a few roundings of that type allow."""
    largest = np.finfo(np.float32 if scalar == "f32" else np.float64).max
    if exact > Fraction(float(largest)):
        return math.isinf(one)
    relative, least = (2.0**-19, 2.0**-140) if scalar == "f32" else (2.0**-40, 0.0)
    return abs(one - float(exact)) <= relative * float(exact) + least


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("kind", "size"), [("contiguous", 10), ("intervals", 30), ("points", 10)]
)
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_how_near_variances_are(scalar: str, name: str, kind: str, size: int) -> None:
    draws = Random(f"{name} {kind} {size}")  # noqa: S311
    table = rows(draws, kind, DRAWS[name])
    found = run(table, scalar, size)
    assert len(found) > ROWS // 10
    columns = [found[column].to_pylist() for column in ("var", "std", "sample")]
    windows = held(table, found, size)
    for window, var, std, sample in zip(windows, *columns, strict=True):
        if not window:
            assert (var, std, sample) == (None, None, None)
            continue
        exact = variance(window)
        assert near(var, exact, scalar), window
        assert (var == 0) >= (exact == 0)
        # The root is that of the exact variance, even where an f32 is none.
        root = math.sqrt(exact)
        assert abs(std - root) <= 2.0**-19 * root + 2.0**-140
        if len(window) == 1:
            assert sample is None
        else:
            assert near(sample, variance(window, 1), scalar), window


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_what_is_not_finite_is_seen_while_it_is_there(
    scalar: str, value: float
) -> None:
    draws = Random(1)  # noqa: S311
    table = rows(draws, "intervals", lambda _: value if draws.random() < 0.1 else 2.0)
    found = run(table, scalar, 10)
    seen = set()
    for window, var in zip(
        held(table, found, 10), found["var"].to_pylist(), strict=True
    ):
        finite = all(map(math.isfinite, window))
        seen.add(finite)
        assert var == 0.0 if window and finite else math.isnan(var) if window else True
    assert seen == {False, True}


def test_squares_that_no_double_holds_are_infinite() -> None:
    draws = Random(1)  # noqa: S311
    table = rows(draws, "contiguous", lambda _: 0.0)
    huge = [draws.choice((1e200, -1e200)) for _ in range(ROWS)]
    table = table.set_column(2, "x", pa.array(huge))
    found = run(table, "f64", 10)
    for window, var in zip(
        held(table, found, 10), found["var"].to_pylist(), strict=True
    ):
        assert var == (0.0 if len(set(window)) < 2 else math.inf)
