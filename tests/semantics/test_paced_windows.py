"""Windows that fold on over objects with a snapshot at each event, by the event.

One by one, or with the prefix scans of a vector of events, against the interpreter.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.compare import assert_same
from tests.compiled import random_setting, run_compiled
from tests.engines.test_out_of_core import run_streamed
from tests.random.queries import Case
from tests.random.restart_queries import FOLD
from tiltpy.emit.values import LoopValue
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.lowering.sweep.event_payloads import EventPayloads
from tiltpy.lowering.sweep.event_vectors import EventVectors
from tiltpy.lowering.sweep.running_window import RunningWindow

CASES, DEEPER, STREAMED = 4, 320, 6
CONDITIONS = (
    "session_start(~x, 3)",
    "session_start(~x, 12)",
    "~x[t] != φ ? count(~x[t-5 : t-1]) == 0 || ~x[t] > 1 : φ",
    "~x[t] > 0.5",
    "~x[t] != φ ? sum(~x[t-3 : t]) > 1 : φ",
    "~x[t] != φ ? ~x[t] > 0.5 && count(~x[t-9 : t-1]) != 1 : φ",
    "~y[t]",
    "~y[t-3]",
)
VALUES = ("t", "~x[t]", "{ v = ~x[t], at = t }", "count(~x[t-4 : t])")
NAMES = ("sum", "min", "max", "count", "first", "last", "mean", "fold")


def random_case(seed: int) -> Case:
    """Reductions since rows of a condition, over events and what is made of each."""
    random = Random(f"paced {seed}")  # noqa: S311 - tests, not secrets
    value = random.choice(VALUES)
    body = (
        value if "~x[t]" in value and "{" not in value else f"~x[t] != φ ? {value} : φ"
    )
    payload = "~v" + (random.choice((".v", ".at")) if "{" in value else "")
    parts = [_reduction(random, payload) for _ in range(random.choice((1, 2, 3)))]
    fields = ", ".join(f"f{number} = {part}" for number, part in enumerate(parts))
    result = parts[0] if len(parts) == 1 else f"{{ {fields} }}"
    test = random.choice(
        ("true", "~x[t] > 0", "count(~x[t : t+5]) == 0", "count(~x[t-7 : t-1]) == 0")
    )
    lines = (
        "input x : f64",
        "input y : bool",
        FOLD,
        f"~c[t] = {random.choice(CONDITIONS)}",
        f"~v[t] = {body}",
        f"~o[t] = ~x[t] != φ && {test} ? {result} : φ",
        "output ~o",
    )
    query, times = parse("\n".join(lines)), _times(random)
    events = {
        "x": [Event(at, at + 1, random.randint(-12, 12) / 8) for at in times],
        "y": [Event(at, at + 1, random.random() < 0.7) for at in _times(random)],
    }
    names = [declared.name for declared in query.inputs]
    start = random.choice((None, None, times[-1] - 30 if times else 0))
    return Case(query, {name: events[name] for name in names}, start, None)


def _times(random: Random) -> list[int]:
    time, times = random.randint(-50, 50), []
    for _ in range(random.choice((0, 1, 3, 20, 70, 200))):
        times.append(time)
        time += random.choice((1, 1, 1, 2, 5, 9, 40))
    return times


def _reduction(random: Random, payload: str) -> str:
    edge = random.choice(("since ~c", "since ~c", "after ~c", "-∞"))
    source, _, field = random.choice((payload, payload, "~x")).partition(".")
    window, name = f"{source}[{edge} : t]", random.choice(NAMES)
    if name != "fold" and random.random() < 0.7:
        return f"{name}({window}{'.' if field else ''}{field})"
    element = f"f64(v{'.' if field else ''}{field})"
    condition = random.choice(("", f" if {element} > 0"))
    return f"{name}({element} for v in {window}{condition})"


@contextmanager
def counted(reached: Counter[str]) -> Iterator[None]:
    """Count the windows that keep pace in some kernel, and what they recompute."""

    original = RunningWindow.pace
    take_since = RunningWindow.take_since

    def pace(window: RunningWindow, *rest: Any) -> None:
        reached["restarts" if window.restart else "all the past"] += 1
        original(window, *rest)

    def take(window: RunningWindow, *rest: Any) -> None:
        reached["restarts between events"] += 1
        take_since(window, *rest)

    scan = EventVectors._scan

    def scan_lanes(lanes: EventVectors, *rest: Any) -> RunningWindow:
        reached["lanes"] += 1
        return scan(lanes, *rest)

    wide_value = EventPayloads.wide_value

    def recompute(payloads: EventPayloads, *rest: Any) -> LoopValue:
        reached[
            "recomputed from the row before" if payloads.windows else "recomputed"
        ] += 1
        return wide_value(payloads, *rest)

    with (
        patch.object(EventPayloads, "wide_value", recompute),
        patch.object(RunningWindow, "pace", pace),
        patch.object(RunningWindow, "take_since", take),
        patch.object(EventVectors, "_scan", scan_lanes),
    ):
        yield


@pytest.mark.parametrize("batch", range(4))
def test_paced_windows_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for seed in range(batch, CASES * (DEEPER if deep else 1), 4):
        case, random = random_case(seed), Random(seed)  # noqa: S311
        expected = interpret(case.query, case.events, start=case.start, end=case.end)
        setting = random_setting(random, span=200)
        setting = replace(setting, points=True, special_shapes=True, nulls=None)
        assert_same(run_compiled(case, setting), expected, case.query, exact=True)
        if seed % STREAMED == 0:
            run = run_streamed(case, setting, random)
            assert_same(run, expected, case.query, exact=True)


def test_cases_keep_pace() -> None:
    """Enough of them, or the test above would test nothing."""
    reached: Counter[str] = Counter()
    with counted(reached):
        for seed in range(64):
            setting = replace(random_setting(Random(seed), span=200), points=True)  # noqa: S311
            setting = replace(setting, special_shapes=True, nulls=None)
            run_compiled(random_case(seed), setting)
    assert reached["restarts"] >= 5
    assert reached["restarts between events"] >= 2
    assert reached["all the past"] >= 1
    assert reached["lanes"] >= 3
    assert reached["recomputed"] >= 3
    assert reached["recomputed from the row before"] >= 3
