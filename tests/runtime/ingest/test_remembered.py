"""A bound Arrow table is read once; whatever can change is read in every run."""

import numpy as np
import pandas
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import DataError
from tiltpy.runtime.ingest import read_input as reading

SUM = "input x : f64 time t point\n~o[t] = sum(~x[t-3:t])"


def table() -> pa.Table:
    return pa.table({"t": [1, 2, 5, 9], "x": [1.0, 2.0, 3.0, 4.0]})


def note_calls(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """Note the first arguments of a function that reads inputs."""
    noted: list[object] = []
    call = getattr(reading, name)

    def note(first: object, *others: object, **options: object) -> object:
        noted.append(first)
        return call(first, *others, **options)

    monkeypatch.setattr(reading, name, note)
    return noted


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The inputs whose frames were read."""
    return note_calls(monkeypatch, "_ingest")


def test_a_bound_table_is_read_once_for_each_way_to_read_it(
    reads: list[object],
) -> None:
    query, bound = tilt.parse(SUM), tilt.bind(table())
    first = query.run(x=bound).to_arrow()
    assert query.run(x=bound).to_arrow() == first
    assert len(reads) == 1
    held = tilt.parse("input x : f64 time t until_next\n~o[t] = ~x[t]")
    assert held.run(x=bound, end=12).to_arrow()["end"].to_pylist()[-1] == 12
    assert held.run(x=bound, end=20).to_arrow()["end"].to_pylist()[-1] == 20
    assert len(reads) == 2


@pytest.mark.parametrize("kind", ["arrow", "numpy"])
def test_arrays_are_laid_out_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = note_calls(monkeypatch, "_rows_of_samples")
    values = pa.array([1.0, 2.0, 3.0])
    bound = tilt.sampled(values if kind == "arrow" else values.to_numpy(), 0, 1)
    query = tilt.parse("input x : f64\n~o[t] = ~x[t] + 1")
    for _ in range(3):
        assert query.run(x=bound).to_arrow()["o"].to_pylist() == [2.0, 3.0, 4.0]
    assert len(laid_out) == 1


def test_what_was_found_in_one_tick_is_not_taken_for_another() -> None:
    stamps = pa.array([1000, 2000, 4000], pa.timestamp("ms"))
    bound = tilt.bind(pa.table({"t": stamps, "x": [1.0, 2.0, 3.0]}))
    for unit, starts in (
        ("s", [0, 1000, 3000]),
        ("ms", [999, 1999, 3999]),
        ("s", [0, 1000, 3000]),
    ):
        query = tilt.parse(f"unit {unit}\ninput x : f64 time t point\n~o[t] = ~x[t]")
        found = query.run(x=bound).to_arrow()["start"]
        assert found.type == pa.timestamp("ms")
        assert found.cast(pa.int64()).to_pylist() == starts


def test_what_is_not_bound_is_read_in_every_run(reads: list[object]) -> None:
    query, frame = tilt.parse(SUM), table()
    assert query.run(x=frame).to_arrow() == query.run(x=frame).to_arrow()
    assert len(reads) == 2


def test_a_frame_that_can_change_is_read_in_every_run() -> None:
    frame = pandas.DataFrame({"t": [1, 2, 5, 9], "x": [1.0, 2.0, 3.0, 4.0]})
    query, bound = tilt.parse(SUM), tilt.bind(frame)
    before = query.run(x=bound).to_arrow()
    frame.loc[0, "x"] = 100.0
    assert query.run(x=bound).to_arrow() != before


def test_samples_that_are_read_in_place_may_change() -> None:
    """Their rows and the plan of a run are remembered, their values are not."""
    query = tilt.parse("input x : f64\n~o[t] = sum(~x[t-2:t])")
    values = np.arange(4.0)
    bound = tilt.sampled(values, 0, 1)
    assert query.run(x=bound).to_arrow()["o"].to_pylist() == [0.0, 1.0, 3.0, 5.0]
    (first,) = bound._bindings[None].views.values()
    values[:] = 10.0
    assert query.run(x=bound).to_arrow()["o"].to_pylist() == [10.0, 20.0, 20.0, 20.0]
    (second,) = bound._bindings[None].views.values()
    assert second is first
    values.dtype = np.int64  # type: ignore[assignment, misc]
    values[:] = 1
    assert query.run(x=bound).to_arrow()["o"].to_pylist() == [1.0, 2.0, 2.0, 2.0]


def test_samples_in_place_are_read_for_each_declaration() -> None:
    values = np.array([1, 0, 1], np.uint8)
    bound = tilt.sampled(values, 0, 1)
    numbers = tilt.parse("input x : u8\n~o[t] = ~x[t]").run(x=bound)
    other = tilt.parse("input y : u8\n~o[t] = ~y[t] + ~y[t-1]").run(y=bound)
    assert numbers.to_arrow()["o"].to_pylist() == [1, 0, 1]
    assert other.to_arrow()["o"].to_pylist() == [1, 1]
    wider = tilt.parse("input x : f64\n~o[t] = ~x[t]").run(x=bound)
    assert wider.to_arrow()["o"].to_pylist() == [1.0, 0.0, 1.0]


def test_what_fails_fails_again() -> None:
    query, bound = tilt.parse(SUM), tilt.bind(pa.table({"t": [2, 1], "x": [1.0, 2.0]}))
    assert query.run(x=bound).num_rows > 0
    for _ in range(2):
        with pytest.raises(DataError, match="the row belongs before"):
            query.run(x=bound, allow_sort=False)
