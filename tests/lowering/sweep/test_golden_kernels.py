"""Kernels: golden loop IR for each shape and layout, and what LLVM makes of them."""

import re
from pathlib import Path

import pytest

from tests import GOLDEN
from tests.compiled import NO_STRATEGIES
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import Shape
from tiltpy.api import CompiledQuery
from tiltpy.codegen.jit import format_optimized
from tiltpy.compiler.lazy_code import LazyCode
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.loops.printer import format_kernel
from tiltpy.lowering.lowered import LoweredKernel

SAMPLED = Layout(TimeLayout.SAMPLED, (False,))
CONTIGUOUS = Layout(TimeLayout.CONTIGUOUS, (False,))
INTERVALS = Layout(TimeLayout.INTERVALS, (False,))
NULLABLE = Layout(TimeLayout.INTERVALS, (True,))
OVERLAPPING = Layout(TimeLayout.OVERLAPPING, (False,))
UNORDERED = Layout(TimeLayout.OVERLAPPING, (False,), fifo=False)
POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)

WHERE = "input m : f64\n~o[t] = ~m[t] > 0 ? ~m[t] + 1 : φ"
DISTINCT = "input m : f64\ndistinct ~o[t] = ~m[t] > 0 ? ~m[t] + 1 : φ"
BOUNDS = "input m : f64\ndistinct ~d[t] = ~m[t] > 0\n~o[t] = t - start(~d[t])"
JOIN = "input m : f64\ninput n : f64\n~o[t] = ~m[t] + ~n[t-1]"
UNORDERED_TREE = "input m : f32\n~o[t] = sum(~m[t-3 : t]) - max(~m[t-3 : t])\n"
SLIDE = "input m : i32\n~o[t] = sum(~m[t-3:t])"
SMOOTH = "input m : f32\n~o[t] = max(v for v in ~m[t-3:t] if v != 0)"
COARSE = "input m : f64\nu = TDom(-∞, ∞, 5)\n~o[u] = mean(~m[u-10:u]) - ~m[u]"
PANES = "input m : f32\nu = TDom(-∞, ∞, 100)\n~o[u] = mean(~m[u-100:u])"
FILL = "input m : f64\n~w[t] = ~m[t] > 0 ? ~m[t] : φ\n~o[t] = ~w[t] != φ ? ~w[t] : 0"
TREND = "input m : f32\n~o[t] = mean(~m[t-20:t]) > mean(~m[t-50:t])"
ROLLING = "input m : f64\n~o[t] = ~m[t] - mean(~m[t-1000:t])"
TUMBLE = "input m : f32\nu = TDom(-∞, ∞, 1000)\n~o[u] = sum(~m[u-1000:u])"
AVERAGE = "input m : f64\n~o[t] = ~m[t] != φ ? recursive_ema(~m, 0.5) : φ"
LATEST = "input m : f64\n~o[t] = ~m[t] - mean(~m[last 5 : t])"
LOOKUP = (
    "input m : f64\ninput n : f64\nu = TDom(-∞, ∞, 5)\n"
    "~o[u] = ~m[u] != φ && ~n[u] != φ ? ~m[u] + ~n[u] : φ"
)
TEMPORARY = (
    "input m : f64\ninput n : f64\n~j[t] = ~m[t] + ~n[t]\n~o[t] = sum(~j[t-5:t])"
)

ROWS = "input m : f64\ninput n : f64\ne = Rows(~m)\n"
ROW_JOIN = ROWS + "~o[e] = { m = ~m[e], n = ~n[e] }"
ROW_WINDOW = ROWS + "~o[e] = ~m[e] - sum(~n[e-5:e])"

CASES = {
    "row_join_overlapping": (ROW_JOIN, {"m": OVERLAPPING, "n": CONTIGUOUS}),
    "row_window_overlapping": (ROW_WINDOW, {"m": OVERLAPPING, "n": OVERLAPPING}),
    "where_intervals": (WHERE, {"m": INTERVALS}),
    "distinct_intervals": (DISTINCT, {"m": INTERVALS}),
    "distinct_bounds": (BOUNDS, {"m": POINTS}),
    "where_nullable": (WHERE, {"m": NULLABLE}),
    "where_overlapping": (WHERE, {"m": OVERLAPPING}),
    "join_contiguous": (JOIN, {"m": CONTIGUOUS, "n": CONTIGUOUS}),
    "slide_intervals": (SLIDE, {"m": INTERVALS}),
    "slide_unordered": (SLIDE, {"m": UNORDERED}),
    "rolling_unordered": (UNORDERED_TREE, {"m": UNORDERED}),
    "smooth_nullable": (SMOOTH, {"m": NULLABLE}),
    "coarse_contiguous": (COARSE, {"m": CONTIGUOUS}),
    "fill_intervals": (FILL, {"m": INTERVALS}),
    "trend_contiguous": (TREND, {"m": CONTIGUOUS}),
    "rolling_intervals": (ROLLING, {"m": INTERVALS}),
    "rolling_points": (ROLLING, {"m": POINTS}),
    "average_points": (AVERAGE, {"m": POINTS}),
    "latest_points": (LATEST, {"m": POINTS}),
    "tumble_contiguous": (TUMBLE, {"m": CONTIGUOUS}),
    "lookup_intervals": (LOOKUP, {"m": INTERVALS, "n": NULLABLE}),
    "temporary_contiguous": (TEMPORARY, {"m": CONTIGUOUS, "n": CONTIGUOUS}),
}
GRID = {"m": SamplingGrid(1, 0), "n": SamplingGrid(1, 0)}
GRID_CASES = {
    "join_sampled": (JOIN, {"m": SAMPLED, "n": SAMPLED}),
    "slide_sampled": (SLIDE, {"m": SAMPLED}),
    "coarse_sampled": (COARSE, {"m": SAMPLED}),
    "panes_sampled": (PANES, {"m": SAMPLED}),
    "slide_short": (SLIDE, {"m": INTERVALS}),
}


def specialised(text: str, layouts: dict[str, Layout]) -> QueryKernels:
    return QueryKernels(parse(text), layouts, CompileOptions())


def check_golden(path: Path, found: str, *, update: bool) -> None:
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found)
    assert path.read_text() == found, f"{path.name}: --update-golden rewrites it"


@pytest.mark.parametrize("name", CASES)
def test_general_kernels(name: str, *, update_golden: bool) -> None:
    text, layouts = CASES[name]
    plan = specialised(text, layouts).sweep_code.lower()
    check_golden(
        GOLDEN / "loops" / f"{name}.txt", described(text, plan), update=update_golden
    )


@pytest.mark.parametrize("name", GRID_CASES)
def test_vector_kernels(name: str, *, update_golden: bool) -> None:
    text, layouts = GRID_CASES[name]
    grid = vector_code(text, layouts)
    check_golden(
        GOLDEN / "loops" / f"{name}.txt",
        described(text, grid.lower()),
        update=update_golden,
    )


def vector_code(text: str, layouts: dict[str, Layout]) -> LazyCode:
    sampling_grids = {name: GRID[name] for name in layouts}
    found = specialised(text, layouts).vector_code(sampling_grids)
    assert found is not None
    return found


def optimized_ir(lazy: LazyCode) -> str:
    return format_optimized(lazy.lower().kernel, lazy.code())


def described(text: str, lowered: LoweredKernel) -> str:
    shapes = "\n".join(
        f"~{loop.name}: {loop.shape.value}" for loop in lowered.signature.loops
    )
    return f"{text}\n\n{shapes}\n\n{format_kernel(lowered.kernel)}"


@pytest.mark.parametrize(
    ("text", "layout", "shape"),
    [
        ("input m : f64\n~o[t] = ~m[t] + 1", INTERVALS, Shape.ROWS),
        ("input m : f64\n~o[t] = ~m[t] + 1", NULLABLE, Shape.ROWS),
        ("input m : f64\n~o[t] = ~m[t] + 1", OVERLAPPING, Shape.SWEEP),
        ("input m : f64\n~o[t] = ~m[t-1] + 1", INTERVALS, Shape.SWEEP),
        ("input m : f64\n~o[t] = ~m[t] != φ ? 1 : 0", INTERVALS, Shape.SWEEP),
        ("input m : f64\n~o[t] = f64(t) * ~m[t]", INTERVALS, Shape.SWEEP),
    ],
)
def test_the_most_special_shape_that_fits(
    text: str, layout: Layout, shape: Shape
) -> None:
    (loop,) = specialised(text, {"m": layout}).sweep_code.lower().signature.loops
    assert loop.shape is shape


def test_general_shapes_can_be_asked_for() -> None:
    options = CompileOptions(disabled_strategies=NO_STRATEGIES)
    query = parse("input m : f64\n~o[t] = ~m[t] + 1")
    compiled = QueryKernels(query, {"m": SAMPLED}, options)
    (loop,) = compiled.sweep_code.lower().signature.loops
    assert loop.shape is Shape.SWEEP
    assert compiled.vector({"m": SamplingGrid(1, 0)}) is None


def test_a_map_vectorises() -> None:
    query = specialised("input m : f32\n~o[t] = ~m[t] + 1", {"m": SAMPLED})
    text = optimized_ir(query.sweep_code)
    assert re.search(r"fadd <\d+ x float>", text)


def test_a_window_over_samples_leaves_a_vectorised_loop() -> None:
    text = "input m : f32\n~o[t] = mean(~m[t-20:t]) > mean(~m[t-50:t])"
    optimized = optimized_ir(vector_code(text, {"m": SAMPLED}))
    assert re.search(r"fcmp ogt <16 x float>", optimized)


def test_explain_shows_every_stage(*, update_golden: bool) -> None:
    text = (
        "unit d\ninput stock : f64\n"
        "~a10[t] = mean(~stock[t-10:t])\n~a20[t] = mean(~stock[t-20:t])\n"
        "~gap[t] = ~a10[t] - ~a20[t+1]\n~trend[t] = ~gap[t] > 0 ? ~gap[t] : φ\n"
        "output ~trend\n"
    )
    shown = CompiledQuery(parse(text)).explain()
    steady = re.sub(r" +\d+\.\d ms", "   ... ms", shown)
    check_golden(GOLDEN / "explain" / "trend.txt", steady, update=update_golden)
