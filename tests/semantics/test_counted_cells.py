"""Samples that are counted by value in lanes, against the interpreter.

Random queries, with every way to run them; the tables of long windows against NumPy.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import tiltpy as tilt
from tests.compiled import Setting, random_setting, run_compiled
from tests.plan.shapes import Census
from tests.random.counted_cells import random_counted_case
from tests.random.queries import Case
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 4, 4, 500
ROWS = 20_000


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_counts_of_values(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_counted_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_setting(Random(seed), span=200)  # noqa: S311
            if seed % 4:
                setting = _in_lanes(setting, small=bool(seed % 3))
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


def _in_lanes(setting: Setting, *, small: bool) -> Setting:
    return replace(
        setting,
        vector=True,
        special_shapes=True,
        small=small,
        nulls="samples",
        layout=None,
    )


def test_random_cases_reach_the_counts() -> None:
    census = Census()
    settings = Setting(vector=True, nulls="samples", optimize=False, small=True)

    def execute(case: Case) -> None:
        run_compiled(case, settings)

    for seed in range(8):
        case = random_counted_case(seed)
        census.run(lambda case=case: execute(case))  # type: ignore[misc]
    assert census.counts["lanes: counts by value"] > 1


KINDS: dict[str, Callable[[np.random.Generator], NDArray[np.int64]]] = {
    "few": lambda random: random.integers(0, 100, ROWS),
    "far apart": lambda random: random.integers(0, 50, ROWS) * 10**12 - 10**13,
    "many": lambda random: random.integers(-30_000, 30_000, ROWS),
    "close, then far apart": lambda _: np.arange(ROWS) ** 2,
}
"""Integers that are counted in place, or in a hash table that is built anew."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("length", [2, 15, 700, 5000])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_long_windows(kind: str, length: int) -> None:
    values = KINDS[kind](np.random.default_rng(7))
    query = tilt.parse(
        f"""input x : i64 sampled 1
        ~o[t] = {{
            same = count(v for v in ~x[t-{length} : t] if v == ~x[t]),
            earlier = count(v for v in ~x[t-{length} : t-1] if v == ~x[t]),
            kinds = nunique(~x[t-{length} : t])
        }}"""
    )
    rows = tilt.sampled(pa.table({"x": values}), start=0, period=1)
    found = query.run(x=rows).to_arrow()
    for row in (*range(length, ROWS, 397), ROWS - 1):
        window = values[max(0, row - length + 1) : row + 1]
        same = np.count_nonzero(window == values[row])
        kinds = len(np.unique(window))
        expected = {"same": same, "earlier": same - 1, "kinds": kinds}
        assert {name: found[name][row].as_py() for name in expected} == expected, row
