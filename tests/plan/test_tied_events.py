"""Event scans over points that share stamps, and those that see the event before."""

import pytest

from tests.plan.test_dense_events import POINTS
from tests.plan.test_visible_rows import TIED
from tiltpy.abi.layouts import Layout, SamplingGrid
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.plan.nodes import CursorPlan, EventScan, SweepScan


def kernels_of(body: str, layout: Layout) -> QueryKernels:
    query = parse(f"input x : f64\n~o[t] = {body}")
    return QueryKernels(query, {"x": layout}, CompileOptions(cache=False))


def scan_of(body: str, layout: Layout) -> EventScan:
    (choice,) = kernels_of(body, layout).choices
    assert isinstance(choice.plan, EventScan)
    return choice.plan


@pytest.mark.parametrize(
    "value", ["mean(~x[t-100 : t])", "first(~x[t-9 : t-1])", "count(~x[t : t+9])"]
)
def test_events_that_share_stamps_are_visited_one_by_one(value: str) -> None:
    plan = scan_of(f"~x[t] != φ ? {value} : φ", TIED)
    assert [cursor for _, cursor in plan.operands.points] == [CursorPlan.SCAN]
    assert not plan.vectorized
    assert not plan.dense


def test_other_rows_that_overlap_are_swept() -> None:
    layout = Layout(TIED.time, (False,))
    (choice,) = kernels_of("~x[t] != φ ? mean(~x[t-9 : t]) : φ", layout).choices
    assert isinstance(choice.plan, SweepScan)
    assert choice.plan.operands.points[0][1] is CursorPlan.STACK


@pytest.mark.parametrize(
    ("body", "dense"),
    [
        ("session_start(~x, 1000)", True),
        ("~x[t] - last(~x[t-1000 : t-1])", False),
        ("~x[t] != φ ? count(~x[t-1000 : t-1]) > 0 && ~x[t] > 1 : φ", True),
        ("~x[t] - last(~x[t-1000 : t-1]) - mean(~x[t-9 : t])", False),
    ],
)
def test_the_event_before_is_seen_in_vectors(body: str, dense: bool) -> None:
    plan = scan_of(body, POINTS)
    assert plan.vectorized
    assert plan.dense is dense


@pytest.mark.parametrize(
    "body",
    [
        "~x[t] - last(~x[t-1000 : t-2])",
        "~x[t] - first(~x[t-1000 : t-1])",
        "~x[t] - last(v for v in ~x[t-1000 : t-1] if v > 0)",
        "~x[t-1] - last(~x[t-1000 : t-1])",
    ],
)
def test_others_are_no_vectors(body: str) -> None:
    assert not scan_of(body, POINTS).vectorized


def test_cells_are_no_cheaper_than_the_event_before() -> None:
    grids = {"x": SamplingGrid(1, 0, apart=True)}
    refusal = kernels_of("session_start(~x, 15)", POINTS).vector_refusal(grids)
    assert refusal is not None
    assert refusal.reason == "a scan of its rows has fewer visits"


@pytest.mark.parametrize(
    ("ticks", "apart", "vectors"),
    [(17, False, True), (18, False, False), (33, True, True)],
)
def test_windows_of_few_ticks_are_cheaper_at_events(
    ticks: int, *, apart: bool, vectors: bool
) -> None:
    grids = {"x": SamplingGrid(1, 0, apart=apart)}
    body = f"~x[t] != φ ? mean(~x[t-{ticks} : t]) : φ"
    refusal = kernels_of(body, POINTS).vector_refusal(grids)
    assert (refusal is not None) is vectors
    assert scan_of(body, POINTS).vectorized


def test_windows_that_read_many_rows_in_all() -> None:
    def vectorized(windows: int, ticks: int) -> bool:
        means = " + ".join(f"mean(~x[t-{ticks + n} : t])" for n in range(windows))
        return scan_of(f"~x[t] != φ ? {means} : φ", POINTS).vectorized

    assert vectorized(4, 28)
    assert not vectorized(5, 28)
    assert vectorized(10, 8)
