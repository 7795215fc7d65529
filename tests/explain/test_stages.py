"""Sections of `explain` on what Spark would move."""

import pytest

import tiltpy as tilt


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "count(~x[w-10 : w])",
            "~o: rows are folded into panes, whose states are moved",
        ),
        (
            "max(v for v in ~x[w-10 : w] if v < 3.0)",
            "~o: rows are folded into panes, whose states are moved\n"
            "~o: Spark's own aggregates fold, if it has the conditions",
        ),
        (
            "last(v for v in ~x[w-10 : w] if v < 3.0)",
            "~o: rows are folded into panes, whose states are moved",
        ),
        (
            "sum(~x[w-10 : w])",
            "~o: rows are moved: sum of f64 has no exact merge in any order",
        ),
    ],
)
def test_explain_says_what_spark_moves(body: str, line: str) -> None:
    query = tilt.parse(
        f"input x by k : f64 point\nw = TDom(-∞, ∞, 10)\n~o[w] = {body}\noutput ~o\n"
    )
    assert f"== on Spark ==\n{line}\n\n" in query.explain()


def test_explain_is_silent_on_spark_without_keys() -> None:
    query = tilt.parse("input x : f64 point\n~o[t] = ~x[t] + 1.0\noutput ~o\n")
    assert "on Spark" not in query.explain()
