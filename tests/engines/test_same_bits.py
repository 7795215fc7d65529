"""Floats are added up alike wherever a run, a chunk or a batch begins."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import costing
from tiltpy.costs import RunCosts

ROWS = 40_000
Floats = npt.NDArray[np.float64]

Draw = Callable[[np.random.Generator], npt.NDArray[np.int64]]
TIMES: dict[str, tuple[str, Draw]] = {
    "sampled": ("sampled 1", lambda _: np.arange(1, ROWS + 1)),
    "regular": ("point", lambda _: np.arange(1, ROWS + 1)),
    "holes": ("point", lambda random: np.flatnonzero(random.random(ROWS) > 0.01) + 1),
    "points": ("point", lambda random: np.cumsum(random.integers(1, 21, ROWS))),
    "ties": ("point", lambda random: np.sort(random.integers(1, 5 * ROWS, ROWS))),
    "states": ("until_next", lambda random: np.cumsum(random.integers(1, 21, ROWS))),
}
"""Lifetimes, and stamps of rows."""

OBJECTS = {
    "mean": "~o[t] = mean(~x[t-500:t])",
    "long": "~o[t] = sum(~x[t-5000:t])",
    "std": "~o[t] = std(~x[t-300:t])",
    "difference": "~o[t] = mean(~x[t-10:t]) - mean(~x[t-200:t])",
    "nested": "~m[t] = mean(~x[t-300:t])\n~o[t] = std(~m[t-40:t])",
    "hops": "g = TDom(-inf, inf, 60)\n~o[g] = sum(~x[g-600:g])",
    "few at events": "~o[t] = ~x[t] != φ ? mean(~x[t-7:t]) : φ",
    "few before events": "~o[t] = ~x[t] - sum(~x[t-12:t-1])",
    "few moments": "~o[t] = ~x[t] != φ ? std(~x[t-6:t]) : φ",
    "rows": "e = Rows(~x)\n~o[e] = mean(~x[e-700:e])",
}


def batches(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a table, so many at a time."""
    for first in range(0, table.num_rows, rows):
        yield table.slice(first, rows)


def bits_of(table: pa.Table) -> list[npt.NDArray[np.int64]]:
    """The columns of a table as integers; nulls are zeros."""
    columns = (column.fill_null(0).to_numpy() for column in table.columns)
    return [column.view(np.int64) for column in columns]


@pytest.mark.covering(1)
@pytest.mark.parametrize("body", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("layout", TIMES)
def test_seams_change_no_bit(layout: str, body: str) -> None:
    random = np.random.default_rng(7)
    lifetime, draw = TIMES[layout]
    times = draw(random)
    magnitudes = 10.0 ** random.integers(-3, 4, len(times))
    values: Floats = random.normal(size=len(times)) * magnitudes
    table = pa.table({"time": times, "x": values})
    query = tilt.parse(f"input x : f64 {lifetime}\n{body}\noutput ~o")
    whole = query.run(x=table).to_arrow()
    expected = bits_of(whole)
    for chunk, workers in ((1000, 1), (7777, 2), (100_000, 1)):
        chunks = query.run(x=table, chunk=chunk, workers=workers).to_arrow()
        for one, other in zip(bits_of(chunks), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    for rows in (3001, 17_000):
        several = query.stream(x=batches(table, rows), memory="2MB")
        streamed = pa.concat_tables([result.to_arrow() for result in several])
        for one, other in zip(bits_of(streamed), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    later = int(times[len(times) // 3])
    cut = query.run(x=table, start=later).to_arrow()
    begun = later + 16 * 60  # the last cell that the vector kernel may leave, at most
    ends, from_start = whole["end"].to_numpy(), cut["end"].to_numpy()
    assert np.array_equal(
        whole["o"].to_numpy()[ends > begun],
        cut["o"].to_numpy()[from_start > begun],
    )


EXACT_MEANS = {
    "mean": "~o[t] = mean(~x[t-500:t])",
    "hops": "g = TDom(-inf, inf, 60)\n~o[g] = mean(~x[g-600:g])",
    "at events": "~o[t] = ~x[t] != φ ? mean(~x[t-70:t]) : φ",
}


@pytest.mark.parametrize("scalar", ["i32", "i64"])
@pytest.mark.parametrize("body", EXACT_MEANS.values(), ids=EXACT_MEANS)
@pytest.mark.parametrize("layout", ["sampled", "points", "holes"])
def test_means_of_integers(layout: str, body: str, scalar: str) -> None:
    """Those of fewer than 64 bits need no blocks of time: their sums are exact."""
    random = np.random.default_rng(9)
    lifetime, draw = TIMES[layout]
    times = draw(random)
    values = random.integers(-(2**31), 2**31, len(times))
    values = values.astype(np.int32) if scalar == "i32" else values << 30
    table = pa.table({"time": times, "x": values})
    query = tilt.parse(f"input x : {scalar} {lifetime}\n{body}\noutput ~o")
    expected = bits_of(query.run(x=table).to_arrow())
    chunks = query.run(x=table, chunk=777, workers=2).to_arrow()
    several = query.stream(x=batches(table, 3001), memory="2MB")
    streamed = pa.concat_tables([result.to_arrow() for result in several])
    session = query.live(x=tilt.ingress(reorder=0))
    updates = [session.push(x=piece) for piece in batches(table, 1500)]
    updates.append(session.finish())
    pushed = pa.concat_tables([update["o"].final.to_arrow() for update in updates])
    for other in (chunks, streamed, pushed):
        for column, known in zip(bits_of(other), expected, strict=True):
            np.testing.assert_array_equal(column, known)


ALL_ENDS = {
    "active": "~o[t] = sum_active(~x[t])",
    "mean": "~o[t] = mean(~x[t-600:t])",
    "hops": "g = TDom(-inf, inf, 60)\n~o[g] = std(~x[g-600:g])",
    "last": "~o[t] = sum(~x[last 20 : t])",
}


@pytest.mark.parametrize("body", ALL_ENDS.values(), ids=ALL_ENDS)
@pytest.mark.parametrize("longest", [1, 500], ids=["points", "any ends"])
def test_workers_change_no_bit(longest: int, body: str) -> None:
    """A worker alone has a single chunk but where sums depend on where chunks begin."""
    random = np.random.default_rng(8)
    starts = np.sort(random.integers(0, 5 * ROWS, ROWS))
    ends = starts + random.integers(1, longest + 1, ROWS)
    values: Floats = random.normal(size=ROWS) * 10.0 ** random.integers(-3, 4, ROWS)
    table = pa.table({"start": starts, "end": ends, "x": values})
    query = tilt.parse(
        f"input x : f64 interval(start, end)\n{body}\noutput ~o",
        options=costing(run=RunCosts(least_chunk_work=1 << 11)),
    )
    alone, shared = (query.run(x=table, workers=n).to_arrow() for n in (1, 2))
    for one, other in zip(bits_of(alone), bits_of(shared), strict=True):
        np.testing.assert_array_equal(one, other)
