"""Rows of a reorder buffer come out in the order (start, arrival)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tiltpy.runtime.arrays.views import column_of
from tiltpy.runtime.arrivals import reorder, waiting_rows
from tiltpy.runtime.arrivals.plain_rows import PlainColumns, PlainRows
from tiltpy.runtime.arrivals.reorder import ReorderBuffer
from tiltpy.runtime.arrivals.waiting_rows import TimedRows
from tiltpy.types import BOOL, ENDLESS, I8, I64

Row = tuple[int, int]
"""A start and the number of a row."""
FEW = {"SORTED_ROWS": 8, "MERGED_ROWS": 12, "FEW_SLOTS": 10}
ALWAYS = {"SORTED_ROWS": 0, "FEW_SLOTS": 0}


def make_table(numbers: list[int]) -> pa.Table:
    """Make rows whose columns follow from their numbers: some null, some strings."""
    columns = {
        "number": pa.array(numbers, pa.int64()),
        "small": pa.array([number % 100 for number in numbers], pa.int8()),
        "even": pa.array([number % 2 == 0 for number in numbers], pa.bool_()),
        "maybe": pa.array([n if n % 17 else None for n in numbers], pa.float32()),
        "text": pa.array([str(n) if n % 3 else None for n in numbers], pa.string()),
    }
    return pa.table(columns)


def tabulate_plain(numbers: list[int], starts: list[int]) -> pa.Table:
    """Make rows in ticks, with a payload of numbers and a key."""
    table = make_table(numbers).select(["number", "small", "even", "text"])
    keys = pa.array([f"k{number % 5}" for number in numbers], pa.string())
    return table.set_column(3, "key", keys).add_column(0, "ticks", pa.array(starts))


def make_plain(numbers: list[int], starts: list[int]) -> PlainRows:
    """Make the same rows as a push of few rows is read."""
    table = tabulate_plain(numbers, starts).combine_chunks()
    _, *chunks, key = (column.chunk(0) for column in table.columns)
    scalars = [I64, I8, BOOL]
    payload = list(map(column_of, chunks, scalars))
    columns = PlainColumns(scalars, [0, 1, 2, 3], table.column_names)
    return PlainRows(columns, [np.array(starts)], payload, [key])


def read(pieces: list[TimedRows], *, plain: bool = False) -> list[Row]:
    """Read rows of pieces, and check that their columns are what they were."""
    rows: list[Row] = []
    for piece in pieces:
        numbers, starts = piece.rows["number"].to_pylist(), piece.starts.tolist()
        expected = tabulate_plain(numbers, starts) if plain else make_table(numbers)
        assert piece.rows.equals(expected)
        if piece.steps is not None:
            least, greatest = piece.steps
            assert all(least <= step <= greatest for step in np.diff(starts))
        rows += zip(starts, numbers, strict=True)
    return rows


@dataclass
class Model:
    """A buffer beside a list of what waits; `plain`: some rows are read already."""

    plain: bool = False
    buffer: ReorderBuffer = field(default_factory=ReorderBuffer)
    waiting: list[Row] = field(default_factory=list)
    added: int = 0
    time: int = -ENDLESS

    def add(self, starts: list[int], *, batch: bool) -> None:
        rows = range(self.added, self.added + len(starts))
        self.added += len(starts)
        self.waiting += zip(starts, rows, strict=True)
        numbers, ticks = list(rows), np.array(starts, np.int64)
        if self.plain and batch and starts:
            self.buffer.put(TimedRows(ticks, make_plain(numbers, starts)))
            return
        table = tabulate_plain(numbers, starts) if self.plain else make_table(numbers)
        each = table.combine_chunks().to_batches()[0] if batch and starts else table
        self.buffer.add(ticks, each)

    def release(self, time: int) -> None:
        self.time = max(self.time, time)
        due = sorted(row for row in self.waiting if row[0] < time)
        assert read(self.buffer.release(time), plain=self.plain) == due
        self.waiting = [row for row in self.waiting if row[0] >= time]

    def check(self) -> None:
        assert len(self.buffer) == len(self.waiting)
        assert self.buffer.first == min(self.waiting, default=(None, 0))[0]
        assert read(self.buffer.rows(), plain=self.plain) == sorted(self.waiting)

    def replace_buffer(self) -> None:
        """Go on with another buffer, which has what waits."""
        pieces = self.buffer.rows()
        self.buffer = ReorderBuffer()
        for piece in pieces:
            self.buffer.add(piece.starts, piece.rows)


Push = tuple[list[int], int, bool, bool]
starts = st.lists(st.integers(0, 40), max_size=40)
pushes = st.lists(
    st.tuples(starts, st.integers(0, 30), st.booleans(), st.booleans()), max_size=10
)


@pytest.mark.parametrize("sizes", [{}, FEW, ALWAYS], ids=["usual", "few", "always"])
@given(pushes, st.booleans())
def test_any_pushes_and_punctuations(
    sizes: dict[str, int], pushes: list[Push], plain: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            patch.setattr(waiting_rows, name, size)
        if sizes:
            patch.setattr(reorder, "BLOCK_ROWS", 16)
            patch.setattr(reorder, "RETRIED", 2)
        model = Model(plain)
        for number, (starts, latency, in_order, batch) in enumerate(pushes):
            drift = 10 * number
            moved = [max(start + drift, model.time) for start in starts]
            model.add(sorted(moved) if in_order else moved, batch=batch)
            model.check()
            model.release(10 + drift - latency)
            if batch and in_order:
                model.replace_buffer()
            model.check()
        model.release(ENDLESS)
        assert not len(model.buffer)


def draw_late(random: np.random.Generator, count: int) -> list[int]:
    back = np.abs(random.normal(0, 64, count)) * (random.random(count) < 0.3)
    moved: list[int] = (np.arange(count) - back.astype(np.int64)).tolist()
    return moved


def draw_bursts(random: np.random.Generator, count: int) -> list[int]:
    sources = random.integers(0, 40, count)
    arrival = np.arange(count) // 500 + sources % 7
    starts: list[int] = np.lexsort((np.arange(count), sources, arrival)).tolist()
    return starts


def draw_descending(_: np.random.Generator, count: int) -> list[int]:
    return list(range(count, 0, -1))


@pytest.mark.parametrize("draw", [draw_late, draw_bursts, draw_descending])
@pytest.mark.parametrize("push", [7, 300, 6000])
def test_thousands_of_rows(
    draw: Callable[[np.random.Generator, int], list[int]], push: int
) -> None:
    count = 200 * push if push < 300 else 18_000
    starts = draw(np.random.default_rng(3), count)
    model = Model()
    highest = np.maximum.accumulate(starts)
    latency = int((highest - np.array(starts)).max())
    for first in range(0, count, push):
        model.add(starts[first : first + push], batch=False)
        model.release(int(highest[min(first + push, count) - 1]) - latency)
    model.check()
    model.release(ENDLESS)


def test_rows_in_order_are_views() -> None:
    buffer, starts = ReorderBuffer(), np.arange(10)
    table = make_table(list(range(10)))
    buffer.add(starts, table)
    (piece,) = buffer.release(4)
    assert np.shares_memory(piece.starts, starts)
    assert (
        piece.rows["number"].chunk(0).buffers()[1]
        == (table["number"].chunk(0).buffers()[1])
    )


def test_starts_far_apart() -> None:
    model = Model()
    far = 1 << 60
    model.add([far, -far, 0, far, -far], batch=False)
    model.add([0] * 5000 + [-far] * 3, batch=False)
    model.check()
    model.release(1)
    model.release(ENDLESS)


def test_memory_is_that_of_what_waits() -> None:
    buffer, number = ReorderBuffer(), 0
    for _ in range(1000):
        starts = [number + 50, number + 3, number + 60]
        number += 40
        buffer.add(np.array(starts), make_table(starts))
        buffer.release(number)
    assert len(buffer) < 10
    assert buffer.bytes < 10_000_000


def test_memory_of_runs_goes_with_them() -> None:
    buffer, count = ReorderBuffer(), 300_000
    rows = pa.table({"number": np.arange(count)})
    buffer.add(np.arange(count), rows)
    buffer.add(np.array([5]), rows.slice(0, 1))
    assert buffer.bytes > 1 << 24
    buffer.release(count - 1)
    buffer.add(np.arange(count, count + 10), rows.slice(0, 10))
    buffer.release(count + 10)
    assert buffer.bytes < 1 << 24
