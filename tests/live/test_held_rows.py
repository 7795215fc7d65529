"""Rows that hold until the next one, which a session gets in order and out of it."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.runtime.incremental.growing_rows import GrowingRows

POINTS = "input x : f64 time ts point\ninput y : f64 time ts until_next{}\n"
HELD = "input y : f64 time ts until_next{}\n"
QUERIES = {
    "values": HELD + "~o[t] = ~y[t] * 2\noutput ~o",
    "before": HELD + "~o[t] = ~y[t] - ~y[t-3]\noutput ~o",
    "windows": HELD + "g = TDom(-inf, inf, 5)\n~o[g] = sum(~y[g-9 : g])\noutput ~o",
    "rows": HELD + "e = Rows(~y)\n~o[e] = ~y[e] + 1\noutput ~o",
    "ends": HELD + "~o[t] = end(~y[t]) - start(~y[t])\noutput ~o",
    "joined": POINTS + "e = Rows(~x)\n~o[e] = ~x[e] - ~y[e]\noutput ~o",
    "on ticks": POINTS + "~o[t] = ~x[t] - ~y[t]\noutput ~o",
    "its rows": POINTS + "e = Rows(~y)\n~o[e] = ~y[e] + sum(~x[e-7 : e])\noutput ~o",
}


def draw_rows(random: Random, name: str) -> list[tuple[int, float | None]]:
    """Draw rows about in order: ties, gaps, and sometimes nulls."""
    longest, nulls = random.choice((2, 9)), random.choice((0.0, 0.0, 0.05, 0.4))
    stamp, rows = random.randint(-20, 20), []
    for _ in range(random.choice((20, 120))):
        stamp += random.choice((0, 1, 1, random.randint(0, longest)))
        is_null = name == "y" and random.random() < nulls
        rows.append((stamp, None if is_null else random.randint(0, 40) / 8))
    return rows


def table_of(rows: list[tuple[int, float | None]], name: str) -> pa.Table:
    stamps, values = [row[0] for row in rows], [row[1] for row in rows]
    return pa.table(
        {"ts": pa.array(stamps, pa.int64()), name: pa.array(values, pa.float64())}
    )


def check_session(text: str, seed: int) -> None:
    """Compare what is final and open after each call with a run through that time."""
    random = Random(seed)  # noqa: S311
    limit = random.choice(("", "", " max 4"))
    query = tilt.parse(text.format(limit))
    reorder, delay = random.choice(((0, 0), (0, 0), (3, 3), (0, 3)))
    names = list(query.inputs)
    arrivals: list[tuple[int, str, tuple[int, float | None]]] = []
    for name in names:
        for row in draw_rows(random, name):
            late = random.randint(0, delay) if random.random() < 0.1 else 0
            arrivals.append((row[0] + late, name, row))
    arrivals.sort(key=lambda each: each[0])
    ways: dict[str, Any] = {name: tilt.ingress(reorder=reorder) for name in names}
    live = query.live(**ways)
    pushed: dict[str, list[tuple[int, float | None]]] = {name: [] for name in names}
    final: list[dict[str, object]] = []
    place = 0
    while place < len(arrivals):
        stop = place + random.choice((1, 2, 7, 30))
        frames = {}
        for name in names:
            rows = [row for _, of, row in arrivals[place:stop] if of == name]
            if rows:
                frames[name] = table_of(rows, name)
                pushed[name] += rows
        update = live.push(**frames)
        place = stop
        final += update["o"].final.to_arrow().to_pylist()
        if random.random() < 0.1:
            update = live.advance(arrivals[min(place, len(arrivals)) - 1][0])
            final += update["o"].final.to_arrow().to_pylist()
        if random.random() < 0.05:
            live = query.live(resume=live.save(), **ways)
            update = live.result()
        through = update["o"].through
        if through is None or any(counts.late for counts in live.counts.values()):
            continue
        assert isinstance(through, int)
        tables = {name: table_of(rows, name) for name, rows in pushed.items()}
        run = query.run(**tables, end=through)["o"].to_arrow().to_pylist()
        found = final + update["o"].open.to_arrow().to_pylist()
        assert found == run or " Rows(~y)" in text, f"seed {seed}"
        assert all(row in found for row in run if row["end"] is not None)
    final += live.finish()["o"].final.to_arrow().to_pylist()
    if not any(counts.late for counts in live.counts.values()):
        tables = {name: table_of(rows, name) for name, rows in pushed.items()}
        assert final == query.run(**tables)["o"].to_arrow().to_pylist(), f"seed {seed}"


@pytest.mark.filterwarnings("ignore:.*hidden behind another")
@pytest.mark.parametrize("name", QUERIES)
def test_what_is_final_and_open_is_a_run(name: str, *, deep: bool) -> None:
    for seed in range(400 if deep else 5):
        check_session(QUERIES[name], seed)


@pytest.mark.parametrize("limit", ["", " max 4", " max 40"])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("gap", [1, 5])
def test_rows_behind_a_null_begin_with_their_stamp(
    limit: str, size: int, gap: int
) -> None:
    """Rows that a null has ended are no neighbours of the next one."""
    stamps = [10, 20, 20 + gap, 30 + gap, 40 + gap, 45 + gap, 50 + gap, 60 + gap]
    values = [1.0, None, 2.0, 3.0, None, None, 4.0, 5.0]
    rows = list(zip(stamps, values, strict=True))
    query = tilt.parse(QUERIES["values"].format(limit))
    live, found = query.live(), []
    for first in range(0, len(rows), size):
        update = live.push(y=table_of(rows[first : first + size], "y"))
        found += update["o"].final.to_arrow().to_pylist()
    found += live.finish()["o"].final.to_arrow().to_pylist()
    assert found == query.run(y=table_of(rows, "y"))["o"].to_arrow().to_pylist()


def test_rows_in_order_are_ended_where_they_lie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is laid out of rows behind others, which the next push would end."""

    def refuse(*_: object) -> None:
        raise AssertionError

    live = tilt.parse(QUERIES["values"].format("")).live()
    for stamp in range(5):
        live.push(y=table_of([(3 * stamp, 1.0), (3 * stamp + 1, 2.0)], "y"))
    monkeypatch.setattr(GrowingRows, "view_with", refuse)
    monkeypatch.setattr(GrowingRows, "append", refuse)
    for stamp in range(5, 9):
        update = live.push(y=table_of([(3 * stamp, 1.0), (3 * stamp + 1, 2.0)], "y"))
        assert len(update["o"].final) == 2
        assert len(update["o"].open) == 1
