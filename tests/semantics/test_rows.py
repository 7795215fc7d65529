"""Row objects: the compiler against the interpreter, over random queries.

Each case has its own chunk length, workers, layout, passes and strategies.
"""

from random import Random

import pytest

from tests.compiled import random_setting
from tests.random.held_rows import with_held_rows
from tests.random.open_windows import open_windows
from tests.random.row_queries import random_row_case
from tests.random.row_structs import with_row_structs
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source

CASES, BATCH, DEEPER = 7, 7, 430
STRUCTS = 22


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_queries_over_rows(batch: int, *, deep: bool) -> None:
    for start in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(start, start + BATCH):
            exact = seed % 5 != 0
            case = random_row_case(seed, exact=exact, specials=seed % 15 == 1)
            if seed % 4 == 1:
                case = with_held_rows(case, seed)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=exact)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


def test_random_queries_over_rows_with_open_windows(*, deep: bool) -> None:
    checked = 0
    for seed in range(CASES * (DEEPER if deep else 1)):
        case = open_windows(random_row_case(seed, exact=True), seed)
        if case is not None:
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"
            checked += 1
    assert checked > CASES // 5


def test_random_row_objects_of_structs(*, deep: bool) -> None:
    """Windows see their fields as they see scalars, by row too."""
    checked = 0
    for seed in range(STRUCTS * (DEEPER if deep else 1)):
        opened = open_windows(random_row_case(seed, exact=True), seed)
        case = None if opened is None else with_row_structs(opened)
        if case is not None:
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"
            checked += 1
    assert checked > STRUCTS // 8


def test_random_queries_over_rows_are_sound_texts() -> None:
    for seed in range(50):
        query = random_row_case(seed, exact=True).query
        verify_source(query)
        assert parse(format_query(query)) == query
