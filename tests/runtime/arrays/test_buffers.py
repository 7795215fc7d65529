"""Snapshot buffers: layouts, slices and searches against lists of plain pairs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltpy import types as ty
from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrays.time_layout import find_period, lay_out

Rows = list[tuple[int, int]]


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Events in order of start: of every layout, often enough."""
    n = draw(st.integers(1, 12))
    kind = draw(st.sampled_from(["sampled", "contiguous", "intervals", "any", "fifo"]))
    now, length = draw(st.integers(-20, 20)), draw(st.integers(1, 4))
    found = []
    for _ in range(n):
        if kind in ("contiguous", "intervals"):
            length = draw(st.integers(1, 4))
        if kind == "intervals":
            now += draw(st.integers(0, 3))
        if kind == "any":
            length = draw(st.integers(1, 9))
        found.append((now, now + length))
        if kind in ("any", "fifo"):
            now += draw(st.integers(0, 4))
        else:
            now += length
    return found


def buffer_of(pairs: Rows) -> SnapshotBuffer:
    n = len(pairs)
    valid = np.arange(n + 3) % 3 != 0
    bits = np.packbits(valid, bitorder="little")
    columns = (Column(np.arange(n) * 1.5), Column(np.arange(n), bits, 3))
    starts, ends = (np.array(t, np.int64) for t in zip(*pairs, strict=True))
    return lay_out(starts, ends, columns)


def pairs_of(buffer: SnapshotBuffer) -> Rows:
    starts, ends = buffer.times()
    assert starts.dtype == ends.dtype == np.int64
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def expected_layout(pairs: Rows) -> tuple[TimeLayout, bool]:
    neighbours = list(pairwise(pairs))
    fifo = all(a[1] <= b[1] for a, b in neighbours)
    if any(a[1] > b[0] for a, b in neighbours):
        return TimeLayout.OVERLAPPING, fifo
    if any(a[1] != b[0] for a, b in neighbours):
        return TimeLayout.INTERVALS, True
    if len({end - start for start, end in pairs}) > 1:
        return TimeLayout.CONTIGUOUS, True
    return TimeLayout.SAMPLED, True


@given(rows())
def test_layout_and_times(pairs: Rows) -> None:
    buffer = buffer_of(pairs)
    assert (buffer.layout, buffer.fifo) == expected_layout(pairs)
    assert pairs_of(buffer) == pairs
    assert buffer.bounds() == (pairs[0][0], max(end for _, end in pairs))
    layout = buffer.abi_layout()
    assert (layout.time, layout.fifo) == (buffer.layout, buffer.fifo)
    assert layout.nullable == (False, True)


@given(rows(), st.data())
def test_slices_are_views_of_the_rows(pairs: Rows, data: st.DataObject) -> None:
    buffer = buffer_of(pairs)
    for _ in range(2):  # and a slice of the slice
        first = data.draw(st.integers(0, buffer.n))
        stop = data.draw(st.integers(first, buffer.n))
        part = buffer.slice(first, stop)
        assert pairs_of(part) == pairs_of(buffer)[first:stop]
        for whole, cut in zip(buffer.columns, part.columns, strict=True):
            assert len(cut.values) >= 1
            assert np.shares_memory(whole.values, cut.values)
            expected = whole.values[: buffer.n][first:stop]
            assert cut.values[: part.n].tolist() == expected.tolist()
            assert (
                cut.valid(part.n).tolist() == whole.valid(buffer.n).tolist()[first:stop]
            )
        for times in (part.starts, part.ends):
            assert times is None or len(times) >= 1
        buffer = part


@given(rows(), st.integers(-25, 60), st.integers(-5, 30))
def test_find_covers_what_overlaps(pairs: Rows, low: int, length: int) -> None:
    buffer = buffer_of(pairs)
    high = low + length
    first, stop = buffer.find(low, high)
    assert 0 <= first <= stop <= buffer.n
    hits = [i for i, (s, e) in enumerate(pairs) if s < high and e > low and low < high]
    assert set(hits) <= set(range(first, stop))
    if hits:
        assert first == hits[0]
    if buffer.fifo:
        assert list(range(first, stop)) == hits


def test_empty_buffer() -> None:
    payload = ty.Struct((("a", ty.F32), ("b", ty.BOOL)))
    buffer = SnapshotBuffer.empty(payload)
    assert buffer.bounds() is None
    assert buffer.find(-5, 5) == (0, 0)
    assert pairs_of(buffer) == []
    assert [c.values.dtype for c in buffer.columns] == [np.float32, np.uint8]
    part = buffer.slice(0, 0)
    assert all(len(column.values) == 1 for column in part.columns)


@pytest.mark.parametrize("n", [CACHE_BLOCK, CACHE_BLOCK + 1, 3 * CACHE_BLOCK + 5])
def test_layout_of_many_pieces(n: int) -> None:
    starts = np.arange(n, dtype=np.int64) * 3
    ends = starts + 3
    assert lay_out(starts, ends, ()).layout is TimeLayout.SAMPLED
    assert find_period(starts) == 3
    for at, layout in ((n - 1, TimeLayout.OVERLAPPING), (n // 2, None)):
        later = starts.copy()
        later[at] -= 1
        found = lay_out(later, ends, ())
        assert found.layout is (layout or TimeLayout.OVERLAPPING)
        assert found.fifo
        assert find_period(later) is None
    ends[-2] += 10
    assert not lay_out(starts, ends, ()).fifo


def test_long_rows_are_no_samples() -> None:
    start, end = np.array([-ty.MAX_TIME]), np.array([ty.MAX_TIME])
    buffer = lay_out(start, end, ())
    assert buffer.layout is TimeLayout.CONTIGUOUS
    assert pairs_of(buffer) == [(-ty.MAX_TIME, ty.MAX_TIME)]


@given(st.lists(st.booleans(), max_size=40))
def test_packed_validity(valid: list[bool]) -> None:
    bits = pack_validity(np.array(valid, np.uint8))
    assert (bits is None) == all(valid)
    column = Column(np.zeros(max(1, len(valid))), bits)
    assert column.valid(len(valid)).tolist() == valid
