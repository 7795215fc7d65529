"""Cells of keys become snapshots, as one by one."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import JOIN_CELLS

LENGTH = 10


@given(st.integers(0, 6), st.integers(1, 5), st.data())
def test_neighbouring_cells_are_joined(
    keys: int, cells: int, data: st.DataObject
) -> None:
    width = keys + 2
    flags = st.lists(st.booleans(), min_size=cells * width, max_size=cells * width)
    covered, begins = (np.array(data.draw(flags), np.bool_) for _ in range(2))
    places = data.draw(
        st.lists(st.integers(0, width - 1), min_size=keys, max_size=keys, unique=True)
    )
    ranges = []
    for _ in range(keys):
        first = data.draw(st.integers(0, cells))
        stop = data.draw(st.integers(first, cells))
        low = data.draw(st.integers(0, cells * LENGTH - 1))
        ranges.append((first, stop, low, data.draw(st.integers(low + 1, 99))))
    columns = [np.array([each[n] for each in ranges], np.int64) for n in range(4)]
    edges = np.arange(cells + 1, dtype=np.int64) * LENGTH
    most = keys * cells + 1
    starts, ends, entries = (np.full(most, -1, np.int64) for _ in range(3))
    counts = np.full(keys + 1, -1, np.int64)
    JOIN_CELLS(
        keys,
        width,
        np.array(places, np.int64),
        *(*columns, edges, covered, begins),
        *(starts, ends, entries, counts),
    )
    expected: list[list[tuple[int, int, int]]] = []
    for place, (first, stop, low, high) in zip(places, ranges, strict=True):
        made: list[tuple[int, int, int]] = []
        before = False
        for cell in range(first, stop):
            entry = cell * width + place
            if covered[entry]:
                end = min((cell + 1) * LENGTH, high)
                if before and not begins[entry]:
                    made[-1] = (made[-1][0], end, made[-1][2])
                else:
                    made.append((max(cell * LENGTH, low), end, entry))
            before = bool(covered[entry])
        expected.append(made)
    assert counts.tolist() == [*map(len, expected), -1]
    written = zip(starts.tolist(), ends.tolist(), entries.tolist(), strict=True)
    flat = [each for made in expected for each in made]
    assert list(written)[: len(flat)] == flat
    assert starts[-1] == ends[-1] == entries[-1] == -1
