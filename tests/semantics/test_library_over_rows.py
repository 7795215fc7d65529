"""Functions of the library that compare rows, or weigh them by time, over rows with
jitter and pauses: on every grid their values are those of a loop over the rows.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting, run_compiled
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret

SPAN = 90
Rows = Sequence[Event]
"""Rows in order, none of which overlap."""
Loop = Callable[[Rows, int, int], float | None]
"""What a function is at a time, over a length."""


def within(rows: Rows, start: int, end: int) -> list[Event]:
    """The rows that a window `(start, end]` holds, cut to it."""
    return [
        Event(max(row.start, start), min(row.end, end), row.value)
        for row in rows
        if row.start < end and start < row.end
    ]


def values(rows: Rows) -> list[float]:
    return [float(row.value) for row in rows]  # type: ignore[arg-type]


def neighbours(rows: Rows, t: int, w: int) -> list[tuple[float, float]] | None:
    """Each row within the last w with the one before it; None without any."""
    inside = values(within(rows, t - w, t))
    before = values(within(rows, t - 2 * w, t - w))[-1:]
    return list(pairwise(before + inside)) if inside else None


def increase(rows: Rows, t: int, w: int) -> float | None:
    found = neighbours(rows, t, w)
    return sum(b if b < a else b - a for a, b in found) if found else None


def zero_crossings(rows: Rows, t: int, w: int) -> float | None:
    signed = [row for row in rows if row.value != 0]
    found = neighbours(signed, t, w) or []
    return sum(a * b < 0 for a, b in found)


def time_mean(rows: Rows, t: int, w: int) -> float | None:
    inside = within(rows, t - w, t)
    held = [row.end - row.start for row in inside]
    area = sum(v * ticks for v, ticks in zip(values(inside), held, strict=True))
    return area / sum(held) if held else None


def age(rows: Rows, t: int, most: int) -> float | None:
    inside = within(rows, t - most, t)
    return t - inside[-1].end if inside else None


def interpolate(rows: Rows, t: int, gap: int) -> float | None:
    now = values(within(rows, t - 1, t))
    if now:
        return now[0]
    before, after = within(rows, t - gap, t), within(rows, t, t + gap)
    if not before or not after:
        return None
    begin, end = before[-1].end, after[0].start + 1
    low, high = values(before)[-1], values(after)[0]
    return low + (high - low) * (t - begin) / (end - begin)


LOOPS: tuple[Loop, ...] = (increase, zero_crossings, time_mean, age, interpolate)


def random_rows(random: Random, kind: str) -> list[Event]:
    """Rows with jitter and pauses: points, held, or held with gaps."""
    stamps, time = [], random.randint(-4, 4)
    while time < SPAN:
        stamps.append(time)
        time += (
            random.randint(20, 40) if random.random() < 0.06 else random.randint(1, 7)
        )
    ends = {
        "points": [stamp + 1 for stamp in stamps],
        "held": [*stamps[1:], SPAN + 20],
        "gaps": [random.randint(a + 1, b) for a, b in pairwise([*stamps, SPAN + 20])],
    }[kind]
    numbers = (random.choice((-2.5, -1.0, 0.0, 0.0, 1.5, 4.0)) for _ in stamps)
    return [Event(*row) for row in zip(stamps, ends, numbers, strict=True)]


def at(snapshots: Sequence[Snapshot], time: int) -> object:
    return next((s.value for s in snapshots if s.start < time <= s.end), None)


@pytest.mark.parametrize("kind", ["points", "held", "gaps"])
def test_what_a_loop_over_rows_finds(kind: str, deep: bool) -> None:
    random = Random(kind)  # noqa: S311
    for _ in range(40 if deep else 2):
        rows = random_rows(random, kind)
        length, precision = random.randint(3, 25), random.randint(2, 9)
        calls = "".join(
            f"~{loop.__name__}_ticks[t] = {loop.__name__}(~x, {length})\n"
            f"~{loop.__name__}_grid[h] = {loop.__name__}(~x, {length})\n"
            for loop in LOOPS
        )
        query = parse(f"input x : f64\nh = TDom(-∞, ∞, {precision}, 1)\n{calls}")
        case = Case(query, {"x": rows}, 0, SPAN)
        found = run_compiled(case, random_setting(random, SPAN))
        meant = interpret(query, {"x": rows}, start=0, end=SPAN)
        for loop in LOOPS:
            for time in range(1, SPAN + 1):
                value = loop(rows, time, length)
                wanted = None if value is None else pytest.approx(value, rel=1e-12)
                for output in (found, meant):
                    assert at(output[f"{loop.__name__}_ticks"], time) == wanted
                    if time % precision == 1:
                        assert at(output[f"{loop.__name__}_grid"], time) == wanted


def every(text: str, stamps: Sequence[int], numbers: Sequence[float]) -> list[object]:
    """The values of a query's one output, over rows of ~x."""
    frame = pa.table({"ts": pa.array(stamps, pa.timestamp("s")), "x": numbers})
    return list(tilt.parse(text).run(x=frame).to_arrow()["o"].to_pylist())


def test_what_held_for_one_second_of_an_hour_weighs_that() -> None:
    text = (
        "unit s\ninput x : f64 time ts until_next\nhour = TDom(-∞, ∞, 1h)\n"
        "~o[hour] = time_mean(~x, 1h)"
    )
    _, hour = every(text, [0, 1, 3599, 3600], [0.0, 100.0, 0.0, 0.0])
    assert hour == pytest.approx(100 * 3598 / 3600)


@pytest.mark.parametrize("lifetime", ["point", "until_next", "sampled 15s"])
def test_a_counter_over_minutes_grows_by_all_of_its_rows(lifetime: str) -> None:
    text = (
        f"unit s\ninput x : f64 time ts {lifetime}\nminute = TDom(-∞, ∞, 1m)\n"
        "~o[minute] = increase(~x, 5m)"
    )
    stamps = list(range(0, 3600, 15))
    grown = every(text, stamps, [stamp / 15 * 10 for stamp in stamps])
    assert grown[6:-1] == [200.0] * len(grown[6:-1])
    random = Random(3)  # noqa: S311
    jitter = [stamp + random.randint(-6, 6) for stamp in stamps[1:]]
    last = [max(s for s in jitter if s <= 60 * m) for m in range(1, 60)]
    growth = [b - a for a, b in zip(last, last[5:], strict=False)]
    if lifetime != "sampled 15s":  # a counter of seconds that is read at these times
        assert every(text, jitter, [float(s) for s in jitter])[6:59] == growth[1:]


def test_crossings_between_seconds_are_counted() -> None:
    text = (
        "unit ms\ninput x : f64 time ts point\nsecond = TDom(-∞, ∞, 1s)\n"
        "~o[second] = zero_crossings(~x, 2s)"
    )
    stamps = pa.array([200 * n - n % 7 for n in range(1, 51)], pa.timestamp("ms"))
    numbers = [1.0 if n % 2 else -1.0 for n in range(1, 51)]
    frame = pa.table({"ts": stamps, "x": numbers})
    table = tilt.parse(text).run(x=frame).to_arrow()
    assert set(table["o"].to_pylist()[2:]) == {10}


@pytest.mark.parametrize("lifetime", ["point", "until_next"])
def test_of_rows_at_one_tick_the_last_one_counts(lifetime: str) -> None:
    """Of held ones too: no window sees two of them, one after the other."""
    text = (
        f"unit s\ninput x : f64 time ts {lifetime}\nsecond = TDom(9, 28, 7)\n"
        "~o[second] = {call}(~x, 14)\n"
    )
    stamps, numbers = [1, 1, 8, 8, 8, 20, 20], [9.0, 1.0, 4.0, 7.0, 5.0, 9.0, 6.0]
    assert every(text.format(call="increase"), stamps, numbers) == [4.0, 5.0, 1.0]
    assert every(text.format(call="zero_crossings"), stamps, numbers) == [0, 0, 0]
