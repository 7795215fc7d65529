"""Row objects as the interpreter means them: one row out for each row in."""

import pytest

from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent, Snapshot, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source

DECLARED = """
unit s
input x : f64 point time ts
input y : f64
input z : f64 sampled 10s time ts
e = Rows(~x)
"""
X = [Event(0, 1, 1.0), Event(0, 1, 2.0), Event(4, 5, -3.0), Event(4, 5, 4.0)]
Y = [Event(-3, 2, 10.0), Event(0, 9, 20.0), LastEvent(8, FOREVER, 30.0)]
Z = [Event(0, 10, 1.0), Event(10, 20, 2.0)]


def rows(text: str, start: int | None = None, end: int | None = None) -> list[Snapshot]:
    query = parse(DECLARED + text)
    verify_source(query)
    assert parse(format_query(query)) == query
    events = {"x": X, "y": Y, "z": Z}
    (found,) = interpret(query, events, start=start, end=end).values()
    return found


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("~o[e] = ~x[e]", [1.0, 2.0, -3.0, 4.0]),
        ("~o[e] = ~x[e+0]", [2.0, 2.0, 4.0, 4.0]),
        ("~o[e] = ~x[e-4]", [None, None, 2.0, 2.0]),
        ("~o[e] = ~y[e] + ~x[e]", [21.0, 22.0, 17.0, 24.0]),
        ("~o[e] = sum(~x[e-9 : e])", [3.0, 3.0, 4.0, 4.0]),
        ("~o[e] = count_active(~y[e])", [2, 2, 1, 1]),
        ("~o[e] = e + start(~x[e])", [1, 1, 9, 9]),
        ("~p[e] = ~x[e] > 0 ? -~x[e] : φ\n~o[e] = ~p[e]", [-1.0, -2.0, None, -4.0]),
        ("~p[e] = ~x[e] > 0 ? e : φ\nf = Rows(~p)\n~o[f] = ~x[f]", [1, 2, None, 4]),
        ("~p[e] = ~x[e] > 0 ? e : φ\nf = Rows(~p)\n~o[f] = end(~p[f])", [1, 1, None, 5]),  # noqa: E501
        ("~p[e] = ~x[e] < 2 ? ~x[e] : φ\n~o[e] = ~p[e+0]", [1.0, 1.0, -3.0, -3.0]),
        ("~p[e] = -~x[e]\n~o[e] = sum(~p[e-9 : e])", [-3.0, -3.0, -4.0, -4.0]),
        ("def f(~x) = ~x[t]\n~o[e] = f(~x) - ~x[e]", [1.0, 0.0, 7.0, 0.0]),
    ],
)  # fmt: skip
def test_a_row_for_each_row_that_is_not_phi(
    text: str, values: list[float | None]
) -> None:
    times = [(row.start, row.end) for row in X]
    pairs = zip(times, values, strict=True)
    expected = [(*time, value) for time, value in pairs if value is not None]
    assert rows(text) == expected


def test_null_rows_stay_in_outputs_and_nobody_reads_them() -> None:
    text = "n = Rows(~x, null)\n~o[n] = ~x[n] > 1 ? ~x[n] : φ\n"
    assert [value for *_, value in rows(text)] == [None, 2.0, None, 4.0]
    text += "~q[t] = count(~o[t-9 : t])\noutput ~q"
    assert rows(text) == [(0, 4, 1), (4, 5, 2)]


def test_a_run_has_the_rows_of_its_stamps_with_their_own_lifetimes() -> None:
    text = "f = Rows(~y)\n~o[f] = ~y[f]"
    assert rows(text, start=0, end=8) == [(0, 9, 20.0)]
    assert rows(text, start=8) == [(8, FOREVER, 30.0)]
    text = "f = Rows(~z)\n~o[f] = ~z[f] + ~x[f-5]"
    assert rows(text, start=9, end=10) == [(0, 10, 5.0)]


def test_other_domains_see_rows_as_those_of_an_input() -> None:
    text = "f = Rows(~y)\n~p[f] = ~y[f] < 30 ? ~y[f] : φ\n"
    assert rows(text + "~o[t] = ~p[t]") == [(-3, 0, 10.0), (0, 9, 20.0)]
    assert rows(text + "~o[t] = sum_active(~p[t])") == [
        Snapshot(-3, 0, 10.0), Snapshot(0, 2, 30.0), Snapshot(2, 9, 20.0),
    ]  # fmt: skip
    assert rows(text + "~o[t] = end(~p[t])") == [(-3, 0, 2), (0, 9, 9)]
