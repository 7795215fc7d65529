"""Results as values: rows are counted, shown, joined and written."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt

HELD = """input x by k : { v: f64, s: string, n: { a: i64 } } time t until_next
distinct ~joined[t] = ~x[t]
~plain[t] = ~x[t]
output ~plain, ~joined
"""


def one(count: int = 3) -> tilt.Result:
    query = tilt.parse("input x : f64 time t point\n~o[t] = ~x[t] * 2")
    return query.run(x=pa.table({"t": range(1, count + 1), "x": np.arange(count) / 2}))


def two() -> tilt.Result:
    query = tilt.parse("input x : f64 time t point\n~o[t] = ~x[t]\n~p[t] = ~x[t] > 9")
    return query.run(x=pa.table({"t": [1, 2], "x": [1.0, 2.0]}))


def test_the_length_is_that_of_the_rows() -> None:
    assert len(one()) == len(one()["o"]) == one().num_rows == 3
    assert one()
    assert not one(0)
    assert list(one()) == ["o"]
    with pytest.raises(
        TypeError, match="the outputs are 'o', 'p'; choose one"
    ) as error:
        len(two())
    assert isinstance(error.value, tilt.TiltError)
    assert list(two()) == ["o", "p"]
    assert two()


def test_the_first_rows() -> None:
    result = one(20)
    assert result.head() == result.to_arrow().slice(0, 10)
    assert result.head(3)["o"].to_pylist() == [0.0, 1.0, 2.0]
    assert result["o"].head(0).num_rows == 0
    assert result.head(99).num_rows == 20
    wrong: Any
    assert result.head(np.array([3])[0]).num_rows == 3
    for wrong in (-1, 1.5, "3", None):
        with pytest.raises(tilt.TiltError, match="expected a whole number, 0 or more"):
            result.head(wrong)
    with pytest.raises(tilt.TiltError, match="choose one"):
        two().head()


def test_what_is_printed() -> None:
    assert str(one()) == "\n".join(
        [
            "~o",
            "start  end  o",
            "    0    1  0",
            "    1    2  1",
            "    2    3  2",
            "3 snapshots",
        ]
    )
    assert str(one(12)).endswith("\n12 snapshots, the first 10 shown")
    assert str(two()).count("\n\n~p\n") == 1
    assert str(one(1)).endswith("\n1 snapshot")
    assert repr(one()).startswith("<output 'o': 3 snapshots")
    assert repr(one(1)).startswith("<output 'o': 1 snapshot (")


@pytest.mark.parametrize("name", ["o.any", "o"])
def test_files_have_the_format_that_is_asked_for(tmp_path: Path, name: str) -> None:
    result, path = one(), tmp_path / name
    result.write_parquet(path)
    assert pq.read_table(str(path)).equals(result.to_arrow())
    result["o"].write_ipc(str(path))
    with pi.open_file(str(path)) as file:
        assert file.read_all() == result.to_arrow()
    result.write_csv(path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [float(row["o"]) for row in rows] == [0.0, 1.0, 2.0]
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(tilt.DataError, match="there is no directory"):
        one().write_parquet(tmp_path / "none" / "o.parquet")
    wrong: Any = 3
    with pytest.raises(TypeError, match="path: expected a path"):
        one().write_csv(wrong)
    with pytest.raises(tilt.TiltError, match="choose one"):
        two().write_ipc(tmp_path / "o.arrow")


@pytest.mark.parametrize("order", ["key", "time"])
@pytest.mark.parametrize("seed", range(20))
def test_joined_rows_are_those_of_a_distinct_object(seed: int, order: Any) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 60))

    def some(values: Sequence[object], kind: pa.DataType) -> pa.Array:
        chosen = random.integers(0, len(values), count)
        return pa.array([values[index] for index in chosen.tolist()], kind)

    table = pa.table(
        {
            "k": some(["a", "b"], pa.string()),
            "t": random.permutation(count),
            "v": some(
                [0.0, -0.0, float("nan"), None, 1.0][: 2 + seed % 4], pa.float64()
            ),
            "s": some(["u", "u", "w", None][: 2 + seed % 3], pa.string()),
            "n": some(
                [None, {"a": 1}, {"a": None}][: 1 + seed % 3],
                pa.struct([("a", pa.int64())]),
            ),
        }
    )
    result = tilt.parse(HELD).run(x=table, order=order)
    joined, expected = result["plain"].coalesce(), result["joined"].to_arrow()
    assert joined.schema == expected.schema
    assert str(joined.to_pylist()).replace("-0.0", "0.0") == str(
        expected.to_pylist()
    ).replace("-0.0", "0.0")


def test_scalars_and_windows_are_joined() -> None:
    text = "input x : f64 time t point\nt = TDom(-∞, ∞, 2)\n~o[t] = count(~x[t-2 : t])"
    result = tilt.parse(text).run(x=pa.table({"t": [1, 3, 9], "x": [1.0, 2.0, 3.0]}))
    assert result.to_arrow()["o"].to_pylist() == [1, 1, 0, 1]
    assert result.coalesce().to_pydict() == {
        "start": [0, 4, 8],
        "end": [4, 8, 10],
        "o": [1, 0, 1],
    }
    assert result.windows().to_pydict() == {
        "time": [2, 4, 6, 8, 10],
        "o": [1, 1, 0, 0, 1],
    }


def test_a_result_is_no_array() -> None:
    """A frame of pandas would have the names of the outputs for its values."""
    for make in (pd.DataFrame, np.asarray):
        with pytest.raises(TypeError, match=r"no array; write result\.to_pandas\(\)"):
            make(one())
    with pytest.raises(TypeError, match=r"no array; write result\.to_pandas\(\)"):
        np.asarray(one()["o"])
    some: Any
    for some in (0, slice(2)):
        with pytest.raises(KeyError, match=r"rows are those of to_arrow\(\)"):
            one()["o"][some]
    rows = {"start": [0, 1, 2], "end": [1, 2, 3], "o": [0.0, 1.0, 2.0]}
    assert one().to_pandas().to_dict("list") == rows
    assert pl.DataFrame(one()).to_dict(as_series=False) == rows
    assert pa.table(one()).to_pydict() == rows
