"""Texts of `explain(format="live")`: finality of outputs, rows held, keys forgotten."""

import pytest

import tiltpy as tilt

CASES = {
    "~o[t] = mean(~x[t-30s : t])": """\
~o: final when ~x is complete
  ~x: the rows of the last 1m are kept
""",
    "~o[t] = ~x[t+5s] - ~x[t]": """\
~o: final when ~x is complete 5s beyond
  ~x: the rows that still last are kept
""",
    "g = TDom(-∞, ∞, 1m)\n~o[g] = sum(~x[g-1m : g])": """\
~o: final when ~x is complete
  ~x: the rows of the last 2m are kept
""",
    "~o[t] = ~x[t : next]": """\
~o: refused: it looks ahead into ~x without a bound
  ~x: the rows of the last 2s are kept
""",
    "~o[t] = sum(~x[last 3 : t])": """\
~o: final when ~x is complete
  ~x: the rows of the last 1s are kept and 3 rows before them
""",
}


@pytest.mark.parametrize("body", CASES)
def test_outputs_and_rows(body: str) -> None:
    query = tilt.parse(f"unit s\ninput x : f64 time ts point\n{body}\noutput ~o")
    assert query.explain(format="live") == CASES[body]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("~x[t]", "a key is forgotten once its rows are out of reach"),
        ("count(~x[t-5 : t])", "a key stays: there are values where it has no rows"),
    ],
)
def test_keys(body: str, text: str) -> None:
    query = tilt.parse(f"input x by k : f64 time ts point\n~o[t] = {body}\noutput ~o")
    assert query.explain(format="live").splitlines()[-1] == f"  {text}"
