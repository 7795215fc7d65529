"""Windows over vectors without a value: what lies under nulls is never seen."""

from bisect import bisect_left
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt

ROWS = 8192
JUNK = (1e9, float("nan"), float("inf"))


@pytest.mark.parametrize("junk", JUNK)
def test_gaps_of_whole_vectors(junk: float) -> None:
    """Gaps of 16 to 80 samples from any lane on, with junk in the null slots."""
    random = np.random.default_rng(5)
    values = random.normal(size=ROWS)
    valid = np.ones(ROWS, np.bool_)
    first = 40
    for gap, lane in product((15, 16, 17, 31, 32, 48, 80), range(16)):
        begin = first + (lane - first) % 16
        valid[begin : begin + gap] = False
        first = begin + gap + 3
        if first > ROWS - 200:
            break
    stored = np.where(valid, values, junk)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    column = pa.Array.from_buffers(
        pa.float64(), ROWS, [bits, pa.py_buffer(stored)], int((~valid).sum())
    )
    query = tilt.parse("""
        input x : f64 time ts sampled 1
        ~o[t] = {
            last = last(~x[t-60 : t]), first = first(~x[t-60 : t]),
            sum = sum(~x[t-60 : t]), high = max(~x[t-60 : t]),
            std = std(~x[t-60 : t]), count = count(~x[t-60 : t])
        }
        output ~o
    """)
    result = query.run(x=pa.table({"ts": np.arange(1, ROWS + 1), "x": column}))
    rows = result.to_arrow().to_pylist()
    ends = [row["end"] for row in rows]
    for time in range(1, ROWS + 1, 5):
        row = rows[bisect_left(ends, time)]
        assert row["start"] < time
        window = slice(max(0, time - 60), time)
        inside = values[window][valid[window]]
        assert row["count"] == len(inside)
        if len(inside):
            found = [row[name] for name in ("last", "first", "high", "sum", "std")]
            expected = (inside[-1], inside[0], inside.max(), inside.sum(), inside.std())
            assert found == pytest.approx(expected, abs=1e-9)
