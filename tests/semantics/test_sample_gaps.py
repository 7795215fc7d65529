"""Values beside gaps of samples, with every way to run them."""

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import Setting
from tests.costs import costing
from tests.random.grids import random_grid_setting
from tests.random.queries import Case
from tests.random.sample_gaps import random_gap_case, random_hop_case
from tests.semantics.test_properties import check
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.costs import RunCosts
from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.print.query import format_query
from tiltpy.ir.reductions import Bound
from tiltpy.lifetimes import Point
from tiltpy.loops.nodes import LExpr
from tiltpy.lowering.vector.carried_values import CarriedValue
from tiltpy.lowering.vector.densify import DensifiedInput
from tiltpy.lowering.vector.doubling_windows import WindowFold
from tiltpy.lowering.vector.pane_ring import PaneRing

RANDOM, BATCH, DEEPER = 20, 20, 100


def check_case(case: Case, seed: int) -> None:
    assert parse(format_query(case.query)) == case.query, f"seed {seed}"
    setting = random_grid_setting(Random(seed), case)  # noqa: S311
    if any(declared.lifetime == Point() for declared in case.query.inputs):
        setting = replace(setting, points=True, nulls=None)
    difference = check(case, setting, exact=True)
    assert difference is None, f"seed {seed}, {setting}\n{difference}"


def count_carried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values that vectors carry from now on: `first`, `last`, or their bounds."""
    carried: list[str] = []
    window, find_bound = CarriedValue.window, CarriedValue.find_bound

    def count(self: CarriedValue, block: Block, cells: int) -> LoopValue:
        carried.append(self.side if self.has_numbers else "cell")
        return window(self, block, cells)

    def count_bound(self: CarriedValue, block: Block, bound: Bound) -> LoopValue:
        carried.append(bound)
        return find_bound(self, block, bound)

    monkeypatch.setattr(CarriedValue, "window", count)
    monkeypatch.setattr(CarriedValue, "find_bound", count_bound)
    return carried


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_gaps(
    batch: int, *, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[str] = []
    lift = WindowFold.lift

    def count(self: WindowFold, block: Block, lifted: State) -> None:
        folds.append(self.aggregate.name)
        lift(self, block, lifted)

    carried = count_carried(monkeypatch)
    copied: list[str] = []
    put = DensifiedInput._put_points

    def count_copied(self: DensifiedInput, block: Block, end: LExpr) -> None:
        copied.append(self.rows.name)
        put(self, block, end)

    monkeypatch.setattr(DensifiedInput, "_put_points", count_copied)
    monkeypatch.setattr(WindowFold, "lift", count)
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            check_case(random_gap_case(seed), seed)
    assert len(copied) >= BATCH // 10
    assert folds.count("first.value") >= 1
    assert carried.count("last") >= BATCH // 4
    assert carried.count("first") >= 1


@pytest.mark.parametrize("gap", [1, 7, 40])
def test_bounds_of_gaps_are_carried(gap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    carried = count_carried(monkeypatch)
    random = Random(gap)  # noqa: S311 - tests, not secrets
    fields = f"line = interpolate(~x, {gap}), age = age(~x, {gap})"
    query = parse(f"input x : f64 sampled 1\n~o[t] = {{ {fields} }}\noutput ~o")
    for lost in (0.02, 0.3, 0.95):
        events = [
            Event(time, time + 1, random.randint(-80, 80) / 8)
            for time in range(300)
            if random.random() >= lost
        ]
        case = Case(query, {"x": events}, None, None, {})
        assert check(case, Setting(vector=True, nulls="samples"), exact=True) is None
    assert {"start", "end", "first", "last"} <= set(carried)


BOUNDS = """
reduction ended(v: bool, start, end) {
    init = -9223372036854775808  acc = max(state, end)  merge = max(a, b)
    result = state
}
reduction begun(v: bool, start, end) {
    init = 9223372036854775807  acc = min(state, start)  merge = min(a, b)
    result = state
}
input x : { a: f64, b: i32 } sampled 3
t = TDom(-∞, ∞, 3)
~o[t] = {
    a = last(v.a for v in ~x[t-27 : t])
    ended_a = ended(true for v in ~x[t-27 : t] if v.a != φ)
    ended_b = ended(true for v in ~x[t-27 : t] if v.b != φ)
    begun_b = begun(true for v in ~x[t : t+60] if v.b != φ)
    b = first(v.b for v in ~x[t : t+60])
    positive = begun(true for v in ~x[t-6 : t+9] if v.b > 0)
    return { a = a, ended_a = ended_a, ended_b = ended_b, begun_b = begun_b, b = b,
             positive = positive }
}
output ~o
"""


@pytest.mark.parametrize("lost", [0.03, 0.5, 0.97])
def test_bounds_are_of_the_values_that_they_are_beside(
    lost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of `a` are found with its values; those of `b` are not those of `a`."""
    carried = count_carried(monkeypatch)
    draws = np.random.default_rng(7)
    columns = {
        name: pa.array(
            draws.integers(-9, 9, 700).astype(kind), mask=draws.random(700) < lost
        )
        for name, kind in (("a", "f8"), ("b", "i4"))
    }
    samples = tilt.sampled(pa.table(columns), start=-30, period=3)
    whole, swept = (
        tilt.parse(BOUNDS, options=costing(run=RunCosts(vector_rows=rows)))
        .run(x=samples)
        .to_arrow()
        for rows in (0, 1 << 40)
    )
    assert whole.equals(swept)
    assert sorted(carried) == sorted(
        ["last", "end", "cell", "end", "first", "start", "cell", "start"]
    )


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_hops(
    batch: int, *, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncertain: list[str] = []
    merge = PaneRing._merge

    def count(
        self: PaneRing,
        block: Block,
        aggregate: Aggregate,
        last: LExpr,
        *,
        certain: bool,
    ) -> State:
        if not certain:
            uncertain.append(aggregate.name)
        return merge(self, block, aggregate, last, certain=certain)

    monkeypatch.setattr(PaneRing, "_merge", count)
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            check_case(random_hop_case(seed), seed)
    assert len(uncertain) >= BATCH // 4


@pytest.mark.parametrize("chunk", [40, 80, 400])
def test_empty_panes_begin_snapshots_at_seams(chunk: int) -> None:
    numbers = np.arange(200 * 40)
    column = pa.array(numbers / 8, mask=numbers // 40 % 3 == 1)
    query = tilt.parse(
        "input x : f64 sampled 1\nt = TDom(-∞, ∞, 40)\n~o[t] = count(~x[t-40 : t])\n"
    )
    samples = tilt.sampled(pa.table({"x": column}), start=0, period=1)
    whole = query.run(x=samples).to_arrow()
    assert whole.num_rows == 199, "the last of 200 has no sample"
    assert query.run(x=samples, chunk=chunk).to_arrow().equals(whole)
