"""Runs by key: the key columns, the order of rows, and both ways a key may take."""

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import costing
from tiltpy.costs import KeyCosts

QUERY = """
unit s
input trades by symbol : { price: f64, size: i64 } time ts point
input market : f64 time ts until_next
~avg[t] = mean(~trades[t-10 : t].price)
~relative[t] = ~trades[t].price / ~market[t]
~twice[t] = ~market[t] * 2
output ~avg
output ~relative
output ~twice
"""
TRADES = pa.table(
    {
        "symbol": ["b", "a", None, "b", "a"],
        "ts": [1, 2, 3, 4, 8],
        "price": [1.0, 2.0, 3.0, 4.0, 5.0],
        "size": [1, 1, 1, 1, 1],
    }
)
MARKET = pa.table({"ts": [1, 3], "market": [10.0, 20.0]})


@pytest.mark.parametrize("many", [1, 1 << 15], ids=["alone", "batches"])
def test_each_key_is_an_object_of_its_own(many: int) -> None:
    options = costing(keys=KeyCosts(shared_rows=many))
    result = tilt.parse(QUERY, options=options).run(trades=TRADES, market=MARKET)
    assert result["avg"].to_arrow().to_pydict() == {
        "symbol": [None, "a", "a", "b", "b"],
        "start": [2, 1, 7, 0, 3],
        "end": [3, 7, 8, 3, 4],
        "avg": [3.0, 2.0, 3.5, 1.0, 2.5],
    }
    assert result["relative"].to_arrow().to_pydict() == {
        "symbol": [None, "a", "a", "b", "b"],
        "start": [2, 1, 7, 0, 3],
        "end": [3, 2, 8, 1, 4],
        "relative": [3 / 20, 2 / 10, 5 / 20, 1 / 10, 4 / 20],
    }
    assert result["twice"].to_arrow().column_names == ["start", "end", "twice"]


def test_rows_can_be_in_order_of_time() -> None:
    result = tilt.parse(QUERY).run(trades=TRADES, market=MARKET, order="time")
    table = result["avg"].to_arrow()
    assert table["symbol"].to_pylist() == ["b", "a", None, "b", "a"]
    assert table["start"].to_pylist() == [0, 1, 2, 3, 7]


def test_an_order_that_there_is_not_is_refused() -> None:
    with pytest.raises(tilt.TiltError, match=r"order='size': expected 'key' or 'time'"):
        tilt.parse(QUERY).run(trades=TRADES, market=MARKET, order="size")  # type: ignore[arg-type]


def test_an_error_names_the_key_over_which_it_came_up() -> None:
    query = tilt.parse(
        "unit ns  input m by device : f64 time ts point  "
        "~o[t] = ~m[t] != φ ? t * 1.0 : -1.0  output ~o"
    )
    rows = {"device": [7, 8, 8], "ts": [1, 1, 2**40], "m": [1.0, 1.0, 1.0]}
    with pytest.raises(tilt.DataError, match=r"^key device=8: ~o uses t as a number"):
        query.run(m=pa.table(rows))


def test_inputs_that_no_output_refers_to_change_nothing() -> None:
    """Neither by other keys, nor by the same with other types."""
    text = (
        "input x by k : i64 time ts point\ninput y by {} : i64 time ts point\n"
        "input z : i64 time ts point\n~o[t] = ~{}[t]\noutput ~o"
    )
    x = pa.table({"k": ["a"], "ts": [1], "x": [5]})
    other = pa.table({"k": [1.5], "l": [2], "ts": [1], "y": [7]})
    z = pa.table({"ts": [3], "z": [9]})
    for keys in ("k", "l", "l, k"):
        found = tilt.parse(text.format(keys, "x")).run(x=x, y=other, z=z)
        assert found.to_arrow().to_pydict() == {
            "k": ["a"], "start": [0], "end": [1], "o": [5]
        }  # fmt: skip
        found = tilt.parse(text.format(keys, "z")).run(x=x, y=other, z=z)
        assert found.to_arrow().to_pydict() == {"start": [2], "end": [3], "o": [9]}


def test_a_key_over_nearly_all_of_time_is_cut_as_any_run_is() -> None:
    """Differences of times in a kernel must fit into 64 bits."""
    most, far = 2**62, 2**58
    text = f"input m {{}}: i64 interval (start, end)\n~o[t] = sum(~m[t-{far} : t])"
    rows = {"start": [-most, 0], "end": [0, most - 1], "m": [5, -3]}
    keyed_rows = pa.table(rows | {"k": ["a", "a"]})
    found = tilt.parse(text.format("by k ")).run(m=keyed_rows).to_arrow()
    assert found["k"].to_pylist() == ["a"] * 3
    assert found.drop_columns("k").to_pydict() == {
        "start": [-most, 0, far - 1], "end": [0, far - 1, most - 1], "o": [5, 2, -3]
    }  # fmt: skip
    alone = tilt.parse(text.format("")).run(m=pa.table(rows)).to_arrow()
    assert found.drop_columns("k") == alone
