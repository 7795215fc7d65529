"""Values that nothing reads, since the branch is never taken, but that still cut."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.random.folds import random_fold_case
from tests.random.grids import random_grid_case, random_grid_setting
from tests.random.matches import random_match_case
from tests.random.present import random_present_case
from tests.random.queries import Case, random_case
from tests.random.row_queries import random_row_case
from tests.random.unread import with_unread_values
from tests.semantics.test_properties import check
from tiltpy.errors import QueryError

CASES: dict[str, Callable[[int], Case | None]] = {
    "plain": lambda seed: random_case(seed, exact=True),
    "grids": lambda seed: random_grid_case(seed, exact=True),
    "rows": lambda seed: random_row_case(seed, exact=True),
    "folds": random_fold_case,
    "matches": random_match_case,
    "present": lambda seed: random_present_case(seed, opened=seed % 2 == 0),
}
NUMBER, DEEPER = 3, 400


@pytest.mark.parametrize("kind", CASES)
def test_random_cases_with_unread_values(kind: str, *, deep: bool) -> None:
    for seed in range(NUMBER * (DEEPER if deep else 1)):
        drawn = CASES[kind](seed)
        if drawn is None:
            continue
        case, random = with_unread_values(drawn, seed), Random(seed)  # noqa: S311
        setting = random_setting(random, span=80)
        if kind == "grids":
            setting = random_grid_setting(random, case)
        elif seed % 2:
            setting = replace(setting, special_shapes=True, small=True)
        try:
            difference = check(case, setting, exact=True)
        except QueryError as error:
            assert error.code == "E0109", error  # noqa: PT017
            continue
        assert difference is None, f"{kind} {seed}, {setting}\n{difference}"


WINDOWS = {
    "of a count by key": "count(v for v in ~x[t-300 : t] if v == ~x[t])",
    "of a count by rank": "count(v for v in ~x[-∞ : t] if v < ~x[t])",
    "of a sum beside the present": "sum(v for v in ~x[-∞ : t] if v < ~x[t])",
    "that folds on": "sum(~x[-∞ : t])",
}


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_that_only_cut(window: str) -> None:
    rows = 6000
    frame = pa.table({"ts": np.arange(rows), "x": np.arange(rows) % 5 / 8})
    text = f"""
        input x : f64 time ts point
        param smooth : bool = false
        t = TDom(-∞, ∞, 2)
        ~o[t] = smooth ? f64({WINDOWS[window]}) : 1.0"""
    plain = tilt.CompileOptions(disabled_passes=frozenset({"fold_constants"}))
    found, expected = (
        tilt.parse(text, options=options).run(x=frame)["o"].to_arrow()
        for options in (tilt.CompileOptions(), plain)
    )
    assert found.equals(expected)
