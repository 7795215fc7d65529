"""Windows of few rows: those of one row beside those of none and of many.

Each special value stands alone in a window, too, where no lane is beside it.
"""

from itertools import pairwise
from math import inf, nan
from random import Random

import pytest

from tests.plain import check_engines
from tiltpy.interpreter.evaluate import Value

SPECIAL = (-0.0, 0.0, inf, -inf, nan, 1e308, 5e-324)
NAMES = "count first last min max sum product mean rms var std skew"
COUNTS = (0, 1, 1, 1, 2, 3, 15, 16, 17, 40)
WINDOW = 100


def some_rows(length: int, seed: int) -> list[tuple[int, int, Value]]:
    """Rows of `length` ticks at most, so many in each window as `COUNTS` draws."""
    random = Random(seed)  # noqa: S311
    rows: list[tuple[int, int, Value]] = []
    for window in range(30):
        stamps = sorted(random.sample(range(WINDOW), random.choice(COUNTS)))
        for stamp, after in pairwise([*stamps, WINDOW]):
            start = window * WINDOW + stamp
            end = start + min(length, after - stamp)
            value = random.choice((*SPECIAL, random.gauss(0, 9)))
            rows.append((start, end, value))
    return rows


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize("length", [1, 7, 1000])
@pytest.mark.parametrize("element", ["~x[{}]", "v * v for v in ~x[{}] if v > 0"])
def test_each_is_folded_as_in_lanes(name: str, length: int, element: str) -> None:
    window = element.format(f"t-{WINDOW} : t")
    text = f"input x : f64\nt = TDom(-∞, ∞, {WINDOW})\n~o[t] = {name}({window})"
    check_engines(text, {"x": some_rows(length, len(name) + length)})
