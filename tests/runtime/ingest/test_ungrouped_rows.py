"""Rows that are grouped by the codes of their keys are those that a run reads."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tiltpy.ir.nodes import Input
from tiltpy.lifetimes import (
    FixedDuration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    UntilNext,
)
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.read_input import ingest
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.types import F64

LIFETIMES: list[Lifetime] = [
    Point(),
    FixedDuration(3),
    Sampled(2),
    UntilNext(None),
    UntilNext(4),
    Interval("start", "end"),
]


@pytest.mark.parametrize("kind", [pa.int32(), pa.string(), pa.date32(), pa.bool_()])
@pytest.mark.parametrize("lifetime", LIFETIMES, ids=str)
def test_rows_by_code_are_those_of_a_run(lifetime: Lifetime, kind: pa.DataType) -> None:
    random = Random(7)  # noqa: S311
    count = 50
    stamps = sorted(random.randrange(60) for _ in range(count))
    numbers = [random.randrange(6) for _ in range(count)]
    keys = pa.array(numbers, pa.int32())
    if pa.types.is_string(kind):
        keys = pa.array([f"key {number}" for number in numbers])
    elif pa.types.is_boolean(kind):
        keys = pa.array([number > 2 for number in numbers])
    else:
        keys = keys.cast(kind)
    values = np.arange(float(count))
    times = np.array(stamps, np.int64)
    columns = {"time": times, "k": keys, "x": values}
    if isinstance(lifetime, Interval):
        columns = {"start": times, "end": times + 5, "k": keys, "x": values}
    declared = Input("x", F64, lifetime, "time", keys=("k",))
    if isinstance(lifetime, Interval):
        declared = Input("x", F64, lifetime, None, keys=("k",))
    read = ingest(declared, InputBinding(pa.table(columns), None), unit=None)
    assert read.keys is not None
    assert read.groups is not None
    dictionary = KeyDictionary(("k",), {"x": read.keys})
    both = (times, times + 5) if isinstance(lifetime, Interval) else (times,)
    came = UngroupedRows(both, (Column(values),), (keys,), lifetime)
    known = dictionary.encode("x", read.keys.columns)
    assert known.tolist() == list(range(len(read.keys)))
    codes = dictionary.encode("x", came.keys)
    assert dictionary.sort(np.unique(codes)[::-1])[1].columns == read.keys.columns
    made = came.group(codes, len(read.keys))
    assert made.some.tolist() == list(range(len(read.keys)))
    assert made.counts.tolist() == read.groups.counts.tolist()
    assert made.firsts.tolist() == read.groups.firsts.tolist()
    assert made.lasts.tolist() == read.groups.lasts.tolist()
    starts, ends = read.groups.times()
    assert made.starts.tolist() == starts.tolist()
    assert made.ends.tolist() == ends.tolist()
    column = read.groups.buffer.columns[0]
    assert made.columns[0].values.tolist() == column.values.tolist()
    assert came.bounds() == read.bounds()
