"""Tests of what a query declares, as Python shows it."""

import pyarrow as pa
import pytest

import tiltpy as tilt

TEXT = """unit s
input trade by "sym bol", venue : { price: f64, size: i64 } time ts point order seq
input quote : f64 until_next max 1d
input spare : string time ts interval_
t = TDom(-∞, ∞, 1m)
~vwap[t] = mean(~trade[t-1m : t].price)
~last[t] = { bid = ~quote[t], n: = 1 }
output ~vwap, ~last
"""
TEXT = TEXT.replace("time ts interval_", "interval (a, b)").replace("n: =", "n =")


def test_inputs_are_declarations() -> None:
    inputs = tilt.parse(TEXT).inputs
    assert [repr(each) for each in inputs.values()] == [
        'input trade by "sym bol", venue : { price: f64, size: i64 } time ts point '
        "order seq",
        "input quote : f64 until_next max 1d",
        "input spare : string interval (a, b)",
    ]
    trade, quote, spare = inputs.values()
    assert trade.type == tilt.Struct((("price", tilt.f64), ("size", tilt.i64)))
    assert (trade.by, trade.order, trade.time) == (("sym bol", "venue"), ("seq",), "ts")
    assert (quote.lifetime, quote.time, quote.needed) == (
        "until_next max 1d",
        None,
        True,
    )
    assert (spare.lifetime, spare.needed) == ("interval (a, b)", False)
    assert tilt.parse("input x : f64\n~o[t] = ~x[t]").inputs["x"].lifetime is None


def test_outputs_are_declarations() -> None:
    query = tilt.parse(TEXT)
    assert [repr(each) for each in query.outputs.values()] == [
        'output ~vwap by "sym bol", venue : f64',
        "output ~last : { bid: f64, n: i64 }",
    ]
    assert query.outputs["vwap"].text == "~vwap[t] = mean(~trade[t-1m : t].price)"
    assert query.outputs["vwap"].schema == {
        "sym bol": "key", "venue": "key", "start": "time", "end": "time", "vwap": "f64",
    }  # fmt: skip
    assert list(query.outputs["last"].schema.values())[2:] == ["f64", "i64"]
    with pytest.raises(tilt.TiltError, match="the outputs are 'vwap', 'last'; choose"):
        _ = query.schema


def test_the_schema_is_that_of_results() -> None:
    x = tilt.source("x", {"a": tilt.f64}, tilt.point(), time="t", by="k")
    t = tilt.TDom()
    query = tilt.compile(tilt.define("o", t, x[t].a > 1))
    assert query.schema == {"k": "key", "start": "i64", "end": "i64", "o": "bool"}
    rows = pa.table({"k": ["u"], "t": [1], "a": [2.0]})
    assert query.run(x=rows).schema.names == list(query.schema)
