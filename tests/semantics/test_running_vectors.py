"""Exact states of all the past, scanned in lanes, against the interpreter."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.compare import assert_same
from tests.compiled import random_setting, run_compiled
from tests.engines.test_out_of_core import run_streamed
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value, interpret

CASES, DEEPER, STREAMED = 4, 280, 6
FLOATS = 1.5, -2.25, 0.0, -0.0, float("nan"), float("inf"), -float("inf"), 8.0
INTEGERS = ("i8", "i32", "i64", "u8", "u64")


def random_case(seed: int) -> Case:
    """Reductions of all the past over points, some in a row and some far apart."""
    random = Random(seed)  # noqa: S311 - tests, not secrets
    scalar = random.choice((*INTEGERS, "f32", "f64", "f64", "bool"))
    names = ["any", "all", "count"] if scalar == "bool" else ["max", "min", "count"]
    if scalar in INTEGERS:
        names += ["sum", "mean"]
    parts = [_reduction(random, scalar, names) for _ in range(random.choice((1, 2)))]
    fields = ", ".join(f"f{i} = {part}" for i, part in enumerate(parts))
    value = parts[0] if len(parts) == 1 else f"{{ {fields}, v = ~x[t] }}"
    text = f"input x : {scalar}\n~out[t] = ~x[t] != φ ? {value} : φ\n"
    time, events = random.randint(-50, 50), []
    for _ in range(random.choice((3, 20, 70, 200))):
        events.append(Event(time, time + 1, _value(random, scalar)))
        time += random.choice((1, 1, 1, 2, 9, 5000))
    return Case(parse(text), {"x": events}, None, None)


def _reduction(random: Random, scalar: str, names: list[str]) -> str:
    name = random.choice(names)
    if name == "count" and scalar != "bool" and random.random() < 0.5:
        return "count(v for v in ~x[-∞ : t] if v > 1)"
    return f"{name}(~x[-∞ : t])"


def _value(random: Random, scalar: str) -> Value:
    if scalar == "bool":
        return random.random() < 0.8
    if scalar in INTEGERS:
        low, high = np.iinfo(scalar.replace("i", "int").replace("u", "uint")).min, 100
        return random.choice((max(low, -100), 0, random.randint(max(low, -90), high)))
    return random.choice(FLOATS)


def check_points(case: Case, seed: int, *, streamed: bool) -> None:
    """Compare a run over point events with the interpreter, and perhaps a stream."""
    random = Random(seed)  # noqa: S311 - tests, not secrets
    expected = interpret(case.query, case.events, start=case.start, end=case.end)
    setting = random_setting(random, span=200)
    setting = replace(setting, points=True, special_shapes=True, nulls=None)
    run = run_compiled(case, setting)
    assert_same(run, expected, case.query, exact=True)
    if streamed:
        run = run_streamed(case, setting, random)
        assert_same(run, expected, case.query, exact=True)


@pytest.mark.parametrize("batch", range(4))
def test_prefix_scans(batch: int, *, deep: bool) -> None:
    for seed in range(batch, CASES * (DEEPER if deep else 1), 4):
        check_points(random_case(seed), seed, streamed=seed % STREAMED == 0)
