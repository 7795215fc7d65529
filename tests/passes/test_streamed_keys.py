"""Tests of what an output by key is for keys that have no rows, or no new ones."""

import pytest

from tiltpy.frontend.parse import parse
from tiltpy.passes.pipeline import optimize
from tiltpy.passes.streamed_keys import find_key_traits
from tiltpy.plan.key_traits import KeyTraits

HEAD = "input x by k : f64 point\ninput y by k : f64 point\ninput z : f64 point\n"
SPARSE, DENSE, STEADY = "sparse", "dense", "steady"


@pytest.mark.parametrize(
    ("body", "traits"),
    [
        ("~x[t] + 1", {SPARSE, STEADY}),
        ("sum(~x[t-9 : t])", {SPARSE, STEADY}),
        ("count(~x[t-9 : t])", {STEADY}),
        ("count(~x[t-9 : t]) > 0 ? 1 : φ", {SPARSE, STEADY}),
        ("~x[t] != φ ? ~x[t] : ~y[t]", {SPARSE, STEADY}),
        ("~x[t] != φ ? 1 : 0", {STEADY}),
        ("~x[t] * ~z[t]", {SPARSE}),
        ("~x[t] != φ ? ~x[t] : ~z[t]", set()),
        ("~x[t] != φ ? count(~x[t-9 : t]) * ~z[t] : φ", {SPARSE}),
        ("~x[t] + f64(t)", {SPARSE, DENSE}),
        ("count(~x[t-9 : t]) + t", {DENSE}),
    ],
)
def test_traits_of_outputs(body: str, traits: set[str]) -> None:
    """Also where an object in between is φ, or not."""
    sparse, dense, steady = (name in traits for name in (SPARSE, DENSE, STEADY))
    expected = KeyTraits(sparse, dense, steady)
    for text in (f"~o[t] = {body}", f"~a[t] = {body}\n~o[t] = ~a[t-3]"):
        _, optimized = optimize(parse(HEAD + text + "\noutput ~o"))[-1]
        assert find_key_traits(optimized) == {"o": expected}, text


@pytest.mark.parametrize(
    ("domain", "body", "apart"),
    [
        ("", "mean(~x[g-10 : g])", True),
        ("", "mean(~x[g-10 : g]) + count(v for v in ~x[g-10 : g] if v > 2)", True),
        ("", "max(~x[g-10 : g-3]) - min(~x[g-7 : g])", True),
        ("", "mean(~x[g-10 : g-3])", False),  # added up in two blocks of time
        (", 3", "mean(~x[g-10 : g])", False),
        (", 3", "count(~x[g-10 : g])", True),
        ("", "max(~x[g-20 : g])", False),
        ("", "max(~x[g-10 : g+1])", False),
        ("", "max(~x[g-10 : g]) - ~x[g]", False),
        ("", "max(~x[g-10 : g]) - ~z[g]", False),
        ("", "max(~z[g-10 : g]) + count(~x[g-10 : g])", False),
        ("", "max(~x[-∞ : g])", False),
    ],
)
def test_cells_that_see_rows_apart(domain: str, body: str, *, apart: bool) -> None:
    text = f"{HEAD}g = TDom(-∞, ∞, 10{domain})\n~o[g] = {body}\noutput ~o"
    _, optimized = optimize(parse(text))[-1]
    assert find_key_traits(optimized)["o"].apart is apart
