"""Queries by key against the interpreter: random keys, rows and ways to run them.

Every key must have what its rows alone mean, whatever stands beside it in a batch, and
whether it is one call among many or a run of its own. `--deep` draws fifty times as
many. A failing case prints its seed, its setting and its query.
"""

from random import Random

import pytest

from tests.keyed import KeyedSetting, check_keyed, random_keyed_setting
from tests.random_grids import random_grid_setting
from tests.random_keys import KeyedCase, random_keyed_case

BATCH = 10
EXACT, ROUNDED, GRIDS = 160, 20, 10
DEEPER = 50


def keyed_case(seed: int, *, grid: bool = False) -> tuple[KeyedCase, KeyedSetting]:
    """The exact case of a seed, and a setting."""
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0, grid=grid)
    random = Random(seed)  # noqa: S311
    plain = random_grid_setting(random, case.one()) if grid else None
    return case, random_keyed_setting(random, plain)


def check_exact_case(seed: int, *, grid: bool = False) -> None:
    case, setting = keyed_case(seed, grid=grid)
    difference = check_keyed(case, setting, exact=True)
    assert difference is None, f"keyed seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(EXACT // BATCH))
def test_keyed_runs_equal_the_interpreter_to_the_bit(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, EXACT * (DEEPER if deep else 1), EXACT):
        for seed in range(first, first + BATCH):
            check_exact_case(seed)


@pytest.mark.parametrize("batch", range(ROUNDED // BATCH))
def test_keyed_runs_equal_the_interpreter_to_rounding(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, ROUNDED * (DEEPER if deep else 1), ROUNDED):
        for seed in range(first, first + BATCH):
            case = random_keyed_case(seed, exact=False)
            setting = random_keyed_setting(Random(seed))  # noqa: S311
            difference = check_keyed(case, setting, exact=False)
            assert difference is None, f"keyed seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(GRIDS // BATCH))
def test_keys_with_grid_kernels_equal_the_interpreter(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, GRIDS * (DEEPER if deep else 1), GRIDS):
        for seed in range(first, first + BATCH):
            check_exact_case(seed, grid=True)
