"""The pool of memory: pages are kept, nobody gets what another still has."""

import gc
import mmap
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import steps
from tiltpy.costs import MemoryCosts
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.pool import (
    HUGE_PAGE,
    POOL,
    Pool,
    ScratchArrays,
    size_class,
)
from tiltpy.types import F32, F64, I64, U8

BYTES = np.dtype(np.uint8)
MIB = 1 << 20

SMALL, HUGE = MemoryCosts().pooled_bytes, MemoryCosts().huge_page_bytes


def place(array: memory.Array) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_region_serves_again_when_its_last_view_has_gone() -> None:
    pool = Pool(64 * MIB)
    array = pool.take(BYTES, MIB)
    first = place(array)
    view = array.view(np.int64)[7:9]
    column = pa.py_buffer(view)
    assert (pool.in_use, pool.idle) == (MIB, 0)
    del array, view
    assert (pool.in_use, pool.idle) == (MIB, 0)
    assert place(pool.take(BYTES, MIB)) != first
    del column
    assert (pool.in_use, pool.idle) == (0, 2 * MIB)
    again = pool.take(np.dtype(np.float64), MIB // 8 - 100)
    assert place(again) == first
    assert again.size == MIB // 8 - 100
    assert again.dtype == np.float64
    again[:] = 1.5


def test_idle_memory_is_bounded() -> None:
    pool = Pool(4 * MIB)
    arrays = [pool.take(BYTES, MIB) for _ in range(10)]
    arrays.append(pool.take(BYTES, 2 * MIB))
    assert (pool.in_use, pool.idle) == (12 * MIB, 0)
    arrays.clear()
    assert pool.in_use == 0
    assert pool.idle <= 4 * MIB
    big = pool.take(BYTES, 5 * MIB)
    assert pool.in_use == 5 * MIB
    del big
    assert pool.idle == 0
    keep = pool.take(BYTES, MIB)
    del keep
    assert pool.idle == MIB
    pool.release()
    assert pool.idle == 0


@pytest.mark.parametrize("size", [SMALL, HUGE - 1, HUGE, HUGE + 1, 3 * HUGE])
def test_regions_are_large_enough_and_huge_ones_aligned(size: int) -> None:
    array = Pool(MIB).take(BYTES, size)
    array[:] = 1
    assert int(array.sum()) == size
    if size >= HUGE and sys.platform == "linux":
        assert place(array) % HUGE_PAGE < mmap.PAGESIZE
        assert place(array) % 64 == 0
    assert size <= size_class(size) <= size * 5 // 4 + 4096


def test_regions_that_lie_side_by_side_have_other_colors() -> None:
    """A cache has few places for addresses that are equal within a page."""
    pool = Pool(MIB)
    arrays = [pool.take(BYTES, HUGE) for _ in range(8)]
    assert len({place(array) % mmap.PAGESIZE for array in arrays}) == len(arrays)


def test_many_threads_never_share() -> None:
    pool = Pool(8 * MIB)

    def work(seed: int) -> None:
        draws = Random(seed)  # noqa: S311
        held: list[memory.Array] = []
        for number in range(300):
            mark = seed * 1000 + number
            array = pool.take(np.dtype(np.int64), draws.choice((SMALL, 2 * SMALL)) // 8)
            array[::512] = mark
            held.append(array)
            if draws.random() < 0.6:
                gone = held.pop(draws.randrange(len(held)))
                assert (gone[::512] == gone[0]).all()
            if draws.random() < 0.02:
                gc.collect()
        for array in held:
            assert (array[::512] == array[0]).all()

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work, seed) for seed in range(4)]:
            done.result()
    gc.collect()
    pool.release()
    assert (pool.in_use, pool.idle) == (0, 0)


def test_the_collector_may_run_while_the_pool_is_locked() -> None:
    """An array in a cycle is freed by whoever allocates next, the pool perhaps."""
    pool = Pool(8 * MIB)
    cycle: list[object] = [pool.take(BYTES, MIB)]
    cycle.append(cycle)
    lock = pool._lock
    with lock:
        del cycle
        gc.collect()  # must not wait for the lock that this very thread holds
        assert pool.in_use == MIB
    other = pool.take(BYTES, 2 * MIB)
    assert pool.in_use == other.nbytes
    assert pool.idle == MIB
    assert threading.active_count() >= 1


def test_scratch_is_kept_but_not_for_another_type() -> None:
    scratch = ScratchArrays()
    first = scratch.take(("a", 0), F32, 100)
    assert scratch.take(("a", 0), F32, 50) is first
    assert scratch.take(("a", 0), F64, 50).dtype == np.float64
    assert scratch.take(("b", 0), I64, 10**6).size == 10**6


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = POOL.in_use + pa.total_allocated_bytes() + 10 * MIB
    monkeypatch.setattr(memory, "physical_memory", lambda: limit)
    held = memory.allocate(U8, 8 * MIB)
    with pytest.raises(tilt.DataError, match="do not fit into memory"):
        memory.allocate(U8, 8 * MIB)
    with pytest.raises(tilt.DataError, match="do not fit into memory"):
        memory.allocate(U8, 1 << 62)
    del held
    assert memory.allocate(U8, 8 * MIB).size == 8 * MIB


def test_memory_that_the_system_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "physical_memory", lambda: 1 << 70)
    before = POOL.in_use
    with pytest.raises(tilt.DataError, match="do not fit into memory"):
        memory.allocate(U8, 1 << 60)
    assert POOL.in_use == before


def test_results_give_their_memory_back() -> None:
    query = tilt.parse("input x : f64\n~o[t] = sum(~x[t-3:t])")
    frame = steps([float(i) for i in range(100_000)])
    gc.collect()
    before = POOL.in_use
    result = query.run(x=frame)
    assert POOL.in_use > before
    table = result.to_arrow()
    values = max(table["o"].chunks, key=len).to_numpy()
    del result, table
    assert POOL.in_use > before
    assert values[900] == values[899] + 3.0
    del values
    gc.collect()
    assert POOL.in_use == before
