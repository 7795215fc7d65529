"""The key columns of a frame: those of the query, or those that `bind` names."""

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.errors import DataError
from tiltpy.inputs import BoundFrame
from tiltpy.ir.nodes import Input
from tiltpy.runtime.ingest.binding import InputBinding, bind, complete_input

KEYED = Input("m", ty.I64, lifetimes.Point(), "ts", keys=("symbol", "venue"))
TABLE = pa.table({"ts": [1], "m": [2]})


def test_the_columns_are_called_like_the_keys_or_as_bound() -> None:
    assert complete_input(KEYED, bind(TABLE)).keys == ("symbol", "venue")
    assert complete_input(KEYED, bind(TABLE, by=["sym", "mic"])).keys == ("sym", "mic")
    assert complete_input(Input("m", ty.I64, lifetimes.Point()), bind(TABLE)).keys == ()


def test_the_public_bind_takes_one_name_or_several() -> None:
    one, several = tilt.bind(TABLE, by="sym"), tilt.bind(TABLE, by=("sym", "mic"))
    assert isinstance(one, BoundFrame)
    assert one.binding("s").by == ("sym",)
    assert several.binding("s").by == ("sym", "mic")


def refused(declared: Input, binding: InputBinding) -> str:
    with pytest.raises(DataError) as caught:
        complete_input(declared, binding)
    return str(caught.value)


def test_a_binding_must_fit_the_declared_keys() -> None:
    assert refused(KEYED, bind(TABLE, by="sym")) == (
        "input 'm': the query declares the keys 'symbol', 'venue', but 'sym' are "
        "bound; give a column for each, in their order"
    )
    unkeyed = Input("m", ty.I64, lifetimes.Point())
    assert refused(unkeyed, bind(TABLE, by=("sym", "mic"))) == (
        "input 'm': the key columns 'sym', 'mic' are bound, but the query declares no "
        "key; write input m by sym, mic : ..."
    )
    assert refused(KEYED, bind(TABLE, by=("sym", "sym"))) == (
        "input 'm': the column 'sym' stands for two keys; name a column for each"
    )
    assert "expected a column's name, found 5" in refused(KEYED, bind(TABLE, by=(5, 6)))  # type: ignore[arg-type]


def test_a_key_holds_no_times() -> None:
    said = "is a key and holds times; name another column for one of them"
    assert said in refused(KEYED, bind(TABLE, by=("ts", "venue")))
    open_time = Input("m", ty.I64, lifetimes.Point(), keys=("symbol",))
    assert said in refused(open_time, bind(TABLE, time="symbol"))
    assert (
        complete_input(open_time, bind(TABLE, time="symbol", by="sym")).time == "symbol"
    )
    interval = Input("m", ty.I64, lifetimes.Interval("a", "b"), keys=("symbol",))
    assert said in refused(interval, bind(TABLE, by="b"))
