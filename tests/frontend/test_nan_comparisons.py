"""A comparison with a literal nan has a warning that says what to write."""

import warnings

import pytest

import tiltpy as tilt

HEAD = "input x : f64 point\nparam none : f64 = nan\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("~x[t] == nan", "~x[t] == nan is never true; write is_nan(~x[t])"),
        ("(nan) != ~x[t]", "(nan) != ~x[t] is never false; write !is_nan(~x[t])"),
        ("~x[t] < -nan", "~x[t] < -nan is never true; write is_nan(~x[t])"),
        (
            "~x[t] in (1.0, nan)",
            "nothing equals the nan that ~x[t] is compared with; leave it out, and "
            "write is_nan(~x[t]) || ...",
        ),
    ],
)
def test_a_text(text: str, message: str) -> None:
    with pytest.warns(tilt.TiltWarning) as caught:
        tilt.parse(f"{HEAD}~o[t] = {text}")
    assert [str(one.message) for one in caught] == [message]


def test_an_expression_in_python() -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    t = tilt.TDom()
    absent = float("nan")
    compared = x[t] == absent
    with pytest.warns(
        tilt.TiltWarning, match=r"is never true; write is_nan\(x\)"
    ) as one:
        tilt.compile(tilt.define("o", t, compared))
    assert one[0].filename == __file__


@pytest.mark.parametrize("text", ["is_nan(~x[t])", "~x[t] + nan", "~x[t] == none"])
def test_what_has_none(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilt.parse(f"{HEAD}~o[t] = {text}")


def test_a_query_is_printed_with_the_values_of_its_parameters() -> None:
    query = tilt.parse(f"{HEAD}~o[t] = ~x[t] == none\noutput ~o")
    text = str(query.with_params({"none": float("nan")}))
    with pytest.warns(tilt.TiltWarning, match="~x.t. == nan is never true"):
        assert str(tilt.parse(text)) == text
