"""An unknown attribute or column of a result is an error that says what there is."""

import copy
import pickle

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy import Result


def _result() -> Result:
    x = tilt.source("x", tilt.f64, tilt.point())
    t = tilt.TDom(precision="1s")
    frame = pa.table({"time": pa.array([1], pa.timestamp("s")), "x": [1.0]})
    return tilt.compile(tilt.define("out", t, x[t] + 1)).run(x=frame)


RESULT, TABLE = "Result", "OutputTable"


@pytest.mark.parametrize(
    ("owner", "name", "hint"),
    [
        (RESULT, "to_csv", "write result.write_csv(path)"),
        (RESULT, "to_parquet", "write result.write_parquet(path)"),
        (RESULT, "to_panda", "did you mean to_pandas?"),
        (RESULT, "out", "write result['out'] for the output"),
        (RESULT, "m", "the outputs are 'out': write result[name]"),
        (TABLE, "to_csv", "write table.write_csv(path)"),
        (TABLE, "to_panda", "did you mean to_pandas?"),
        (TABLE, "end", "write table['end'] for the column"),
        (TABLE, "m", "the columns are 'start', 'end', 'out': write table[name]"),
    ],
)
def test_unknown_attributes_have_a_way_out(owner: str, name: str, hint: str) -> None:
    result = _result()
    with pytest.raises(AttributeError) as caught:
        getattr(result if owner == RESULT else result["out"], name)
    assert str(caught.value) == f"'{owner}' object has no attribute '{name}'; {hint}"


def test_a_table_has_its_columns() -> None:
    table = _result()["out"]
    assert table["out"].to_pylist() == [2.0]
    assert table["end"] == table.to_arrow()["end"]
    assert "out" in table
    assert "edn" not in table
    with pytest.raises(TypeError, match="not iterable"):
        list(table)  # type: ignore[call-overload]
    has = "output 'out' has no column 'edn'; it has 'start', 'end', 'out'"
    with pytest.raises(KeyError) as caught:
        table["edn"]
    assert isinstance(caught.value, tilt.TiltError)
    assert str(caught.value) == f"{has}; did you mean 'end'?"


def test_a_table_without_attributes_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'm'"):
        tilt.OutputTable.__new__(tilt.OutputTable).m  # type: ignore[attr-defined] # noqa: B018


def test_results_are_copied_and_pickled_still() -> None:
    result = _result()
    assert copy.copy(result).to_arrow() == result.to_arrow()
    assert copy.copy(result["out"]).num_rows == 1
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 - made here
    assert again.to_arrow() == result.to_arrow()
