"""Sessions that are saved and resumed: the same bits, and damaged states are named."""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.engines.test_same_bits import bits_of

ROWS = 1200
OBJECTS = {
    "mean": "~o[t] = mean(~x[t-50:t])",
    "std": "~o[t] = std(~x[t-30:t])",
    "nested": "~m[t] = mean(~x[t-30:t])\n~o[t] = sum(~m[t-4:t])",
    "hops": "g = TDom(-inf, inf, 6)\n~o[g] = sum(~x[g-60:g])",
    "past": "~o[t] = sum(~x[-∞:t])",
    "rows": "e = Rows(~x)\n~o[e] = mean(~x[e-70:e])",
}


def draw_rows(random: np.random.Generator, *, regular: bool) -> pa.Table:
    times = np.arange(1, ROWS + 1)
    if not regular:
        times = np.cumsum(random.integers(0, 5, ROWS))
    magnitudes = 10.0 ** random.integers(-3, 4, ROWS)
    values = random.normal(size=ROWS) * magnitudes
    keys = random.choice(["a", "b", "c"], ROWS)
    return pa.table({"time": times, "x": values, "k": keys})


def in_batches(table: pa.Table, random: Random, most: int) -> Iterator[pa.Table]:
    first = 0
    while first < table.num_rows:
        rows = random.randint(1, most)
        yield table.slice(first, rows)
        first += rows


def run_session(
    query: tilt.CompiledQuery, table: pa.Table, most: int, *, resumes: bool
) -> pa.Table:
    """The final snapshots over a table that is pushed in batches."""
    random = Random(most)  # noqa: S311
    live = query.live()
    finals = []
    for batch in in_batches(table, random, most):
        if resumes and random.random() < 0.2:
            live = query.live(resume=live.save())
        finals.append(live.push(x=batch)["o"].final.to_arrow())
    finals.append(live.finish()["o"].final.to_arrow())
    whole = pa.concat_tables(finals)
    if "k" in whole.schema.names:
        whole = whole.sort_by([("k", "ascending"), ("start", "ascending")])
    return whole.drop_columns([n for n in ("k",) if n in whole.schema.names])


@pytest.mark.covering(2)
@pytest.mark.parametrize("keys", ["", " by k"])
@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize("body", OBJECTS.values(), ids=OBJECTS)
def test_neither_batches_nor_restarts_change_a_bit(
    body: str, *, regular: bool, keys: str
) -> None:
    table = draw_rows(np.random.default_rng(5), regular=regular)
    query = tilt.parse(f"input x{keys} : f64 point\n{body}\noutput ~o")
    expected = bits_of(run_session(query, table, ROWS, resumes=False))
    for most in (40, 300):
        live = bits_of(run_session(query, table, most, resumes=True))
        for one, other in zip(live, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("body", OBJECTS.values(), ids=OBJECTS)
def test_irregular_rows_have_the_bits_of_a_run(body: str) -> None:
    table = draw_rows(np.random.default_rng(6), regular=False)
    query = tilt.parse(f"input x : f64 point\n{body}\noutput ~o")
    live = bits_of(run_session(query, table, 100, resumes=True))
    whole = bits_of(query.run(x=table).to_arrow())
    for one, other in zip(live, whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_state_that_is_none_is_named() -> None:
    query = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t]\noutput ~o")
    live = query.live()
    live.push(x=pa.table({"ts": [1, 2, 3], "x": [1.0, 2.0, 3.0]}))
    saved = live.save()
    for place in (40, len(saved) // 2, len(saved) - 1):
        damaged = bytearray(saved)
        damaged[place] ^= 1
        with pytest.raises(tilt.TiltError, match="the state is damaged"):
            query.live(resume=bytes(damaged))
    with pytest.raises(tilt.TiltError, match="no saved state"):
        query.live(resume=b"x" * 100)
    with pytest.raises(tilt.TiltError, match="4 bytes are no saved state"):
        query.live(resume=saved[:4])
    newer = bytearray(saved)
    newer[8] += 1
    with pytest.raises(tilt.TiltError, match="version 5 of the format"):
        query.live(resume=bytes(newer))
    other = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t] + 1\noutput ~o")
    with pytest.raises(tilt.TiltError, match="the state is of another query"):
        other.live(resume=saved)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({}, "saved with x.reorder = 5, and here it is 0"),
        ({"reorder": 6}, "saved with x.reorder = 5, and here it is 6"),
        ({"reorder": 5, "late": "side"}, "saved with x.late = drop, and here it is"),
        ({"reorder": 5, "column": "y"}, "saved with x.column = None, and here it is"),
    ],
)
def test_a_session_goes_on_with_the_options_of_its_inputs(
    other: dict[str, Any], message: str
) -> None:
    query = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t]\noutput ~o")
    live = query.live(x=tilt.ingress(reorder=5))
    live.push(x=pa.table({"ts": [1, 12, 15], "x": [1.0, 2.0, 3.0]}))
    saved = live.save()
    with pytest.raises(tilt.TiltError, match=f"resume: the state was {message}"):
        query.live(resume=saved, x=tilt.ingress(**other))
    with pytest.raises(tilt.TiltError, match="saved with start = None, and here it"):
        query.live(resume=saved, start=3, x=tilt.ingress(reorder=5))
    resumed = query.live(resume=saved, x=tilt.ingress(reorder=5, jump=1000))
    resumed.push(x=pa.table({"ts": [12, 11], "x": [0.5, 0.25]}))
    assert resumed.counts["x"].accepted == 5


def test_states_are_of_the_options_that_made_them() -> None:
    """Other passes leave other states of windows without a bound; rows are the same."""
    text = """
        input x : f64 time ts point
        ~b[t] = ~x[t] > 1.0
        ~n[t] = count(~x[since ~b : t])
        ~o[t] = ~n[t-5] != φ ? ~n[t] : φ
        output {}
    """
    frame = pa.table({"ts": range(9), "x": [float(i % 4) for i in range(9)]})
    plain = tilt.CompileOptions(disabled_passes=frozenset({"fuse_operators"}))
    for output, expected in (("~o", True), ("~b", False)):
        live = tilt.parse(text.format(output)).live()
        live.push(x=frame)
        saved = live.save()
        other = tilt.parse(text.format(output), options=plain)
        if expected:
            with pytest.raises(tilt.TiltError, match="compiled otherwise"):
                other.live(resume=saved)
        else:
            resumed = other.live(resume=saved)
            assert (
                resumed.finish()["b"]
                .final.to_arrow()
                .equals(live.finish()["b"].final.to_arrow())
            )


def test_a_resumed_session_knows_what_was_late() -> None:
    query = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t]\noutput ~o")
    live = query.live(x=tilt.ingress(reorder=3))
    live.push(x=pa.table({"ts": [9, 7], "x": [1.0, 2.0]}))
    live.advance(8)
    resumed = query.live(x=tilt.ingress(reorder=3), resume=live.save())
    assert resumed.complete == live.complete
    assert resumed.counts == live.counts
    resumed.push(x=pa.table({"ts": [8, 9], "x": [3.0, 4.0]}))
    assert resumed.counts["x"].late == 1
