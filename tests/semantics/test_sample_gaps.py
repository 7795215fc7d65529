"""Values beside gaps of samples, with every way to run them."""

from random import Random

import pytest

from tests.random.grids import random_grid_setting
from tests.random.sample_gaps import random_gap_case
from tests.semantics.test_properties import check
from tiltpy.aggregates.aggregate import State
from tiltpy.emit.builder import Block
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query
from tiltpy.lowering.vector.doubling_windows import WindowFold

RANDOM, BATCH, DEEPER = 40, 20, 50


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_gaps(
    batch: int, *, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[str] = []
    lift = WindowFold.lift

    def count(self: WindowFold, block: Block, lifted: State) -> None:
        folds.append(self.aggregate.name)
        lift(self, block, lifted)

    monkeypatch.setattr(WindowFold, "lift", count)
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_gap_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_grid_setting(Random(seed), case)  # noqa: S311
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"
    assert folds.count("last.value") + folds.count("first.value") >= BATCH // 2
