"""Tests of where objects by key may have boundaries, by the edges of rows."""

import pytest

import tiltpy as tilt
from tiltpy.passes.analyses.edge_shifts import MOST_SHIFTS, find_edge_shifts

HEAD = "input x by k : f64 point\ninput z : f64 point\ng = TDom(-∞, ∞, 10)\n"


@pytest.mark.parametrize(
    ("text", "starts", "ends"),
    [
        ("~o[t] = ~x[t] + 1", [(0, 0)], [(0, 0)]),
        ("~o[t] = ~x[t-5]", [(5, 5)], [(5, 5)]),
        ("~o[t] = sum(~x[t-20 : t])", [(0, 0)], [(19, 19)]),
        ("~o[t] = sum(~x[t-20 : t-3])", [(3, 3)], [(19, 19)]),
        ("~o[g] = sum(~x[g-20 : g])", [(-9, 0)], [(10, 19)]),
        ("~o[t] = sum(~x[t-9 : t]) - ~x[t-9]", [(0, 0), (9, 9)], [(8, 8), (9, 9)]),
        ("~o[t] = sum(~x[-∞ : t-3])", [(3, 3)], []),
        ("~o[t] = sum(~x[last 3 : t])", [(0, 0)], []),
        ("~o[t] = sum(~x[last 3 : t within 9])", [(0, 0)], [(8, 8)]),
        ("~o[t] = ~x[last : t]", [(0, 0)], []),
        ("e = Rows(~x)\n~o[e] = ~x[e] + ~z[e]", [(1, 1)], []),
        (
            "e = Rows(~x)\n~a[e] = ~x[e] + 1\n~o[t] = sum(~a[t-20 : t])",
            [(0, 0)],
            [(19, 19)],
        ),
        (
            "~a[t] = ~x[t-5]\n~o[t] = max(~a[t-20 : t])",
            [(5, 5), (24, 24)],
            [(5, 5), (24, 24)],
        ),
    ],
)
def test_shifts(
    text: str, starts: list[tuple[int, int]], ends: list[tuple[int, int]]
) -> None:
    """A window gets a row at its start, and loses it a length behind its end."""
    shifts = find_edge_shifts(tilt.parse(f"{HEAD}{text}\noutput ~o").query)["o"]
    found = {
        edge: sorted((s.low, s.high) for s in shifts if s.edge == edge)
        for edge in ("start", "end")
    }
    assert found == {"start": starts, "end": ends}


@pytest.mark.parametrize(
    "text",
    [
        "~o[t] = ~x[t] + f64(t)",
        "~o[t] = ~x[t] * ~z[t]",
        "~o[t] = ~x[nearest t within 9]",
        "~b[t] = ~x[t] > 2\n~o[t] = count(~x[since ~b : t])",
        "~a[t] = ~z[t]\n~o[t] = ~x[t] + ~a[t]",
        "h = TDom(5, ∞, 1)\n~a[h] = ~x[h]\n~o[t] = ~a[t]",
        "e = Rows(~z)\n~o[e] = ~z[e] + 1",
        "m = TDom(-∞, ∞, calendar(1mo))\n~o[m] = ~x[m]",
    ],
)
def test_boundaries_elsewhere(text: str) -> None:
    """Those that rows of the key do not tell."""
    unit = "unit s\n" if "calendar" in text else ""
    query = tilt.parse(f"{unit}{HEAD}{text}\noutput ~o").query
    assert "o" not in find_edge_shifts(query)


def test_many_shifts_are_joined() -> None:
    lags = " + ".join(f"~x[t-{7 * lag}]" for lag in range(MOST_SHIFTS))
    query = tilt.parse(f"{HEAD}~o[t] = {lags}\noutput ~o").query
    start, end = find_edge_shifts(query)["o"]
    assert (start.low, start.high) == (end.low, end.high) == (0, 7 * (MOST_SHIFTS - 1))
