"""Golden loop IR of vector kernels: a small one for each shape and form."""

from dataclasses import replace

import pytest

from tests import GOLDEN
from tests.lowering.sweep.test_golden_kernels import check_golden, described
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import Shape
from tiltpy.compiler.query_kernels import specialise
from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.frontend.parse import parse
from tiltpy.loops.nodes import For
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.vector.kernel import lower_vector
from tiltpy.passes.pipeline import optimize
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.strategies.vector_kernel import plan_vector

SAMPLED = Layout(TimeLayout.SAMPLED, (False,))
NULLABLE = Layout(TimeLayout.SAMPLED, (True,))
CONTIGUOUS = Layout(TimeLayout.CONTIGUOUS, (False,))

MAP = "input m : f32\n~o[t] = ~m[t] + 1"
WHERE = "input m : f32\n~o[t] = ~m[t] > 0 ? ~m[t] : φ"
STENCIL = "input m : f32\n~o[t] = ~m[t] - mean(~m[t-3:t])"
BLOCKS = "input m : i32\n~o[t] = max(~m[t-150:t])"
PANES = "input m : f32\nu = TDom(-∞, ∞, 100)\n~o[u] = sum(~m[u-100:u])"
NULLS = "input m : i32\nu = TDom(-∞, ∞, 40)\n~o[u] = max(~m[u-40:u])"
SHORT_HOPS = "input m : i32\nu = TDom(-∞, ∞, 4)\n~o[u] = sum(~m[u-4:u])"
SPREAD = "input m : i32\n~o[t] = sum(~m[t-3:t])"
LOOPS = (
    "input m : i32\nu = TDom(-∞, ∞, 4)\n~a[u] = sum(~m[u-4:u])\n~o[t] = ~a[t] + ~m[t]"
)
COLUMNS = (
    "input m : { a: i32, b: f32 }\n"
    "~o[t] = { a = sum(~m[t-3:t].a), b = max(~m[t-2:t].b) }"
)
UNALIGNED = "input m : f32\nu = TDom(-∞, ∞, 5)\n~o[u] = ~m[u]"
SLOW = "input m : f32\n~o[t] = ~m[t] - ~m[t-2]"

CASES = {
    "map": (MAP, SAMPLED, 1, Shape.MAP),
    "where": (WHERE, SAMPLED, 1, Shape.MAP),
    "stencil": (STENCIL, SAMPLED, 1, Shape.STENCIL),
    "blocks": (BLOCKS, SAMPLED, 1, Shape.STENCIL),
    "panes": (PANES, SAMPLED, 1, Shape.PANES),
    "panes_nullable": (NULLS, NULLABLE, 1, Shape.PANES),
    "short_hops": (SHORT_HOPS, SAMPLED, 1, Shape.STENCIL),
    "spread": (SPREAD, CONTIGUOUS, 1, Shape.STENCIL),
    "loops": (LOOPS, SAMPLED, 1, Shape.MAP),
    "unaligned": (UNALIGNED, SAMPLED, 4, Shape.MAP),
    "slow": (SLOW, SAMPLED, 7, Shape.MAP),
}


def lowered(
    text: str, layout: Layout, period: int, costs: Costs = DEFAULT_COSTS
) -> LoweredKernel | Refusal:
    layouts = {"m": layout}
    _, query = optimize(specialise(parse(text), layouts), frozenset())[-1]
    grids = {"m": SamplingGrid(period, 0)}
    costs = replace(costs, merged_cells=period + 1)  # else a merge of rows serves
    plan = plan_vector(query, layouts, grids, costs)
    return plan if isinstance(plan, Refusal) else lower_vector(plan)


@pytest.mark.parametrize("name", CASES)
def test_vector_kernels(name: str, *, update_golden: bool) -> None:
    text, layout, period, shape = CASES[name]
    plan = lowered(text, layout, period)
    assert isinstance(plan, LoweredKernel)
    assert plan.signature.loops[-1].shape is shape
    path = GOLDEN / "loops" / f"grid_{name}.txt"
    check_golden(path, described(text, plan), update=update_golden)


def columns(costs: Costs = DEFAULT_COSTS) -> LoweredKernel:
    """The kernel of a struct of two columns."""
    layout = Layout(TimeLayout.SAMPLED, (False, False))
    plan = lowered(COLUMNS, layout, 1, costs)
    assert isinstance(plan, LoweredKernel)
    return plan


def distributed() -> LoweredKernel:
    """The kernel of the struct where each loop carries one vector."""
    return columns(Costs(carried_vectors=1))


def test_columns_have_loops_of_their_own(*, update_golden: bool) -> None:
    path = GOLDEN / "loops" / "grid_columns.txt"
    check_golden(path, described(COLUMNS, distributed()), update=update_golden)
    assert loops_of(distributed()) == loops_of(columns()) + 1


def loops_of(plan: LoweredKernel) -> int:
    return sum(isinstance(statement, For) for statement in plan.kernel.body)


@pytest.mark.parametrize(
    "text",
    [
        "input m : f64\nu = TDom(0, 50, 1)\n~o[u] = ~m[u]",
        "input m : f64\nu = TDom(-∞, ∞, 4)\nw = TDom(-∞, ∞, 6)\n"
        "~a[u] = ~m[u]\n~o[w] = ~m[w]\noutput ~a, ~o",
    ],
)
def test_queries_without_a_vector_kernel(text: str) -> None:
    assert isinstance(lowered(text, SAMPLED, 1), Refusal)


def test_lowering_is_deterministic() -> None:
    first, again = (lowered(LOOPS, SAMPLED, 1) for _ in range(2))
    assert isinstance(first, LoweredKernel)
    assert isinstance(again, LoweredKernel)
    assert first.signature == again.signature
    assert first.kernel.body == again.kernel.body
