"""Queries by key against the interpreter: random keys, rows and ways to run them.

Every key must have what its rows alone mean, whatever stands beside it in a batch, and
whether it is one call among many, a run of its own, or folded with all others as the
rows come. `--deep` draws 500 times as many. A failing case prints its seed, its
setting and its query; `python -m tests.plan.keyed_shapes` says what the cases reach.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.costs import LOOP_STARTS
from tests.keyed import KeyedSetting, check_keyed, random_keyed_setting
from tests.random.grids import random_grid_setting
from tests.random.keyed_queries import (
    KeyedCase,
    random_fold_case,
    random_keyed_case,
    random_regular_case,
)
from tests.random.restart_queries import random_restart_case
from tests.random.small_keys import random_small_case

BATCH = 3
NUMBERS = {
    "plain": 6,
    "rounded": 3,
    "open": 3,
    "rows": 3,
    "texts": 3,
    "cells": 3,
    "grids": 3,
    "regular": 3,
    "folds": 3,
    "concatenated": 6,
    "restarting": 6,
    "small": 6,
}
DEEPER = 800

Drawn = tuple[KeyedCase, KeyedSetting]


def plain(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def rounded(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=False)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def open_windows(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=True, open_windows=True)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def over_rows(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0, over_rows=True)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def texts(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0, texts=True)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def over_cells(seed: int) -> Drawn:
    over_rows = seed % 5 == 4
    case = random_keyed_case(seed, exact=True, over_rows=over_rows, over_cells=True)
    return case, random_keyed_setting(Random(seed))  # noqa: S311


def grids(seed: int) -> Drawn:
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0, grid=True)
    random = Random(seed)  # noqa: S311
    setting = random_grid_setting(random, case.without_keys())
    found = random_keyed_setting(random, setting)
    many = random.choice((1, 1, 100, 1 << 15))
    return case, replace(found, sizes=found.sizes | {"many_rows": many})


def regular(seed: int) -> Drawn:
    case = random_regular_case(seed, exact=True, specials=seed % 3 == 0)
    random = Random(seed)  # noqa: S311
    setting = replace(random_grid_setting(random, case.without_keys()), chunk=None)
    found = random_keyed_setting(random, setting)
    batch = random.choice((1, 40, 1 << 17, 1 << 17))
    sizes = {
        "shared_rows": 1 << 21,
        **dict.fromkeys(LOOP_STARTS, 1 << 12),
        "batch_rows": batch,
    }
    found = replace(found, plain=setting, sizes=found.sizes | sizes)
    return case, replace(found, public=False, preaggregate=seed % 10 == 0)


def folds(seed: int) -> Drawn:
    found = random_keyed_setting(Random(seed))  # noqa: S311
    if seed % 4:
        found = replace(
            found, preaggregate=True, plain=replace(found.plain, layout=None)
        )
    return random_fold_case(seed), found


def concatenated(seed: int) -> Drawn:
    """Any of the others, whose keys share a call wherever the query allows it."""
    kinds = plain, regular, over_rows, texts, grids, folds
    case, found = kinds[seed % len(kinds)](seed)
    batch = Random(seed).choice((100, 1 << 17))  # noqa: S311
    sizes = {**dict.fromkeys(LOOP_STARTS, 1), "batch_rows": batch, "many_rows": 1 << 15}
    setting = replace(found.plain, chunk=None, vector=None)
    found = replace(found, plain=setting, sizes=found.sizes | sizes)
    return case, replace(found, preaggregate=False)


def small(seed: int) -> Drawn:
    """Keys that share a call, and have few rows: they are folded in vectors."""
    return random_small_case(seed), _join(seed)


def restarting(seed: int) -> Drawn:
    """Windows of all the past that restart with each of the keys that share a call."""
    return random_restart_case(seed), _join(seed)


def _join(seed: int) -> KeyedSetting:
    """Choose a way to execute a query whose keys share calls."""
    found = random_keyed_setting(Random(seed))  # noqa: S311
    batch = Random(seed).choice((100, 1 << 17, 1 << 17))  # noqa: S311
    sizes = {**dict.fromkeys(LOOP_STARTS, 1), "batch_rows": batch, "many_rows": 1 << 15}
    plain = replace(found.plain, chunk=None, vector=None, layout=None, optimize=True)
    found = replace(found, plain=plain, sizes=found.sizes | sizes)
    return replace(found, preaggregate=False)


CASES: dict[str, Callable[[int], Drawn]] = {
    "plain": plain,
    "rounded": rounded,
    "open": open_windows,
    "rows": over_rows,
    "texts": texts,
    "cells": over_cells,
    "grids": grids,
    "regular": regular,
    "folds": folds,
    "concatenated": concatenated,
    "restarting": restarting,
    "small": small,
}


def check_case(kind: str, seed: int) -> None:
    case, setting = CASES[kind](seed)
    difference = check_keyed(case, setting, exact=kind != "rounded")
    assert difference is None, f"{kind}, seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize(
    ("kind", "batch"),
    [(kind, n) for kind in CASES for n in range(NUMBERS[kind] // BATCH)],
)
def test_keyed_runs_equal_the_interpreter(kind: str, batch: int, *, deep: bool) -> None:
    for first in range(
        batch * BATCH, NUMBERS[kind] * (DEEPER if deep else 1), NUMBERS[kind]
    ):
        for seed in range(first, first + BATCH):
            check_case(kind, seed)


@pytest.mark.parametrize(
    ("kind", "seed"), [("grids", 1001966), ("open", 1000703), ("open", 1002466)]
)
def test_batches_of_keys_without_calls_have_no_visits(kind: str, seed: int) -> None:
    check_case(kind, seed)
