"""Sections of `explain` on what Spark would move."""

import pytest

import tiltpy as tilt


@pytest.mark.parametrize(
    ("reduction", "line"),
    [
        ("count", "~o: rows are folded into panes, whose states are moved"),
        ("sum", "~o: rows are moved: sum of f64 has no exact merge in any order"),
    ],
)
def test_explain_says_what_spark_moves(reduction: str, line: str) -> None:
    query = tilt.parse(
        "input x by k : f64 point\nw = TDom(-∞, ∞, 10)\n"
        f"~o[w] = {reduction}(~x[w-10 : w])\noutput ~o\n"
    )
    assert f"== on Spark ==\n{line}\n" in query.explain()


def test_explain_is_silent_on_spark_without_keys() -> None:
    query = tilt.parse("input x : f64 point\n~o[t] = ~x[t] + 1.0\noutput ~o\n")
    assert "on Spark" not in query.explain()
