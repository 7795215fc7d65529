"""An unknown attribute of a result is an error that says what there is."""

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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("to_csv", "write result.write_csv(path)"),
        ("to_parquet", "write result.write_parquet(path)"),
        ("to_panda", "did you mean to_pandas?"),
        ("out", "write result['out'] for the output"),
        ("m", "the outputs are 'out': write result[name]"),
    ],
)
def test_unknown_attributes_have_a_way_out(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(_result(), name)
    assert str(caught.value) == f"'Result' object has no attribute '{name}'; {hint}"


def test_results_are_copied_and_pickled_still() -> None:
    result = _result()
    assert copy.copy(result).to_arrow() == result.to_arrow()
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 - made here
    assert again.to_arrow() == result.to_arrow()
