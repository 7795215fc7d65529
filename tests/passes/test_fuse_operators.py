"""Fusion: what is substituted into what, and that no snapshot changes by it."""

from dataclasses import replace

import pytest

from tests.passes.cases import (
    FUSED,
    Fused,
    assert_means_the_same,
    body,
    defined,
    written,
)
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.nodes import (
    CutPoint,
    InlinedCut,
)
from tiltpy.ir.traversal import depth, walk
from tiltpy.limits import MAX_DEPTH
from tiltpy.passes.analyses.strictness import never_phi, strict_in
from tiltpy.passes.fuse_operators import fuse_operators
from tiltpy.passes.pipeline import optimize


@pytest.mark.parametrize("case", FUSED, ids=lambda case: case.name)
def test_fusion(case: Fused) -> None:
    query = written(case.text, disjoint=case.disjoint)
    fused = fuse_operators(query)
    assert defined(fused) == tuple(case.left.split())
    expected = assert_means_the_same(query, fused)
    assert any(expected.values())
    for disabled in (frozenset[str](), frozenset({"fold_constants"})):
        for _, stage in optimize(query, disabled):
            assert_means_the_same(query, stage)


def test_one_gap_is_one_snapshot_fused_or_not() -> None:
    query = written(FUSED[2].text)
    events = {"n": [Event(i, i + 1, v) for i, v in enumerate((1.0, -1.0, -2.0, 3.0))]}
    events |= {"m": [], "s": []}
    expected = [(0, 1, 1.0), (1, 3, 0.0), (3, 4, 3.0)]
    assert interpret(query, events)["o"] == expected
    assert interpret(fuse_operators(query), events)["o"] == expected


def test_a_strict_reader_takes_plain_cuts() -> None:
    query = written("~a[t] = ~m[t] * 2  ~o[t] = ~a[t-1] != φ ? ~a[t-1] : φ")
    assert fuse_operators(query).definitions[0].cuts == (CutPoint("m", -1),)


def test_another_reader_carries_them_with_the_value() -> None:
    query = written("~a[t] = ~m[t] * 2  ~o[t] = ~a[t-1] != φ ? 1 : 0")
    (cut,) = fuse_operators(query).definitions[0].cuts
    assert isinstance(cut, InlinedCut)
    assert cut.cuts == (CutPoint("m", -1),)


def test_what_plain_cuts_imply_is_not_carried() -> None:
    query = written("~a[t] = ~m[t] * 2  ~o[t] = ~a[t] != φ ? ~m[t] : 0")
    query = replace(query, outputs=("o",))
    assert fuse_operators(query).definitions[0].cuts == (CutPoint("m", 0),)


def test_bodies_stay_within_the_limits() -> None:
    chain = "~a0[t] = ~m[t] + 1\n" + "\n".join(
        f"~a{i}[t] = ~a{i - 1}[t] * ~a{i - 1}[t-1] + ~a{i - 1}[t-2]"
        for i in range(1, 12)
    )
    tower = "~a0[t] = ~m[t] + 1\n" + "\n".join(
        f"~a{i}[t] = ~a{i - 1}[t] * 2" for i in range(1, 300)
    )
    for text in (chain, tower):
        query = optimize(written(text))[-1][1]
        for definition in query.definitions:
            assert depth(definition.body) <= MAX_DEPTH
            assert sum(1 for _ in walk(definition.body)) <= 500


def test_names_that_stand_for_exponentially_many_nodes() -> None:
    lines = "\n".join(f"v{i} = v{i - 1} + v{i - 1}" for i in range(1, 60))
    text = f"~a[t] = {{ v0 = ~m[t]\n{lines}\nreturn v59 }}  ~o[t] = sum(~a[t-3:t])"
    query = written(text, disjoint=True)
    assert_means_the_same(query, optimize(query)[-1][1])


# Strictness

M0, N0, S0 = CutPoint("m", 0), CutPoint("n", 0), CutPoint("s", 0)


@pytest.mark.parametrize(
    ("expression", "strict"),
    [
        ("~m[t] + 1", {M0}),
        ("~m[t] + ~n[t]", {M0, N0}),
        ("f32(-~m[t])", {M0}),
        ("sqrt(~n[t])", {N0}),
        ("~s[t].a", {S0}),
        ("~m[t] != φ", set[CutPoint]()),
        ("~m[t] > 0 ? ~m[t] : φ", {M0}),
        ("~m[t] > 0 ? ~n[t] : φ", {M0, N0}),
        ("~m[t] > 0 ? ~n[t] : 1.0", {M0}),
        ("~m[t] != φ ? ~m[t] : φ", {M0}),
        ("~m[t] != φ ? 1 : φ", {M0}),
        ("~m[t] != φ ? 1 : 0", set()),
        ("~m[t] == φ ? φ : 1", {M0}),
        ("~m[t] == φ ? 1 : φ", set()),
        ("(~m[t] != φ && ~n[t] != φ) ? 1 : φ", {M0, N0}),
        ("(~m[t] != φ || ~n[t] != φ) ? 1 : φ", set()),
        ("(~m[t] != φ || ~n[t] != φ) ? ~n[t] : φ", {N0}),
        ("(~m[t] == φ || ~n[t] == φ) ? φ : 1", {M0, N0}),
        ("!(~m[t] == φ) ? 1 : φ", {M0}),
        ("~m[t] > 0 && ~n[t] > 0", set()),
        ("~m[t] > 0 && ~m[t] < 9", {M0}),
        ("start(~m[t]) + 1", {M0}),
        ("sum(~m[t-3:t])", set()),
        ("{ x = ~m[t], y = ~n[t] }", set()),
        ("{ x = ~m[t], y = ~n[t] }.y", {N0}),
        ("~m[t] != φ ? { x = ~m[t], y = ~n[t] } : φ", {M0}),
        ("{ a = ~m[t] > 0\n return a ? 1 : φ }", {M0}),
        ("{ a = ~m[t] != φ\n return a ? 1 : φ }", {M0}),
    ],
)
def test_strictness(expression: str, strict: set[CutPoint]) -> None:
    assert strict_in(body(expression)) == strict


@pytest.mark.parametrize(
    ("expression", "total"),
    [
        ("1", True),
        ("t * 2", True),
        ("count(~m[t-1:t]) + 1", True),
        ("sum(~m[t-1:t])", False),
        ("~m[t] != φ ? 1 : 0", True),
        ("~m[t] > 0 ? 1 : 0", False),
        ("t // count(~m[t-1:t])", False),
        ("{ x = ~m[t] }", True),
        ("{ a = count(~m[t-1:t])\n return a * a }", True),
    ],
)
def test_what_is_never_phi(expression: str, total: bool) -> None:
    assert never_phi(body(expression)) is total
