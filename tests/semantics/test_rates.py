"""Samples of several rates: random queries with every way to run them, far ratios."""

from random import Random
from typing import Any

import numpy as np
import pytest

import tiltpy as tilt
from tests.plan.shapes import Census
from tests.random.rates import random_rate_case, random_rate_setting
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 4, 4, 525


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_rates(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_rate_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_rate_setting(Random(seed))  # noqa: S311 - tests
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("period", [60, 4096, 99_991, 100_000])
def test_samples_that_last_very_long_are_read_in_lanes(period: int) -> None:
    samples, slow = 250_000, 250_000 // period + 2
    random = np.random.default_rng(period)
    a, b = random.integers(-99, 99, samples) / 8, random.integers(-9, 9, slow) / 8
    c = random.integers(-9, 9, 250_000 // 7 + 2) / 8
    query = tilt.parse(
        f"input a : f64 sampled 3\ninput b : f64 sampled {3 * period}\n"
        "input c : f64 sampled 21\n~o[t] = ~a[t] * ~b[t-1] + ~c[t]\noutput ~o"
    )
    inputs: dict[str, Any] = {
        "a": tilt.sampled(a, start=0, period=3),
        "b": tilt.sampled(b, start=-7, period=3 * period),
        "c": tilt.sampled(c, start=-18, period=21),
    }
    census = Census()
    found: list[tilt.Result] = []
    census.run(lambda: found.append(query.run(**inputs)))
    assert census.counts["shape: map"]
    table = found[0].to_arrow()
    times = table["end"].to_numpy()
    assert len(times) >= samples
    expected = (
        a[(times - 1) // 3] * b[(times - 2 + 7) // (3 * period)]
        + c[(times - 1 + 18) // 21]
    )
    assert (table["o"].to_numpy() == expected).all()
