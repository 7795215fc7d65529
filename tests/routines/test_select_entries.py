"""Selected entries are copied, and little is written behind them."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import SELECT_ENTRIES, SPARE


@given(st.lists(st.booleans(), max_size=100))
def test_selected_numbers_are_copied(flags: list[bool]) -> None:
    selected = np.array(flags, np.bool_)
    source = np.arange(len(flags), dtype=np.int64) * 7
    count = int(selected.sum())
    target = np.full(count + SPARE + 2, -1, np.int64)
    SELECT_ENTRIES(len(flags), source, selected, target)
    assert target[:count].tolist() == source[selected].tolist()
    assert target[-2:].tolist() == [-1, -1]
