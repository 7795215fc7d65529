"""Windows over samples of which vector kernels read what does not exist.

Random queries with costs that guard all inputs and make blocks of blocks of a few
vectors, beside sweeps; and long windows at the costs that users have, beside NumPy.
"""

from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import costing
from tests.random.long_windows import LongWindows
from tiltpy.costs import RunCosts
from tiltpy.lowering.vector.nested_blocks import NestedBlocks
from tiltpy.plan import vector_plan
from tiltpy.plan.cell_geometry import CellGeometry
from tiltpy.plan.guarded_inputs import find_empty_starts

RANDOM, BATCH, DEEPER = 6, 3, 670
SWEEP = costing(run=RunCosts(vector_rows=1 << 40))
SMALL: dict[str, int] = {
    "longest_tree": 32,
    "longest_narrow_tree": 40,
    "guarded_window": 1,
    "nested_window": 64,
    "short_block": 2,
}
RUN = RunCosts(vector_rows=0, baseline_rows=0)


def check_case(seed: int) -> None:
    case = LongWindows(seed)
    random = case.random
    sizes = SMALL | {"short_block": random.choice((2, 2, 3, 5))}
    options = costing(run=RUN, **sizes)
    options = replace(options, optimize=random.random() < 0.2)
    start, end = case.bounds()
    chunk = random.choice((None, None, 16, 50, 333))
    inputs: dict[str, Any] = dict(case.frames())
    meant = tilt.parse(case.text, options=SWEEP).run(**inputs, start=start, end=end)
    found = tilt.parse(case.text, options=options).run(
        **inputs,
        start=start,
        end=end,
        workers=random.choice((1, 2)),
        chunk=None if chunk is None else chunk * case.period,
    )
    for name in case.outputs:
        table, other = (each[name].to_arrow() for each in (found, meant))
        where = f"seed {seed}, {start} to {end}, chunk {chunk}\n{case.text}"
        assert _same(table, other, name, single="f32" in case.text), (
            f"{where}\n{table}\n{other}"
        )


def _same(found: pa.Table, meant: pa.Table, name: str, *, single: bool) -> bool:
    """Tell whether times are equal, and values but for rounding: `single` in part."""
    if found.drop([name]) != meant.drop([name]):
        return False
    values, others = (np.asarray(each[name], np.float64) for each in (found, meant))
    scale = np.nanmax(np.abs(others), initial=1.0)
    tolerance = scale * (1e-5 if single else 1e-9)
    return np.allclose(values, others, rtol=0, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_windows_over_samples(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            check_case(seed)


def test_random_cases_reach_guards_and_blocks_of_blocks() -> None:
    reached = {"guarded": 0, "empty": 0, "nested": 0}
    make = NestedBlocks.__init__

    def find_empty(geometry: CellGeometry, guarded: frozenset[str]) -> frozenset[str]:
        names = find_empty_starts(geometry, guarded)
        reached["guarded"] += bool(guarded)
        reached["empty"] += bool(names)
        return names

    def init(self: NestedBlocks, *arguments: Any) -> None:
        reached["nested"] += 1
        make(self, *arguments)

    with (
        patch.object(vector_plan, "find_empty_starts", find_empty),
        patch.object(NestedBlocks, "__init__", init),
    ):
        for seed in range(12):
            check_case(seed)
    assert all(count > 2 for count in reached.values()), reached


def test_a_fold_without_a_merge_beside_a_long_window() -> None:
    text = """
        input x : f64 sampled 1
        reduction turns(v: f64) {
            init = { n = 0 }
            acc = { n = (state.n + 1) % 5 }
            result = state.n
        }
        ~o[t] = { turns = turns(~x[-∞ : t]), mean = mean(~x[t-50 : t]) }
        output ~o
    """
    query = tilt.parse(text, options=costing(run=RUN, **SMALL))
    table = query.run(x=tilt.sampled(np.ones(300), 0, 1)).to_arrow()
    assert table["turns"].to_pylist() == [n % 5 for n in range(1, 301)]
    assert set(table["mean"].to_pylist()) == {1.0}


BITS = {
    "mean": "~o[t] = mean(~x[t-50 : t])",
    "f32": "~o[t] = std(f32(v) for v in ~x[t-90 : t]) + f32(sum(~x[t-30 : t]))",
    "blocks": "~o[t] = std(~x[t-700 : t]) - ~x[t-3]",
    "blocks of blocks": "~o[t] = mean(~x[t-3000 : t])",
    "ahead": "~o[t] = sum(~x[t-20 : t+35])",
    "left out": "~o[t] = ~x[t] > 0 ? mean(~x[t-40 : t]) : φ",
    "fields": "~o[t] = { a = mean(~x[t-40 : t]), b = ~x[t] > 0 ? ~x[t] : φ }",
    "two objects": "~m[t] = mean(~x[t-60 : t])\n~o[t] = std(~m[t-200 : t])",
}
"""Outputs with a value in each cell, packed ones, and such with fields that are φ."""


@pytest.mark.parametrize("name", BITS)
def test_no_bit_depends_on_where_a_run_begins(name: str) -> None:
    """Of floats whose sums round, from numbers of many magnitudes."""
    random = Random(name)  # noqa: S311
    draws = np.random.default_rng(random.randint(0, 2**32))
    values = draws.normal(size=9_000) * 10.0 ** draws.integers(-3, 4, 9_000)
    x = tilt.sampled(values, random.randint(-99, 99), 1)
    text = f"input x : f64 sampled 1\n{BITS[name]}\noutput ~o"
    sizes = SMALL | {"guarded_window": 1_000, "nested_window": 2_000}
    query = tilt.parse(text, options=costing(run=RUN, **sizes))
    whole = query.run(x=x).to_arrow().combine_chunks()
    ends = whole["end"].to_numpy()
    for _ in range(8):
        start = random.randint(3_500, 8_000)
        end = start + random.choice((1, 5, 40, 900))
        meant = whole.filter((ends > start) & (ends <= end))
        for chunk in (None, random.choice((7, 100, 300))):
            run = query.run(x=x, start=start, end=end, chunk=chunk, workers=1)
            assert run.to_arrow().combine_chunks().equals(meant), (start, end, chunk)
