"""Constants fold, common subexpressions are shared, dead code goes."""

import pytest

from tests.passes.cases import assert_means_the_same, body, defined, written
from tiltpy.ir.nodes import (
    Const,
    CutPoint,
    Expr,
    Phi,
)
from tiltpy.ir.traversal import walk
from tiltpy.passes.analyses.strictness import strict_in
from tiltpy.passes.eliminate_dead import eliminate_dead
from tiltpy.passes.fold_constants import fold_constants
from tiltpy.passes.share_subexpressions import share_subexpressions

# Constants


@pytest.mark.parametrize(
    ("expression", "folded"),
    [
        ("i8(100) + i8(100)", "i8(-56)"),
        ("i8(-128) // i8(-1)", "i8(-128)"),
        ("i64(7) // i64(-2)", "i64(-4)"),
        ("i64(7) % i64(-2)", "i64(-1)"),
        ("u8(1) - u8(2)", "u8(255)"),
        ("i8(300.7)", "i8(127)"),
        ("u8(-3.5)", "u8(0)"),
        ("f64(3) / f64(0)", "1.0 / 0.0"),
        ("f32(16777217)", "f32(16777216)"),
        ("abs(i8(-128))", "i8(-128)"),
        ("round(f64(2.5))", "2.0"),
        ("sqrt(f64(2))", "1.4142135623730951"),
        ("max(f64(1), f64(2))", "2.0"),
        ("!(i64(1) < i64(2))", "f64(1) > f64(2)"),
        ("~m[t] * 1", "~m[t]"),
        ("~m[t] + 0", "~m[t]"),
        ("~n[t] * 1", "~n[t]"),
        ("i64(1) > i64(0) ? ~m[t] : ~m[t-1]", "~m[t]"),
        ("(i64(1) > i64(0) && ~m[t] > 2) ? ~m[t] : φ", "~m[t] > 2 ? ~m[t] : φ"),
        ("{ x = ~m[t], y = ~n[t] }.x", "~m[t]"),
        ("{ p = { x = ~m[t] }\n return p.x + p.x }", "~m[t] + ~m[t]"),
        ("{ k = i64(2) * i64(3)\n return ~m[t] * k }", "~m[t] * 6"),
        ("(~m[t] != φ) ? 1 > 0 : 1 < 0", "~m[t] != φ"),
        ("count(~m[t-1:t]) != φ", "1 > 0"),
    ],
)
def test_constants_fold(expression: str, folded: str) -> None:
    assert _folded(expression) == _folded(folded)


@pytest.mark.parametrize("expression", ["i64(1) // i64(0)", "i64(1) % i64(0) + ~m[t]"])
def test_integers_by_zero_fold_to_phi(expression: str) -> None:
    assert isinstance(_folded(expression), Phi)


@pytest.mark.parametrize(
    "expression",
    ["~n[t] + 0", "~n[t] * 0", "~m[t] * 0", "~m[t] - ~m[t]", "exp(~n[t] * 0 + 1)"],
)
def test_what_is_not_constant_stays(expression: str) -> None:
    assert not isinstance(_folded(expression), Const)
    assert strict_in(_folded(expression))


def test_library_functions_and_nan_are_left_to_the_machine() -> None:
    for expression in ("exp(f64(1))", "f64(0) / f64(0)", "f64(1) // f64(0.1)"):
        assert not isinstance(_folded(expression), Const)


def test_a_folded_reference_still_cuts() -> None:
    query = written("~o[t] = i64(1) > i64(0) ? 5 : ~m[t]")
    folded = fold_constants(query)
    assert isinstance(folded.definitions[0].body, Const)
    assert folded.definitions[0].cuts == (CutPoint("m", 0),)
    assert len(assert_means_the_same(query, folded)["o"]) > 5


def _folded(expression: str) -> Expr:
    return fold_constants(written(f"~o[t] = {expression}")).definitions[0].body


# Sharing and dead code


def test_sharing_computes_once() -> None:
    query = written("~o[t] = ~m[t] * 3 > 40 ? ~m[t] * 3 : 2 - ~m[t] * 3")
    shared = share_subexpressions(query)
    assert shared.definitions[0].body == body(
        "{ shared = ~m[t] * 3\n return shared > 40 ? shared : 2 - shared }"
    )
    assert_means_the_same(query, shared)


def test_sharing_within_one_branch_stays_there() -> None:
    query = written("~o[t] = ~m[t] > 0 ? (~m[t] * 3) * (~m[t] * 3) : 0")
    (definition,) = share_subexpressions(query).definitions
    kinds = [type(node).__name__ for node in walk(definition.body)]
    assert kinds[0] == "If"
    assert kinds.count("Let") == 1


def test_sharing_merges_names_and_windows() -> None:
    query = written(
        """~o[t] = { a = sum(~m[t-3:t])
                     b = sum(~m[t-3:t]) + 1
                     return a * b + sum(~m[t-3:t]) }"""
    )
    shared = share_subexpressions(query)
    nodes = list(walk(shared.definitions[0].body))
    assert sum(type(node).__name__ == "Reduce" for node in nodes) == 1
    assert_means_the_same(query, shared)


def test_dead_code_goes_but_what_cuts_stays() -> None:
    query = written(
        """~spare[t] = ~m[t] * 2
           ~seen[t] = ~m[t] > 15
           ~o[t] = { unused = ~m[t] + 1
                     return i64(1) > i64(0) ? 5 : i64(~seen[t]) }
           output ~o"""
    )
    left = eliminate_dead(fold_constants(query))
    assert defined(left) == ("seen", "o")
    assert isinstance(left.definitions[1].body, Const)
    assert len(left.inputs) == 3
    assert_means_the_same(query, left)
