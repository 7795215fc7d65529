"""Every run reads a frame once: streams give what tables give, whoever asks first.

The random queries over keys, in `keyed.py`, bind streams as well as tables, and the
interpreter says what they mean; so do streamed runs (`test_out_of_core`). Here the same
cases go through everything else that reads inputs.
"""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.keyed import KeyedSetting, bound_case, random_keyed_setting
from tests.one_shot import Kind, OneShot, frame_of
from tests.random.keyed_queries import KeyedCase, random_fold_case, random_keyed_case
from tiltpy.errors import DataError
from tiltpy.inputs import BoundFrame

CASES = 8
DEEPER = 150
SUM = "input x by k : f64 time ts point\n~o[t] = sum(~x[t-5:t])"
ROWS = pa.table({"ts": [1, 2, 9], "x": [1.0, 2.0, 4.0], "k": ["a", "b", "a"]})


def drawn(seed: int) -> tuple[KeyedCase, KeyedSetting]:
    case = random_fold_case(seed) if seed % 2 else random_keyed_case(seed, exact=True)
    setting = random_keyed_setting(Random(seed))  # noqa: S311
    return case, replace(setting, preaggregate=seed % 4 != 3 or None, frames="table")


def rows(result: tilt.Result) -> dict[str, str]:
    """The rows of each output as text, in which NaN is NaN."""
    return {name: str(one.to_arrow().to_pylist()) for name, one in result.items()}


def frames(bound: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """Return what is bound, with frames of a kind."""
    return {
        name: replace(one, frame=frame_of(one.frame, kind))
        if isinstance(one, BoundFrame)
        else one
        for name, one in bound.items()
    }


@pytest.mark.parametrize("batch", range(4))
def test_streams_give_what_tables_give(batch: int, *, deep: bool) -> None:
    for seed in range(batch, CASES * (DEEPER if deep else 1), 4):
        case, setting = drawn(seed)
        options = tilt.CompileOptions(optimize=False, cache=False, costs=setting.costs)
        query = tilt.CompiledQuery(case.query, options)
        kinds: tuple[Kind, ...] = ("stream", "reader")
        bound = bound_case(case, setting)
        limits: dict[str, Any] = {"start": case.start, "end": case.end}
        wanted = query.run(**limits, **bound)
        for way in kinds:
            found = query.run(check_reductions=True, **limits, **frames(bound, way))
            assert rows(found) == rows(wanted), f"seed {seed}, {way}\n{query}"
        inputs = {n: one for n, one in bound.items() if n in case.inputs}
        seen = query.read_inputs(**inputs)
        again = query.read_inputs(**frames(inputs, "stream"))
        assert rows(again) == rows(seen), f"seed {seed}"
        if seed % 4 == 0:  # it compiles every kernel to text
            text = query.explain(inputs=frames(inputs, "stream"))
            assert text.count("== ") == query.explain(inputs=inputs).count("== ")


@pytest.mark.parametrize("kind", ["stream", "reader"])
@pytest.mark.parametrize("checked", [False, True])
def test_windows_by_key_over_a_stream(kind: Kind, *, checked: bool) -> None:
    (frame,) = frames({"x": tilt.bind(ROWS)}, kind).values()
    query = tilt.parse(SUM)
    assert query.run(x=frame, check_reductions=checked).num_rows == 3


def test_samples_by_key_over_a_stream() -> None:
    query = tilt.parse("input x by k : f64\n~o[t] = sum(~x[t-2:t])")
    rows = ROWS.select(["x", "k"])
    wanted = query.run(x=tilt.sampled(rows, 0, 1)).to_arrow()
    for frame in (OneShot(rows), rows.to_reader()):
        assert query.run(x=tilt.sampled(frame, 0, 1)).to_arrow() == wanted


def test_a_reader_that_an_earlier_run_has_read_is_refused() -> None:
    """It would pass for a frame without rows."""
    query = tilt.parse(SUM)
    reader = ROWS.to_reader()
    assert query.run(x=reader).num_rows == 3
    for frame in (reader, tilt.bind(reader)):
        with pytest.raises(DataError, match="was read by an earlier run"):
            query.run(x=frame)
    plain = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t]")
    reader = ROWS.select(["ts", "x"]).to_reader()
    assert sum(part.num_rows for part in plain.stream(x=reader)) == 3
    with pytest.raises(DataError, match="was read by an earlier run"):
        list(plain.stream(x=reader))


# Masks


MASKED = np.ma.array([1.0, -9999.0, 3.0, 4.0], mask=[False, True, False, False])


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i4", "f2", "?"])
@pytest.mark.parametrize("stride", [1, 2])
def test_masked_samples_are_gaps(dtype: str, stride: int) -> None:
    values = np.repeat(MASKED.astype(dtype), stride)[::stride]
    kind = "bool" if dtype == "?" else "f64"
    query = tilt.parse(f"input x : {kind} sampled 1\n~o[t] = count(~x[t-1:t])")
    result = query.run(x=tilt.sampled(values, 0, 1)).to_arrow()
    assert result["o"].to_pylist() == [1, 0, 1, 1]
    streamed = query.stream(x=tilt.sampled(iter([values[:2], values[2:]]), 0, 1))
    assert pa.concat_tables([part.to_arrow() for part in streamed]).equals(result)


def test_masks_of_all_and_of_none() -> None:
    query = tilt.parse("input x : f64 sampled 1\n~o[t] = count(~x[t-9:t])")
    for mask, last in ((True, []), (False, [3])):
        values = np.ma.array([1.0, 2.0, 3.0], mask=mask)
        found = query.run(x=tilt.sampled(values, 0, 1), end=3)
        assert found.to_arrow()["o"].to_pylist()[-1:] == last


class Gridded:
    """Like a variable of a netCDF file: an array that gives a masked one."""

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        return MASKED


def test_masks_of_what_gives_a_masked_array() -> None:
    query = tilt.parse("input x : f64 sampled 1\n~o[t] = sum(~x[t-4:t])")
    found = query.run(x=tilt.sampled(Gridded(), 0, 1)).to_arrow()
    assert found["o"].to_pylist()[-1] == 8.0
