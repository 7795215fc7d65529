"""Distinct objects over rows of states: random ones, in chunks, streams, by key."""

import pickle
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import differences
from tests.compiled import random_setting
from tests.engines.test_out_of_core import run_streamed
from tests.random.states import random_state_case, random_state_rows
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import interpret
from tiltpy.ir.print.query import format_query

BATCH = 4
CASES, STREAMS, KEYED = 8, 4, 4
DEEPER = 1_275


def check_case(seed: int) -> None:
    case = random_state_case(seed)
    random = Random(seed)  # noqa: S311 - tests, not secrets
    setting = random_setting(random, span=300)
    setting = replace(setting, special_shapes=random.random() < 0.9, vector=None)
    difference = check(case, setting, exact=True)
    assert difference is None, f"seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_machine_code_equals_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            check_case(seed)


def check_stream(seed: int) -> None:
    case, random = random_state_case(seed), Random(seed)  # noqa: S311
    setting = replace(random_setting(random, span=300), vector=None)
    expected = interpret(case.query, case.events, start=case.start, end=case.end)
    found = run_streamed(case, setting, random)
    text = differences(found, expected, case.query, exact=True)
    assert not text, f"seed {seed}, {setting}\n{format_query(case.query)}\n{text}"


@pytest.mark.parametrize("batch", range(STREAMS // BATCH))
def test_streams_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, STREAMS * (DEEPER if deep else 1), STREAMS):
        for seed in range(first, first + BATCH):
            check_stream(seed)


def check_keyed(seed: int) -> None:
    """Compute each key's rows by themselves, and all keys together."""
    random = Random(f"keyed {seed}")  # noqa: S311 - tests, not secrets
    body = random.choice(("~x[t]", "~x[t] > 2 ? ~x[t] : φ", "{ a = ~x[t], b = 1 }"))
    declared, defined = "input x : i64", f"distinct ~o[t] = {body}"
    rows = {
        key: random_state_rows(random, "i64") for key in range(random.choice((1, 9)))
    }
    columns = {
        "k": [key for key, events in rows.items() for _ in events],
        "s": [event.start for events in rows.values() for event in events],
        "e": [event.end for events in rows.values() for event in events],
        "x": [event.value for events in rows.values() for event in events],
    }
    table = pa.table({name: pa.array(c, pa.int64()) for name, c in columns.items()})
    query = tilt.parse(f"input x by k : i64 interval (s, e)\n{defined}")
    chunk = random.choice((None, None, 7, 40))
    found = pa.table(query.run(x=table, chunk=chunk, workers=2)["o"]).to_pylist()
    expected = [
        (key, snapshot.start, snapshot.end, snapshot.value)
        for key, events in rows.items()
        for snapshot in interpret(parse(f"{declared}\n{defined}"), {"x": events})["o"]
    ]
    names = ("a", "b") if "{" in body else ()
    listed = [
        (
            row["k"],
            row["start"],
            row["end"],
            {name: row[name] for name in names} if names else row["o"],
        )
        for row in found
    ]
    assert listed == expected, f"keyed seed {seed}"


@pytest.mark.parametrize("batch", range(KEYED // BATCH))
def test_keyed_runs_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, KEYED * (DEEPER if deep else 1), KEYED):
        for seed in range(first, first + BATCH):
            check_keyed(seed)


def test_results_are_pickled_with_their_times() -> None:
    query = tilt.parse("input x : i64 interval (s, e)\ndistinct ~o[t] = ~x[t] > 1")
    rows = {"s": [*range(5000)], "e": [*range(1, 5001)], "x": [0, 0, 2, 3, 2] * 1000}
    result = query.run(x=pa.table(rows))["o"]
    assert len(result) == 2000
    copy = pickle.loads(pickle.dumps(result))  # noqa: S301 - made here
    assert pa.table(copy).equals(pa.table(result))
    assert pa.table(result)["end"].to_pylist()[:3] == [2, 5, 7]
