"""Distinct objects: the interpreter by worked examples, machine code by random ones."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.compare import differences
from tests.compiled import Setting, random_setting
from tests.engines.test_out_of_core import run_streamed
from tests.keyed import check_keyed, random_keyed_setting
from tests.random.grids import random_grid_case, random_grid_setting
from tests.random.held_rows import with_held_rows
from tests.random.keyed_queries import random_keyed_case
from tests.random.open_windows import random_open_case
from tests.random.queries import Case, random_case
from tests.random.timelines import distinct_query, with_distinct
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, Value, interpret
from tiltpy.ir.print.query import format_query

BATCH = 6
CASES, GRIDS, KEYED, STREAMS, OPEN = 18, 6, 6, 6, 6
DEEPER = 200


def random_timelines(seed: int) -> Case:
    case = random_case(seed, exact=True, specials=seed % 3 == 0)
    if seed % 4 == 1:
        case = with_held_rows(case, seed)
    return with_distinct(case, seed)


def check_open_case(seed: int) -> bool:
    """Fold all the past of distinct objects, or since them."""
    case = random_open_case(seed)
    if case is None:
        return False
    case = with_distinct(case, seed)
    setting = random_setting(Random(seed), span=80)  # noqa: S311 - tests, not secrets
    difference = check(case, setting, exact=True)
    assert difference is None, f"open seed {seed}, {setting}\n{difference}"
    return True


@pytest.mark.parametrize("batch", range(OPEN // BATCH))
def test_open_windows_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    checked = 0
    for first in range(batch * BATCH, OPEN * (DEEPER if deep else 1), OPEN):
        checked += sum(map(check_open_case, range(first, first + BATCH)))
    assert checked > BATCH // 5


def check_keyed_case(seed: int) -> None:
    case = random_keyed_case(seed, exact=True, specials=seed % 3 == 0)
    case = replace(case, query=distinct_query(case.query, seed))
    setting = random_keyed_setting(Random(seed))  # noqa: S311 - tests, not secrets
    difference = check_keyed(case, setting, exact=True)
    assert difference is None, f"keyed seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(KEYED // BATCH))
def test_keyed_runs_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, KEYED * (DEEPER if deep else 1), KEYED):
        for seed in range(first, first + BATCH):
            check_keyed_case(seed)


def check_stream(seed: int) -> None:
    """Read rows in any batches, and compute spans of any length."""
    case, random = random_timelines(seed), Random(seed)  # noqa: S311
    setting = random_setting(random, span=80)
    expected = interpret(
        case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
    )
    found = run_streamed(case, setting, random)
    text = differences(found, expected, case.query, exact=True)
    assert not text, f"stream seed {seed}, {setting}\n{text}"


@pytest.mark.parametrize("batch", range(STREAMS // BATCH))
def test_streams_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, STREAMS * (DEEPER if deep else 1), STREAMS):
        for seed in range(first, first + BATCH):
            if seed % 4 != 1:  # rows of batches hold as long as they say
                check_stream(seed)


def check_case(seed: int) -> None:
    case = random_timelines(seed)
    setting = random_setting(Random(seed), span=80)  # noqa: S311 - tests, not secrets
    difference = check(case, setting, exact=True)
    assert difference is None, f"seed {seed}, {setting}\n{difference}"
    assert parse(format_query(case.query)) == case.query, f"seed {seed}"


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_machine_code_equals_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            check_case(seed)


@pytest.mark.parametrize("batch", range(GRIDS // BATCH))
def test_regular_rows_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, GRIDS * (DEEPER if deep else 1), GRIDS):
        for seed in range(first, first + BATCH):
            case = random_grid_case(seed, exact=True, specials=seed % 3 == 0)
            case = with_distinct(case, seed, bounds=seed % 4 == 0)
            setting = random_grid_setting(Random(seed), case)  # noqa: S311
            difference = check(case, setting, exact=True)
            assert difference is None, f"grid seed {seed}, {setting}\n{difference}"


# -- worked examples ------------------------------------------------------------------

NAN = float("nan")
EVENTS = [(0, 1, 1), (1, 2, 1), (2, 3, 5), (3, 4, 5), (6, 7, 5), (7, 9, 7), (9, 10, 1)]


def meaning(
    text: str,
    rows: Sequence[tuple[int, int, Value]],
    start: int | None = None,
    end: int | None = None,
) -> dict[str, list[Snapshot]]:
    events = [Event(*row) for row in rows]
    return interpret(parse(text), {"x": events}, start=start, end=end)


WORKED: dict[str, tuple[str, list[tuple[int, int, Value]]]] = {
    "neighbours with equal values are one, over a gap they are two": (
        "distinct ~o[t] = ~x[t]",
        [(0, 2, 1), (2, 4, 5), (6, 7, 5), (7, 9, 7), (9, 10, 1)],
    ),
    "a state joins what its object keeps apart": (
        "~p[t] = ~x[t] > 3\ndistinct ~o[t] = ~p[t]",
        [(0, 2, False), (2, 4, True), (6, 9, True), (9, 10, False)],
    ),
    "a reader is cut where the distinct object changes": (
        "distinct ~d[t] = ~x[t] > 3\n~o[t] = ~d[t-1] ? 1 : 0",
        [(1, 3, 0), (3, 5, 1), (7, 10, 1)],
    ),
    "windows see the joined snapshots": (
        "distinct ~d[t] = ~x[t] > 3\n~o[t] = count(~d[t-4 : t])",
        [(0, 2, 1), (2, 5, 2), (5, 6, 1), (6, 7, 2), (7, 9, 1), (9, 10, 2)],
    ),
    "episodes with their starts and ends": (
        "distinct ~d[t] = ~x[t] > 3 ? true : φ\n"
        "~o[t] = ~d[t] ? { a = start(~d[t]), b = end(~d[t]) } : φ",
        [(2, 4, {"a": 2, "b": 4}), (6, 9, {"a": 6, "b": 9})],
    ),
    "cells are joined on a grid of their own": (
        "w = TDom(-∞, ∞, 3)\ndistinct ~o[w] = sum(~x[w-3 : w]) > 4",
        [(0, 9, True), (9, 12, False)],
    ),
    "a bound of the domain is the start": (
        "w = TDom(3, 8, 1)\ndistinct ~d[w] = ~x[w]\n"
        "~o[t] = { a = start(~d[t]), b = end(~d[t]) }",
        [
            (0, 3, {"a": None, "b": None}),
            (3, 4, {"a": 3, "b": 4}),
            (4, 6, {"a": None, "b": None}),
            (6, 7, {"a": 6, "b": 7}),
            (7, 8, {"a": 7, "b": 8}),
            (8, 10, {"a": None, "b": None}),
        ],
    ),
    "what has held since ever has no start, what holds for ever no end": (
        "distinct ~d[t] = count(~x[t-1 : t]) > 0\n"
        "~o[t] = { a = start(~d[t-1]), b = end(~d[t+1]) }",
        [
            (0, 1, {"a": None, "b": 4}),
            (1, 3, {"a": 0, "b": 4}),
            (3, 5, {"a": 0, "b": 6}),
            (5, 7, {"a": 4, "b": 10}),
            (7, 9, {"a": 6, "b": 10}),
            (9, 10, {"a": 6, "b": None}),
        ],
    ),
}


@pytest.mark.parametrize("name", WORKED)
def test_worked_example(name: str) -> None:
    text, expected = WORKED[name]
    found = meaning(f"input x : i64\n{text}\noutput ~o", EVENTS)
    assert found["o"] == [Snapshot(*row) for row in expected]


def test_nans_are_one_value_and_zeros_are_one() -> None:
    rows = [(0, 1, NAN), (1, 2, -NAN), (2, 3, 0.0), (3, 4, -0.0), (4, 5, 1.0)]
    found = meaning("input x : f64\ndistinct ~o[t] = ~x[t]", rows)
    assert (
        repr([tuple(s) for s in found["o"]])
        == "[(0, 2, nan), (2, 4, 0.0), (4, 5, 1.0)]"
    )
    found = meaning("input x : f64\ndistinct ~d[t] = -~x[t]\n~o[t] = 1.0 / ~d[t]", rows)
    assert [s.value for s in found["o"]][1:] == [float("inf"), -1.0]


def test_fields_that_are_phi_are_identical() -> None:
    rows = [(0, 1, 1), (1, 2, 2), (2, 3, 0), (3, 4, 0), (4, 5, 6)]
    found = meaning(
        "input x : i64\ndistinct ~o[t] = { a = 6 // ~x[t], b = 1 }", rows, end=4
    )
    values = [(s.start, s.end, s.value) for s in found["o"]]
    assert values == [
        (0, 1, {"a": 6, "b": 1}),
        (1, 2, {"a": 3, "b": 1}),
        (2, 4, {"a": None, "b": 1}),
    ]


def test_the_start_of_a_run_moves_no_start() -> None:
    text = (
        "input x : i64\ndistinct ~d[t] = ~x[t] > 3\n~o[t] = start(~d[t])\noutput ~o, ~d"
    )
    found = meaning(text, EVENTS, start=8, end=9)
    assert found == {"o": [(8, 9, 6)], "d": [(8, 9, True)]}


BODIES = (
    "~x[t]",
    "~x[t] > 1",
    "~x[t] > 1 ? ~x[t] : φ",
    "{ a = ~x[t], b = ~x[t] // 3 }",
)


@pytest.mark.covering(2)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("special", [True, False])
def test_snapshots_are_joined_over_seams(body: str, gap: int, *, special: bool) -> None:
    """Rows in runs of equal values, cut into chunks at any of them."""
    random = Random(gap)  # noqa: S311 - tests, not secrets
    rows, time = [], 0
    for number in range(60):
        value = random.choice((0, 2, 5))
        for _ in range(random.choice((1, 2, 9))):
            length = random.randint(1, 4)
            rows.append(Event(time, time + length, value))
            time += length
        time += gap * (number % 2)
    query = parse(f"input x : i64\ndistinct ~o[t] = {body}")
    case = Case(query, {"x": rows}, None, None)
    for chunk in (None, 1, 2, 5, 7, 64, 100):
        setting = Setting(chunk, 2, special_shapes=special, small=True)
        assert check(case, setting, exact=True) is None, setting
