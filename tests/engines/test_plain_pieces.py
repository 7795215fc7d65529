"""Pieces that are read as they lie: small ones are copied, large ones are shared."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import default_span_costs
from tiltpy.runtime.incremental import growing_arrays
from tiltpy.runtime.incremental.growing_rows import GrowingRows

LIFETIMES = ("point", "duration 3", "duration 40", "sampled 1")
TYPES = {
    "f64": pa.float64(),
    "f32": pa.float32(),
    "i16": pa.int16(),
    "bool": pa.bool_(),
}
BODIES = (
    "~o[t] = ~x[t] != φ ? count(~x[t-9:t]) : φ",
    "g = TDom(-∞, ∞, 20)\n~o[g] = { a = last(~x[g-40:g]), b = count(~x[g-20:g]) }",
    "e = Rows(~x)\n~o[e] = ~x[e-3]",
    "~o[t] = first(~x[t-20:t+7])",
)


def draw_table(random: np.random.Generator, kind: str, *, nulls: bool) -> pa.Table:
    """Draw rows in order, some of which have one stamp, or lie regularly."""
    count = int(random.integers(1, 400))
    steps = random.choice([1, 1, 1, 0, 2, 50], count) if random.random() < 0.7 else 1
    stamps = np.cumsum(np.full(count, steps) if np.isscalar(steps) else steps) + 10
    values = pa.array(random.integers(0, 2, count), pa.int64()).cast(TYPES[kind])
    if nulls:
        flags = pa.array(random.random(count) < random.choice([0.0, 0.1, 0.9]))
        values = pa.compute.if_else(flags, pa.scalar(None, TYPES[kind]), values)
    return pa.table({"n": values, "time": pa.array(stamps), "other": values})


def cut(table: pa.Table, random: np.random.Generator) -> Iterator[pa.Table]:
    """Cut a table into pieces of any size, some of which have several chunks."""
    first = 0
    while first < table.num_rows:
        rows = int(random.choice([1, 2, 7, 30, 100]))
        piece = table.slice(first, rows)
        if random.random() < 0.2:
            piece = pa.concat_tables(
                [piece.slice(0, rows // 2), piece.slice(rows // 2)]
            )
        if random.random() < 0.2:
            piece = piece.combine_chunks()
        yield piece
        first += rows


def cut_evenly(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    """Cut a table into pieces of so many rows."""
    for first in range(0, table.num_rows, rows):
        yield table.slice(first, rows)


@pytest.mark.parametrize("lifetime", LIFETIMES)
@pytest.mark.parametrize("kind", TYPES)
def test_pieces_give_the_rows_of_a_run(kind: str, lifetime: str, *, deep: bool) -> None:
    """Whatever their sizes, their chunks, their nulls and stamps, and the spans."""
    for seed in range(400 if deep else 12):
        random = np.random.default_rng(seed)
        table = draw_table(random, kind, nulls=seed % 3 == 0)
        body = BODIES[seed % len(BODIES)]
        text = f"unit s\ninput x : {kind} {lifetime} time time\n{body}"
        query = tilt.parse(text)
        expected = query.run(x=tilt.bind(table, column="n")).to_arrow()
        costs = {
            "apart_rows": int(random.choice([3, 20, 1000])),
            "shown_rows": int(random.integers(0, 4)),
            "most_bytes": int(random.choice([100, 3000])),
        }
        with default_span_costs(first_bytes=200, least_bytes=64, **costs):
            x = tilt.bind(cut(table, random), column="n")
            parts = [part.to_arrow() for part in query.stream(x=x)]
        whole = pa.concat_tables(parts)
        assert whole.combine_chunks().equals(expected.combine_chunks()), (seed, text)


@pytest.mark.parametrize("kind", ["f64", "f32", "i16"])
def test_pieces_are_copied_past_the_caches(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large arrays are written so from the first whole cache line on."""
    monkeypatch.setattr(growing_arrays, "FAR_BYTES", 1)
    random = np.random.default_rng(3)
    stamps = np.cumsum(random.integers(1, 5, 4000))
    values = pa.array(random.integers(0, 100, 4000)).cast(TYPES[kind])
    table = pa.table({"time": stamps, "x": values})
    query = tilt.parse(f"input x : {kind} point\n~o[t] = {{ a = ~x[t], b = ~x[t-2] }}")
    expected = query.run(x=table).to_arrow()
    for least in (1, 100):
        sizes = random.integers(least, 3 * least, 4000 // least)
        edges = [*np.minimum(np.cumsum([0, *sizes]), 4000), 4000]
        pieces = (table.slice(first, stop - first) for first, stop in pairwise(edges))
        with default_span_costs(grouped_rows=least, first_bytes=9000, most_bytes=9000):
            whole = pa.concat_tables(
                [part.to_arrow() for part in query.stream(x=pieces)]
            )
        assert whole.combine_chunks().equals(expected.combine_chunks())


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_rows_out_of_order_are_refused_where_they_are(rows: int) -> None:
    stamps = np.arange(100)
    stamps[57] = 55
    table = pa.table({"time": stamps, "x": stamps / 8})
    query = tilt.parse("input x : f64 point\n~o[t] = ~x[t] + 1")
    with (
        default_span_costs(apart_rows=40, first_bytes=100),
        pytest.raises(tilt.DataError, match=r"row 57.*the time is before"),
    ):
        list(query.stream(x=cut_evenly(table, rows)))


@pytest.mark.parametrize("rows", [5000, 70])
def test_pieces_are_copied_once(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones stand in one piece with the rows held, whatever chunks they have."""
    written: list[int] = []
    write = GrowingRows.write

    def count(self: GrowingRows, rows: int, columns: list[int]) -> object:
        made = write(self, rows, columns)
        written.append(rows if made is not None else 0)
        return made

    monkeypatch.setattr(GrowingRows, "write", count)
    stamps = np.cumsum(np.random.default_rng(1).integers(1, 9, 5000))
    whole = pa.table({"time": stamps, "x": stamps / 8})
    table = pa.concat_tables(cut_evenly(whole, rows))
    query = tilt.parse("input x : f64 point\n~o[t] = sum(~x[t-20:t])")
    with default_span_costs(first_bytes=9000, most_bytes=9000):
        list(query.stream(x=cut_evenly(table, 100)))
    assert sum(written) == 5000
    assert all(written)
