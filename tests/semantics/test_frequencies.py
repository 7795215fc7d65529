"""Random queries of the most frequent values, with every way to run them."""

from dataclasses import replace
from random import Random

import pytest

from tests.compiled import random_setting
from tests.random.frequencies import random_frequency_case
from tests.random.held_rows import with_held_rows
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 4, 4, 525


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_frequencies(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_frequency_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            if seed % 4 == 1:
                case = with_held_rows(case, seed)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            setting = replace(setting, small=bool(seed % 5))
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"
