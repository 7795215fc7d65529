"""Random queries that look at windows as a whole, with every way to run them."""

from dataclasses import replace
from random import Random

import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.plain import steps
from tests.random.whole_windows import random_whole_case
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 5, 5, 400


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_whole_windows(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_whole_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_setting(Random(seed), span=400)  # noqa: S311
            setting = replace(setting, small=bool(seed % 3))
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("condition", ["v == φ", "v < 0"])
@pytest.mark.parametrize("reduction", ["nunique(*)", "quantile(*, 0.3)", "modes(*, 2)"])
def test_a_window_of_which_nothing_contributes_is_null(
    reduction: str, condition: str
) -> None:
    elements = f"v for v in ~x[t-3 : t] if {condition}"
    query = tilt.parse(f"input x : i64\n~o[t] = {reduction.replace('*', elements)}")
    assert query.run(x=steps([3, 4, 7, 9], "i64")).num_rows == 0
