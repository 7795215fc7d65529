"""Rows put together by code: against a stable sort, in every way that they can lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.ingest.group_by_code import group_rows
from tiltpy.runtime.ingest.packed_sort import fits_packed


def check(codes: NDArray[np.unsignedinteger], size: int) -> None:
    """Group by one thread, and by three, which share the rows."""
    for threads in (1, 3):
        with allow_threads(threads):
            check_groups(codes, size)


def check_groups(codes: NDArray[np.unsignedinteger], size: int) -> None:
    found = group_rows(codes, size)
    order = np.argsort(codes, kind="stable")
    lying = np.array_equal(order, np.arange(len(codes)))
    assert (found.order is None) == lying
    if found.order is not None:
        assert np.array_equal(found.order.rows, order)
    distinct, counts = np.unique(codes, return_counts=True)
    assert np.array_equal(found.codes, distinct)
    assert found.offsets.tolist() == [0, *np.cumsum(counts).tolist()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20)), max_size=12),
    st.sampled_from(
        [(np.uint8, 1), (np.uint16, 1), (np.uint16, 7000), (np.uint32, 2**28)]
        + [(np.uint64, 2**k) for k in (27, 28, 29, 50)]
    ),
    st.booleans(),
)
def test_runs_and_single_rows(
    runs: list[tuple[int, int]], kind: tuple[type[np.unsignedinteger], int], cut: bool
) -> None:
    codes = [code * kind[1] for code, rows in runs for _ in range(1 if cut else rows)]
    check(np.array(codes, kind[0]), 9 * kind[1] + 1)


@pytest.mark.parametrize("size", [1, 3, 300, 70_000, 2**40])
@pytest.mark.parametrize(
    "rows", [CACHE_BLOCK - 1, CACHE_BLOCK, CACHE_BLOCK + 1, 3 * CACHE_BLOCK + 7]
)
@pytest.mark.parametrize("lie", ["anyhow", "sorted", "in runs", "backwards"])
def test_more_rows_than_a_piece(size: int, rows: int, lie: str) -> None:
    random = np.random.default_rng(rows)
    codes = random.integers(0, size, rows).astype(np.min_scalar_type(size - 1))
    match lie:
        case "sorted":
            codes.sort()
        case "in runs":
            codes = np.repeat(codes, random.integers(1, 60, rows))[:rows]
        case "backwards":
            codes = np.sort(codes)[::-1].copy()
        case _:
            pass
    check(codes, size)


def test_what_fits() -> None:
    assert fits_packed(2**41, 2**23)
    assert not fits_packed(2**41 + 1, 2**23)
    assert fits_packed(2**63, 1)
    check(np.array([2**61 - 1, 0, 5, 2**61 - 1], np.uint64), 2**61)


@pytest.mark.parametrize("keys", [3, 1_000, 40_000])
@pytest.mark.parametrize("bits", [0, 1, 20, 64])
def test_codes_of_64_bits(keys: int, bits: int) -> None:
    """Codes that differ in so many of the lowest bits, and one that is far away."""
    random = np.random.default_rng(keys)
    known = random.integers(0, 2**bits, keys, np.uint64)
    known[0] = 2**64 - 1
    check(known[random.integers(0, keys, 50_000)], 2**64)
