"""Keys whose rows share a call: as if each had one of its own."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import LOOP_STARTS, costing
from tiltpy.costs import KeyCosts

APART = KeyCosts()
ALIKE = dict.fromkeys(LOOP_STARTS, 4)
JOINED = KeyCosts(**ALIKE, batch_rows=60, many_rows=40)
SEVERAL = KeyCosts(**ALIKE, batch_rows=200, many_rows=40, call_rows=70)
"""Several calls for the keys of a batch."""


def rows_of(keys: int, rows: int, seed: int, *, unit: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    ends = np.sort(random.choice(4 * rows, rows, replace=False)) * unit
    return pa.table(
        {
            "k": random.integers(0, keys, rows) ** 2,
            "ts": ends,
            "x": pa.array(random.integers(-80, 80, rows) / 8, mask=ends % 7 == 0),
        }
    )


QUERIES = (
    "input x by k : f64 time ts point\n~o[t] = ~x[t] - mean(~x[t-50 : t])",
    "input x by k : f64 time ts point\n~o[t] = count(~x[t-50 : t-20])",
    "input x by k : f64 time ts until_next\nw = TDom(-∞, ∞, 7)\n~o[w] = ~x[w]",
    "input x by k : f64 time ts duration 9\n~o[t] = { a = ~x[t], b = max(~x[t-9:t]) }",
    "input x by k : f64 time ts point\ne = Rows(~x)\n~o[e] = ~x[e] - max(~x[e-40 : e])",
    "input x by k : f64 time ts point\n~o[t] = t - start(~x[t]) + t % 12",
    """\
input x by k : f64 time ts duration 3
~o[t] = ~x[t] > 0 ? { begin = start(~x[t]), x = ~x[t], day = i32(t % 50) } : φ""",
    """\
input x by k : f64 time ts point
~since[t] = start(~x[t])
~o[t] = ~x[t] != φ ? { t = t, first = first(~since[t-60 : t-2]), x = ~x[t] } : φ""",
    """\
input x by k : f64 time ts point
~time[t] = ~x[t] != φ ? t : φ
~first[t] = session_start(~x, 60)
~o[t] = ~x[t] != φ ? {
    first = first(~time[since ~first : t]), sum = sum(~x[since ~first : t])
} : φ
output ~o""",
    "input x by k : f64 time ts point\n~o[t] = ~x[t] != φ ? max(~x[-∞ : t]) : φ",
    "input x by k : f64 time ts point\n~o[t] = count(~x[-∞ : t-40]) - sum(~x[t-9 : t])",
    "input x by k : f64 time ts until_next\nw = TDom(-∞, ∞, 7)\n~o[w] = min(~x[-∞ : w])"
    " - ~x[w]",
    "input x by k : f64 time ts point\nw = TDom(120, 903, 10)\n~o[w] = max(~x[w-9:w])",
    "input x by k : f64 time ts point\ne = Rows(~x)\n~o[e] = median(~x[last 3 : e])",
    """\
input x by k : f64 time ts point
~first[t] = session_start(~x, 60)
~o[t] = ~x[t] != φ ? count(~x[since ~first : t-1]) : φ
output ~o""",
    "input x by k : f64 time ts until_next\nv = TDom(125, 900, 1)\n~o[v] = ~x[v-3]",
)


def run(text: str, keys: KeyCosts, frame: pa.Table, **request: Any) -> pa.Table:
    query = tilt.parse(text, options=costing(keys=keys))
    return query.run(x=frame, **request)["o"].to_arrow().combine_chunks()


@pytest.mark.covering(1)
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("request_", [{}, {"start": 300}, {"start": 300, "end": 500}])
def test_some_keys_are_concatenated(text: str, request_: dict[str, int]) -> None:
    frame = rows_of(30, 400, 1)
    expected = run(text, APART, frame, **request_)
    assert expected.num_rows > 30
    assert run(text, JOINED, frame, **request_).equals(expected)
    assert run(text, JOINED, frame, workers=2, **request_).equals(expected)


@pytest.mark.few(8)
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("kept", [0, 1 << 22])
def test_bound_rows_are_run_again(text: str, kept: int) -> None:
    query = tilt.parse(text, options=costing(keys=replace(SEVERAL, kept_rows=kept)))
    frames = [rows_of(30, 400, seed) for seed in (1, 5)]
    bound = [tilt.bind(frame) for frame in frames]
    runs: list[tuple[int, dict[str, Any]]]
    runs = [(0, {}), (0, {}), (1, {}), (0, {"start": 300}), (0, {})]
    results = []
    for which, request in runs:
        expected = run(text, APART, frames[which], **request)
        made = query.run(x=bound[which], **request)["o"]
        results.append((made, expected))
    for made, expected in results:  # no run writes to what another one has returned
        assert made.to_arrow().combine_chunks().equals(expected)


ROUNDED = (
    "~o[t] = ~x[t] != φ ? { mean = mean(~x[t-50 : t]), sum = sum(~x[t-7 : t]) } : φ",
    "~o[t] = std(~x[t-50 : t])",
    """\
~first[t] = session_start(~x, 60)
~o[t] = ~x[t] != φ ? {
    sum = sum(~x[since ~first : t]), std = std(~x[since ~first : t])
} : φ
output ~o""",
)


@pytest.mark.parametrize("text", ROUNDED)
@pytest.mark.parametrize("rows", [3, 150])
def test_sums_have_the_bits_of_calls_of_their_own(text: str, rows: int) -> None:
    random = np.random.default_rng(7)
    gaps = random.integers(1, 59, (50, rows))
    gaps[:, 0] = random.integers(1, 100_000, 50)
    values = random.random(gaps.size) * 10.0 ** random.integers(-9, 9, gaps.size)
    stamps = gaps.cumsum(1).ravel()
    frame = pa.table({"k": np.repeat(np.arange(50), rows), "ts": stamps, "x": values})
    text = f"input x by k : f64 time ts point\n{text}"
    assert run(text, KeyCosts(**ALIKE), frame).equals(run(text, APART, frame))


@pytest.mark.parametrize("text", QUERIES[:2])
@pytest.mark.parametrize("unit", [1 << 40, 1 << 50])
def test_keys_far_apart_in_time_need_several_calls(text: str, unit: int) -> None:
    frame = rows_of(30, 400, 2, unit=unit)
    expected = run(text, APART, frame)
    assert run(text, JOINED, frame).equals(expected)


@pytest.mark.parametrize("text", QUERIES)
def test_keys_of_many_rows_stand_between_others(text: str) -> None:
    frame = rows_of(30, 400, 3)
    number = np.arange(500)
    many = pa.table({"k": 50 + 0 * number, "ts": number * 3, "x": number / 8})
    frame = pa.concat_tables([frame, many, rows_of(8, 9, 4)])
    expected = run(text, APART, frame)
    assert run(text, JOINED, frame).equals(expected)


@pytest.mark.parametrize("text", QUERIES)
def test_keys_beyond_the_domain_have_nothing(text: str) -> None:
    number = np.arange(80)
    stamps = np.where(number // 8 % 3 == 1, 9000, 100) + number
    frame = pa.table({"k": number // 8, "ts": stamps, "x": number / 8})
    expected = run(text, APART, frame, end=200)
    assert 0 < len(set(expected["k"].to_pylist())) < 10
    assert run(text, JOINED, frame, end=200).equals(expected)


@pytest.mark.parametrize("limit", ["-∞", "last 3", "since ~c", "after ~c"])
def test_rows_before_the_epoch(limit: str) -> None:
    frame = rows_of(30, 400, 6)
    stamps = pa.array(frame["ts"].to_numpy() - 3000)
    frame = frame.set_column(1, "ts", stamps)
    text = f"""\
input x by k : f64 time ts point
e = Rows(~x)
~c[e] = ~x[e] > 0
~a[e] = sum(~x[{limit} : e])
~o[e] = ~x[e] - sum(~a[e-300 : e])
output ~o"""
    assert run(text, SEVERAL, frame).equals(run(text, APART, frame))


def test_one_row_of_each_key() -> None:
    number = np.arange(100)
    frame = pa.table({"k": number, "ts": 1000 - number, "x": number / 8})
    assert run(QUERIES[0], JOINED, frame).equals(run(QUERIES[0], APART, frame))


def test_explain_names_the_keys() -> None:
    text, frame = QUERIES[0], rows_of(30, 400, 1)
    query = tilt.parse(text, options=costing(keys=JOINED))
    assert "keys concatenated in time: 30" in query.explain(inputs={"x": frame})
    text = "input x by k : f64 time ts point\n~o[t] = sum(~x[-∞ : t])"
    query = tilt.parse(text, options=costing(keys=JOINED))
    lines = query.explain(inputs={"x": frame}).splitlines()
    number = lines.index("keys concatenated in time: 30")
    assert lines[number + 1] == "    windows of all the past restart with each key"
    text = "input x by k : f64 time ts point\n~o[t] = ~x[t : next]"
    query = tilt.parse(text, options=costing(keys=JOINED))
    reason = "not concatenated in time: a window of ~o has no bound in time"
    assert reason in query.explain(inputs={"x": frame})


@pytest.mark.parametrize(
    ("text", "dearer"),
    [
        ("input x by k : f64 time ts point\n~o[t] = ~x[t] - mean(~x[t-9 : t])", None),
        (
            "input x by k : f64 time ts point\n~o[t] = ~x[t] > 0.0 ? ~x[t] : φ",
            "cut_loop_starts",
        ),
        (
            "input x by k : f64 time ts until_next\n~o[t] = ~x[t] + 1.0",
            "relaid_loop_starts",
        ),
        (
            "input x by k : f64 time ts point\n~o[t] = sum(~x[-∞ : t])",
            "relaid_loop_starts",
        ),
        (
            "input x by k : f64 time ts point\n~o[t] = median(~x[-∞ : t])",
            "ranked_loop_starts",
        ),
    ],
    ids=["rows", "cut", "relaid", "restarted", "ranked"],
)
def test_more_loops_start_where_concatenation_costs_more(
    text: str, dearer: str | None
) -> None:
    number = np.arange(400)
    frame = pa.table({"k": number % 30, "ts": number, "x": number - 99.5})
    few = dict.fromkeys(LOOP_STARTS, 4)
    for limits in few, few if dearer is None else few | {dearer: 1000}:
        query = tilt.parse(text, options=costing(keys=KeyCosts(**limits)))
        plan = query.explain(inputs={"x": frame})
        assert ("keys concatenated in time: 30" in plan) == (limits == few)
