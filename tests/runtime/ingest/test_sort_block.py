"""The order of a block is that of a stable sort."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tiltpy.runtime.ingest import sort_block
from tiltpy.runtime.ingest.sort_block import BLOCK_ROWS, COMPARED_ROWS, order_block

SPANS = [1, 10, 1 << 20, 1 << 40, 1 << 62]


@given(st.data(), st.sampled_from(SPANS))
def test_small_blocks(data: st.DataObject, span: int) -> None:
    times = np.array(data.draw(st.lists(st.integers(-span, span), min_size=1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_block, "COMPARED_ROWS", 0)
        order = order_block(times)
    assert order.tolist() == np.argsort(times, kind="stable").tolist()


@pytest.mark.parametrize("rows", [1000, COMPARED_ROWS + 1, BLOCK_ROWS, BLOCK_ROWS + 1])
@pytest.mark.parametrize("span", SPANS)
def test_large_blocks(rows: int, span: int) -> None:
    times = np.random.default_rng(1).integers(-span, span, rows)
    assert (order_block(times) == np.argsort(times, kind="stable")).all()


@pytest.mark.parametrize("rows", [1000, COMPARED_ROWS + 1])
@pytest.mark.parametrize("span", [1 << 20, 1 << 62])
def test_distinct_numbers(rows: int, span: int) -> None:
    random = np.random.default_rng(2)
    numbers = random.permutation(rows) * (2 * span // rows) - span
    order = order_block(numbers, distinct=True)
    assert (order == np.argsort(numbers, kind="stable")).all()
