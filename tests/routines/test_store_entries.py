"""Entries that are copied, the most of them past the caches."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.routines.cache_lines import lines_behind
from tiltpy.array_address import address
from tiltpy.routines.catalogue import COPY_ENTRIES
from tiltpy.routines.prepared_call import PreparedCall


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 17, 1000])
@pytest.mark.parametrize("cached", [0, 3, 1000])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
def test_copies_are_the_entries(rows: int, cached: int, kind: type) -> None:
    cached, bits = min(rows, cached), np.dtype(kind).itemsize * 8
    random = np.random.default_rng(rows)
    entries: NDArray[Any] = (random.random(rows + 1) * 1000).astype(kind)
    copies = lines_behind(cached, rows + 1, np.dtype(kind))
    copies[rows] = 7
    call = PreparedCall(COPY_ENTRIES[bits], 0, 0, 0, 0)
    call(rows, cached, address(entries), address(copies))
    assert np.array_equal(copies[:rows], entries[:rows])
    assert copies[rows] == 7
