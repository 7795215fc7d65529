"""Indices of cells: divisions by products."""

import pytest

from tiltpy.emit.cell_arrays import divide_ticks
from tiltpy.loops.nodes import Bin, Num, Var
from tiltpy.types import U32

TICKS = Var("ticks", U32)


@pytest.mark.parametrize("over", [2, 3, 5, 7, 10, 60, 97, 1000, 65_537])
@pytest.mark.parametrize("limit", [20, 1000, 70_000])
def test_a_product_and_a_shift_divide_all_ticks(over: int, limit: int) -> None:
    quotient = divide_ticks(TICKS, over, limit)
    assert isinstance(quotient, Bin)
    assert isinstance(quotient.right, Num)
    factor = 1
    if quotient.left != TICKS:
        assert isinstance(quotient.left, Bin)
        assert isinstance(quotient.left.right, Num)
        factor = int(quotient.left.right.value)
    by = int(quotient.right.value)
    for ticks in range(limit):
        assert ticks * factor < 2**32
        assert ticks * factor // by == ticks // over
