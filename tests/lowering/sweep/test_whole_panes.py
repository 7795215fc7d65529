"""Panes of thousands of rows that are looked at as a whole, beside NumPy and Python.

Their values are in orders that are bad for one pivot or another, few or all different.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt

ROWS, HOP = 12_000, 3_000
Values = np.ndarray[tuple[int], np.dtype[np.float64]]


def orders() -> dict[str, Values]:
    random = np.random.default_rng(7)
    rising = np.arange(ROWS, dtype=np.float64)
    return {
        "random": random.normal(size=ROWS),
        "rising": rising,
        "falling": -rising,
        "equal": np.full(ROWS, 2.5),
        "saw": rising % 777,
        "organ pipe": np.minimum(rising, ROWS - rising),
        "few": random.integers(0, 4, ROWS).astype(np.float64),
        "large": random.integers(-(2**52), 2**52, ROWS) * 512.0,
    }


@pytest.mark.covering(1)
@pytest.mark.parametrize("lifetime", ["sampled 1", "interval (start, end)"])
@pytest.mark.parametrize("order", orders())
@pytest.mark.parametrize("kind", ["f64", "f32", "i64"])
@pytest.mark.parametrize("panes", [1, 2])
def test_any_order(order: str, kind: str, panes: int, lifetime: str) -> None:
    values = orders()[order].astype(kind.replace("f", "float").replace("i64", "int64"))
    window = f"~x[w-{panes * HOP} : w]"
    text = f"""input x : {kind} {lifetime}
        w = TDom(-∞, ∞, {HOP})
        ~o[w] = {{
            middle = median({window}), high = quantile({window}, 0.99),
            fifth = topk({window}, 5).top5, last = topk({window}, 64).top64,
            n = nunique({window}), most = mode({window}),
            times = modes({window}, 2).count2
        }}"""
    ends = np.arange(1, ROWS + 1)
    table = pa.table({"start": ends - 1, "end": ends, "x": values})
    frame = tilt.sampled(values, 0, 1) if "sampled" in lifetime else table
    rows = tilt.parse(text).run(x=frame).to_arrow().to_pylist()
    assert len(rows) == ROWS // HOP
    for number, row in enumerate(rows, 1):
        pane = values[max(0, number - panes) * HOP : number * HOP]
        ranked, counts = np.sort(pane), Counter(pane.tolist()).most_common(2)
        assert row["middle"] == np.median(pane.astype(np.float64))
        high = np.quantile(pane.astype(np.float64), 0.99)
        np.testing.assert_allclose(row["high"], high, 1e-12)
        assert [row["fifth"], row["last"]] == [ranked[-5], ranked[-64]]
        assert [row["n"], row["most"]] == [len(set(pane.tolist())), counts[0][0]]
        assert row["times"] == (counts[1][1] if len(counts) > 1 else None)
