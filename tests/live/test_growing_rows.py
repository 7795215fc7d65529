"""Rows that grow: what is held is what came and is needed, whatever the pieces were."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.abi.layouts import TimeLayout
from tiltpy.array_address import address
from tiltpy.lifetimes import FixedDuration, UntilNext
from tiltpy.runtime.arrays.snapshot_buffer import (
    Column,
    SnapshotBuffer,
    pack_validity,
)
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.incremental.growing_arrays import SHARED_ROWS, GrowingArrays
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.incremental.stamped_rows import EventLength, StampedRows
from tiltpy.runtime.ingest.event_times import lay_out_events
from tiltpy.types import ENDLESS, F64

Row = tuple[int, int, float | None]
NO_STEPS = ENDLESS, -ENDLESS
"""The steps between rows of which there is one."""


def random_piece(random: Random, kind: str, time: int) -> list[Row]:
    """Make a few rows from a time on."""
    rows: list[Row] = []
    start = time + (random.choice((0, 0, 3)) if kind != "regular" else 0)
    for _ in range(random.choice((1, 1, 2, 5, 70))):
        length = 2 if kind in ("regular", "ties") else random.randint(1, 9)
        null = kind != "complete" and random.random() < 0.1
        rows.append((start, start + length, None if null else random.random()))
        start += random.randint(0, 4) if kind in ("overlapping", "ties") else length
        start += kind == "gaps" and random.random() < 0.2
    return rows


def lay_out_rows(rows: list[Row]) -> SnapshotBuffer:
    starts, ends, values = zip(*rows, strict=True)
    valid = np.array([value is not None for value in values])
    numbers = np.array([value or 0.0 for value in values])
    columns = (Column(numbers, pack_validity(valid)),)
    return lay_out(np.array(starts), np.array(ends), columns)


def rows_of(buffer: SnapshotBuffer) -> list[Row]:
    column = buffer.columns[0]
    valid = column.valid(buffer.n)
    starts, ends = buffer.times()
    return [
        (int(start), int(end), float(value) if there else None)
        for start, end, value, there in zip(
            starts, ends, column.values[: buffer.n], valid, strict=True
        )
    ]


@pytest.mark.parametrize(
    "kind", ["regular", "complete", "contiguous", "gaps", "overlapping", "ties"]
)
@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_that_came_and_are_needed(kind: str, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    held = GrowingRows(F64)
    model: list[Row] = []
    views: list[tuple[SnapshotBuffer, list[Row]]] = []
    time = 0
    for _ in range(40):
        piece = random_piece(random, kind, time)
        overlap = kind in ("overlapping", "ties")
        time = max(piece[-1][0], time) if overlap else piece[-1][1]
        if random.random() < 0.2:  # rows that nothing ends yet are put there for once
            whole = held.view_with(lay_out_rows(piece))
            assert rows_of(whole) == model + piece
        held.append(lay_out_rows(piece))
        model += piece
        if random.random() < 0.3:
            horizon = random.randint(model[0][0], time)
            held.drop_before(horizon, 0)
            needed = [row for row in model if row[1] > horizon]
            assert rows_of(held.rows)[-len(needed) :] == needed or not needed
            model = rows_of(held.rows)
        assert rows_of(held.rows) == model
        assert_layout(held.rows)
        views.append((held.rows, list(model)))
    for view, rows in views:
        assert rows_of(view) == rows, "a view that was handed out has changed"


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_rows_of_one_length_are_laid_out_by_their_steps(length: int, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    held = GrowingRows(F64, EventLength(FixedDuration(length)))
    model: list[Row] = []
    views: list[tuple[SnapshotBuffer, list[Row]]] = []
    start = 0
    for _ in range(30):
        if random.random() < 0.1:  # a null row has them moved
            start += length
            null: list[Row] = [(start, start + length, None)]
            held.append(lay_out_rows(null))
            model += null
            start += length * random.choice((0, 5))
        pieces = []
        for _ in range(random.randint(1, 3)):
            steps = (length,) if seed % 3 else (0, 1, length, length + 2)
            rows: list[Row] = []
            for _ in range(random.choice((*[1, 2, 70] * 9, SHARED_ROWS))):
                start += random.choice(steps)
                rows.append((start, start + length, random.random()))
            starts, _, values = zip(*rows, strict=True)
            bounds = (min(steps), max(steps)) if len(rows) > 1 else NO_STEPS
            pieces.append(StampedRows(np.array(starts), [np.array(values)], bounds))
            model += rows
        assert held.append_stamped(pieces) == sum(len(p.starts) for p in pieces)
        if random.random() < 0.3:  # of all rows, too
            held.drop_before(start + random.choice((-20, length)), 0)
            model = model[len(model) - held.rows.n :]
        assert rows_of(held.rows) == model
        assert_layout(held.rows)
        views.append((held.rows, list(model)))
    for view, rows in views:
        assert rows_of(view) == rows, "a view that was handed out has changed"


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_rows_wait_behind_those_that_count(length: int, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    held = GrowingRows(F64, EventLength(FixedDuration(length)))
    counted: list[Row] = []
    waiting: list[Row] = []
    views: list[tuple[SnapshotBuffer, list[Row]]] = []
    start, settled = 0, -9
    steps = (length,) if seed % 3 else (0, 1, length, length + 2)
    for _ in range(60):
        rows: list[Row] = []
        time = start
        for _ in range(random.choice((1, 2, 5, 70))):
            time += random.choice(steps)
            rows.append((time, time + length, random.random()))
        is_written = put(held, rows)
        if not is_written or random.random() < 0.8:  # or it is refused
            if is_written:
                held.take_written()
            waiting += rows
            start = time
        assert held.waiting == len(waiting)
        settled = max(settled, start - random.choice((0, 0, 1, 9)))
        if waiting and random.random() < 0.7:
            count = held.settle(settled)
            counted += waiting[:count]
            waiting = waiting[count:]
            assert all(row[0] < settled for row in counted)
            assert all(row[0] >= settled for row in waiting)
        if waiting and random.random() < 0.2:
            away = held.take_waiting()
            assert away is not None
            taken, (numbers,) = away
            assert [*zip(taken, numbers, strict=True)] == [
                (r[0], r[2]) for r in waiting
            ]
            if put(held, waiting):
                held.take_written()
        if random.random() < 0.2:
            held.drop_before(settled - random.choice((0, 20)), 0)
            counted = counted[len(counted) - held.rows.n :]
        elif random.random() < 0.05:
            held.forget()
            counted = []
        assert rows_of(held.rows) == counted
        assert_layout(held.rows)
        views.append((held.rows, list(counted)))
    for view, kept in views:
        assert rows_of(view) == kept, "a view that was handed out has changed"


@pytest.mark.parametrize("longest", [None, 1, 4])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_hold_end_with_the_next_start(longest: int | None, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    lifetime = UntilNext(longest)
    held = GrowingRows(F64, EventLength(lifetime))
    came: list[tuple[int, float]] = []
    start, settled, dropped = 0, -9, 0
    for _ in range(60):
        rows: list[Row] = []
        for _ in range(random.choice((1, 2, 5, 70))):
            start += random.choice((1, 3) if seed % 3 else (0, 1, 7))
            rows.append((start, start + 1, random.random()))
        if put(held, rows):
            held.take_written()
        came += [(row[0], row[2] or 0.0) for row in rows]
        settled = max(settled, start - random.choice((0, 0, 1, 9)))
        held.settle(settled)
        count = sum(row[0] < settled for row in came)
        assert held.waiting == len(came) - count
        if random.random() < 0.2:
            before = held.rows.n
            held.drop_before(settled - random.choice((0, 20)), 0)
            dropped += before - held.rows.n
        if not count:
            continue
        stamps, values = map(np.array, zip(*came[:count], strict=True))
        column = Column(values.astype(np.float64))
        events = lay_out_events((stamps + 1,), lifetime, (column,))
        assert rows_of(held.rows) == rows_of(events)[dropped:]
        assert_layout(held.rows)
        tail = [row for row in came[:count] if row[0] == stamps[-1]]
        assert held.tail == min(len(tail), held.rows.n)
        tail = tail[len(tail) - held.tail :]
        if tail:
            assert held.tail_start == stamps[-1]
            assert held.rows.domain_end == stamps[-1] + 1
        if random.random() < 0.2:  # all that nothing ends goes away, and comes back
            away = [held.take_waiting(), held.take_tail()]
            for found, expected in zip(away, (came[count:], tail), strict=True):
                assert found is not None or not expected
                if found is not None:
                    assert [*zip(found[0], *found[1], strict=True)] == expected
            assert held.tail_start is None
            again: list[Row] = [
                (at, at + 1, value) for at, value in (*tail, *came[count:])
            ]
            if again and put(held, again):
                held.take_written()
            held.settle(settled)


def put(held: GrowingRows, rows: list[Row]) -> bool:
    """Write rows behind all others; False if they wait already, in other memory."""
    starts, _, values = map(np.array, zip(*rows, strict=True))
    stamps, numbers = starts + FixedDuration(1).before, values.astype(np.float64)
    columns = [address(stamps), address(numbers)]
    steps = np.diff(starts)
    bounds = (min(steps), max(steps)) if len(rows) > 1 else NO_STEPS
    written = held.write(len(rows), columns)
    if written is not None:
        assert written == (starts[0], starts[-1], bounds)
        return True
    stamped = StampedRows(starts, [numbers], bounds)
    assert held.let_wait([stamped], len(rows))
    return False


def test_rows_before_those_that_wait_are_not_written_behind_them() -> None:
    held = GrowingRows(F64, EventLength(FixedDuration(1)))
    assert not put(held, [(1, 2, 1.0), (4, 5, 1.0)])
    for start, fits in ((5, True), (3, False), (5, True)):
        stamps, values = np.array([start + 1]), np.array([1.0])
        written = held.write(1, [address(stamps), address(values)])
        assert (written is not None) == fits
        if fits:
            held.take_written()
    assert held.settle(6) == 4


def test_samples_are_written_as_far_as_there_is_memory_for_their_times() -> None:
    """Their times are not stored, and so go to memory for a few rows."""
    held = GrowingRows(F64, EventLength(FixedDuration(1)))
    assert not put(held, [(1, 2, 1.0), (2, 3, 1.0)])
    for count, fits in ((SHARED_ROWS - 1, True), (SHARED_ROWS, False)):
        stamps, values = np.arange(3, 3 + count) + 1, np.zeros(count)
        written = held.write(count, [address(stamps), address(values)])
        assert (written is not None) == fits


def test_what_nobody_needs_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []
    move = GrowingArrays.move

    def count(rows: SnapshotBuffer, *of: Any) -> GrowingArrays:
        moved.append(rows.n)
        return move(rows, *of)

    monkeypatch.setattr(GrowingArrays, "move", count)
    live = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t] * 2").live()
    for push in range(60):
        stamps = np.arange(1_000 * push, 1_000 * (push + 1))
        live.push(x=pa.record_batch({"ts": stamps * 2, "x": stamps / 8}))
    assert len(moved) > 2
    assert max(moved) <= 2_001


def assert_layout(buffer: SnapshotBuffer) -> None:
    """Check that the buffer's layout holds, though a tighter one may hold, too."""
    starts, ends = buffer.times()
    gaps = starts[1:] - ends[:-1]
    if buffer.layout in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS):
        assert (gaps == 0).all()
    if buffer.layout is TimeLayout.INTERVALS:
        assert (gaps >= 0).all()
    assert not buffer.fifo or (np.diff(ends) >= 0).all()
