"""Merges that the compiler derives: of totals of integers, and of nothing else."""

import pytest

from tiltpy.frontend.parse import parse
from tiltpy.passes.derive_merges import derive_merges


def derives(clauses: str, parameters: str = "v: i64") -> bool:
    query = parse(
        f"input x : i64\nreduction r({parameters}) {{ {clauses} result = state }}\n"
        "~o[t] = r(~x[t-9 : t])"
    )
    (reduction,) = derive_merges(query).reductions
    return reduction.merge is not None


@pytest.mark.parametrize(
    "clauses",
    [
        "init = 0 acc = state + v",
        "init = 7 acc = v * v + state - 1",
        "init = 0 acc = v > 0 ? state + 1 : state",
        "init = i8(0) acc = state + i8(v)",
        "init = 0 acc = { s = state s = s + v return s }",
        "init = { a = 0, b = 1 } acc = { a = state.a + v, b = state.b + v // 2 }",
    ],
)
def test_totals_of_integers_merge(clauses: str) -> None:
    assert derives(clauses)


@pytest.mark.parametrize(
    "clauses",
    [
        "init = 0.0 acc = state + f64(v)",
        "init = 0 acc = v - state",
        "init = 0 acc = state + state",
        "init = 0 acc = state * 2 + v",
        "init = 0 acc = v",
        "init = 0 acc = state > 9 ? state : state + 1",
        "init = 0 acc = v > 0 ? state + v : 0",
        "init = 0 acc = { s = state > 3 return s ? state + 1 : state + 2 }",
        "init = i64(φ) acc = state + v",
        "init = { a = 0, b = 0 } acc = { a = state.a + v, b = state.a }",
        "init = { a = 0, b = 0 } acc = { a = state.b + v, b = state.a + v }",
        "init = { a = 0, b = 0 } acc = v > 0 ? { a = v, b = v } : state",
    ],
)
def test_what_is_no_total_has_no_merge(clauses: str) -> None:
    assert not derives(clauses)


def test_bounds_of_events_have_no_derived_merge() -> None:
    assert not derives("init = 0 acc = state + end - start", "v: i64, start, end")
