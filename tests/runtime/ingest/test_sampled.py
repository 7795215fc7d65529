"""`tilt.sampled(values, start, period)`: values of any library without their times."""

import datetime as dt
from array import array

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import listed
from tiltpy.engines.local import bind_inputs
from tiltpy.inputs import BoundSamples

QUERY = tilt.parse("unit s\ninput x : f32\n~o[t] = ~x[t] + 1.0")
SAME = tilt.parse("unit s\ninput x : f32 sampled 2s\n~o[t] = ~x[t]")
VALUES = np.array([1, 2, 4, 8], np.float32)
ROWS = [(10, 12, 2.0), (12, 14, 3.0), (14, 16, 5.0), (16, 18, 9.0)]


@pytest.mark.parametrize(
    "values",
    [
        VALUES,
        VALUES.astype(np.float16),
        VALUES.astype(np.int16),
        VALUES.astype(">f4"),
        np.stack([VALUES, VALUES], 1)[:, 0],
        array("f", VALUES),
        VALUES.data,
        pa.array(VALUES),
        pa.chunked_array([VALUES[:1], VALUES[1:]]),
        pl.Series(VALUES),
        pd.Series(VALUES),
        pa.table({"x": VALUES, "y": VALUES + 1}),
        pa.table({"any": VALUES}),
        pl.DataFrame({"x": VALUES}),
        pd.DataFrame({"x": VALUES}),
        pa.record_batch({"x": VALUES}),
        pa.array([{"x": v} for v in VALUES.tolist()], pa.struct({"x": pa.float32()})),
    ],
    ids=lambda values: f"{type(values).__module__}.{type(values).__name__}",
)
def test_values_of_any_library(values: object) -> None:
    given = tilt.sampled(values, start=10, period="2s")
    assert listed(QUERY.run(x=given)) == ROWS
    assert listed(QUERY.run(x=given, chunk=3, workers=2)) == ROWS


def test_values_are_shared() -> None:
    for values in (VALUES, pa.array(VALUES), pl.Series(VALUES), VALUES.data):
        bindings = SAME._prepared.bind({"x": tilt.sampled(values, 0, 2)})
        bound = bind_inputs(SAME.query, bindings, allow_sort=True)
        (column,) = bound["x"].buffer.columns
        place = np.asarray(values).__array_interface__["data"][0]
        assert column.values.__array_interface__["data"][0] == place


@pytest.mark.parametrize(
    ("values", "scalar"),
    [
        (np.array([True, False, True]), "bool"),
        (pa.array([True, False, True]), "bool"),
        (np.array([3, 0, 2**63 + 1], np.uint64), "u64"),
    ],
)
def test_other_types(values: object, scalar: str) -> None:
    query = tilt.parse(f"input x : {scalar}\n~o[t] = ~x[t]")
    found = listed(query.run(x=tilt.sampled(values, -1, 1)))
    assert found == [(i - 1, i, v) for i, v in enumerate(np.asarray(values).tolist())]


def test_nulls_are_gaps() -> None:
    values = pa.array([None, 1, None, None, 4, None], pa.float32())
    found = listed(SAME.run(x=tilt.sampled(values, 0, 2)))
    assert found == [(2, 4, 1.0), (8, 10, 4.0)]
    assert listed(SAME.run(x=tilt.sampled(pa.nulls(3), 0, 2))) == []
    assert listed(SAME.run(x=tilt.sampled(VALUES[:0], 0, 2))) == []


def test_a_table_is_a_struct() -> None:
    query = tilt.parse("input x : { a: f64, b: i32 }\n~o[t] = ~x[t].a * ~x[t].b")
    columns = {"b": np.array([1, 2, 3], np.int32), "a": [0.5, 1.5, 2.5], "c": [0] * 3}
    expected = [(0, 5, 0.5), (5, 10, 3.0), (10, 15, 7.5)]
    rows = pa.table(columns).to_struct_array().combine_chunks()
    for values in (pa.table(columns), pl.DataFrame(columns), rows):
        assert listed(query.run(x=tilt.sampled(values, 0, 5))) == expected
    holes = pa.array([*rows.to_pylist(), None, rows[0].as_py()], rows.type)
    found = listed(query.run(x=tilt.sampled(holes, 0, 5)))
    assert found == [*expected, (20, 25, 0.5)]


BERLIN = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("start", "zone"),
    [
        ("2024-01-02T03:00:00", None),
        ("2024-01-02 04:00:00+01:00", "UTC"),
        (dt.datetime(2024, 1, 2, 3), None),
        (dt.datetime(2024, 1, 2, 4, tzinfo=BERLIN), "UTC"),
        (pd.Timestamp("2024-01-02 03:00"), None),
    ],
)
def test_starts_with_a_date(start: str | dt.datetime, zone: str | None) -> None:
    period = dt.timedelta(seconds=2)
    table = QUERY.run(x=tilt.sampled(VALUES, start, period)).to_arrow()
    assert table.schema.field("start").type == pa.timestamp("s", zone)
    moments = table["start"].to_pylist()
    assert [m.replace(tzinfo=None) for m in moments] == [
        dt.datetime(2024, 1, 2, 3, 0, second) for second in (0, 2, 4, 6)
    ]


def test_dates_stay_dates() -> None:
    query = tilt.parse("unit d\ninput x : f32\n~o[t] = ~x[t]")
    found = query.run(x=tilt.sampled(VALUES, dt.date(2024, 1, 31), "1d")).to_arrow()
    assert found["end"].to_pylist()[0] == dt.date(2024, 2, 1)


def test_it_goes_with_a_frame_that_has_times() -> None:
    query = tilt.parse(
        "input x : f32 sampled 2\ninput y : f32 time time point\n~o[t] = ~x[t] + ~y[t]"
    )
    frame = pa.table({"time": [12, 13], "y": pa.array([1.0, 2.0], pa.float32())})
    found = listed(query.run(x=tilt.sampled(VALUES, 10, 2), y=frame))
    assert found == [(11, 12, 2.0), (12, 13, 4.0)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (tilt.sampled(VALUES, 0, "3s"), r"declares the lifetime sampled 2 \(ticks\)"),
        (tilt.sampled(VALUES, "noon", 2), "start=noon: expected ticks or a stamp"),
        (tilt.sampled(VALUES, 0, "soon"), "period=soon: expected ticks or a duration"),
        (tilt.sampled(VALUES, 2**62 - 7, 2), "beyond ±2"),
        (tilt.sampled(np.zeros(3), 0, 2), "found double, expected f32"),
        (tilt.sampled(np.zeros((3, 3), np.float32), 0, 2), "in one dimension"),
        (tilt.sampled(np.array(1.0), 0, 2), "in one dimension"),
        (tilt.sampled(3.5, 0, 2), "found builtins.float"),
        (tilt.sampled(["a"], 0, 2), "found builtins.list"),
        (tilt.sampled(pa.array(["a"]), 0, 2), "found string, expected f32"),
        (
            tilt.sampled(pa.table({"a": VALUES, "b": VALUES}), 0, 2),
            "'a', 'b' could be the samples; give one column alone, or call it 'x'",
        ),
    ],
)
def test_what_does_not_fit(given: BoundSamples, message: str) -> None:
    with pytest.raises(tilt.TiltError, match=message):
        SAME.run(x=given)


def test_periods_are_positive() -> None:
    with pytest.raises(tilt.DataError, match="lasts 1 to"):
        QUERY.run(x=tilt.sampled(VALUES, 0, 0))


def test_another_lifetime_than_declared() -> None:
    query = tilt.parse("input x : f32 time time point\n~o[t] = ~x[t]")
    with pytest.raises(tilt.DataError, match="declares the lifetime point, but sam"):
        query.run(x=tilt.sampled(VALUES, 0, 1))


def test_the_lifetime_of_that_name() -> None:
    table = pa.table({"time": [2, 4, 6, 8], "v": VALUES})
    for lifetime in (tilt.sampled("2s"), tilt.sampled(2), tilt.sampled(period="2s")):
        frame = tilt.bind(table, time="time", lifetime=lifetime)
        assert listed(QUERY.run(x=frame)) == [(s - 10, e - 10, v) for s, e, v in ROWS]
    with pytest.raises(tilt.TiltError, match=r"write sampled\(values, start, period"):
        tilt.sampled(VALUES, start=0)  # type: ignore[call-overload]


def test_explain_takes_it() -> None:
    assert "sampled" in SAME.explain(inputs={"x": tilt.sampled(VALUES, 0, 2)})


@pytest.mark.parametrize(
    "values", [VALUES, [1.0, 2.0], VALUES.data, pa.array(VALUES), pl.Series(VALUES)]
)
def test_what_is_missing_beside_values_is_named(values: object) -> None:
    need = "values without a time column need their "
    write = ": write sampled(values, start, period)"
    cases: dict[str, dict[str, object]] = {
        "start and period": {},
        "start": {"period": "1s"},
        "period": {"start": 0},
    }
    for missing, others in cases.items():
        with pytest.raises(tilt.TiltError) as caught:
            tilt.sampled(values, **others)  # type: ignore[call-overload]
        assert str(caught.value) == f"{need}{missing}{write}"
    with pytest.raises(tilt.TiltError, match="write sampled"):
        tilt.sampled()  # type: ignore[call-overload]
