"""Dictionaries and run ends of all kinds stand for their values, everywhere."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import DataError

NAN = float("nan")
Encode = Callable[[Sequence[object], pa.DataType], list[pa.Array]]


def indices(count: int, of: int, kind: pa.DataType) -> pa.Array:
    return pa.array(np.arange(count) * 5 % of, kind)


def dictionary(
    values: Sequence[object], kind: pa.DataType, index: pa.DataType
) -> list[pa.Array]:
    """Two chunks, whose dictionaries differ."""
    plain = pa.array(values, kind)
    return [
        pa.DictionaryArray.from_arrays(indices(9, len(part), index), part)
        for part in (plain, plain.slice(1))
    ]


def run_ends(values: Sequence[object], kind: pa.DataType) -> list[pa.Array]:
    plain = pa.array(values, kind)
    ends = pa.array(np.arange(1, len(plain) + 1) * 2, pa.int32())
    whole = pa.RunEndEncodedArray.from_arrays(ends, plain)
    return [whole, whole.slice(3)]


def nested(values: Sequence[object], kind: pa.DataType) -> list[pa.Array]:
    """A dictionary of a dictionary, and run ends of one."""
    inner = dictionary(values, kind, pa.int8())[0]
    return [pa.DictionaryArray.from_arrays(indices(7, 9, pa.int8()), inner)]


def runs_of_codes(values: Sequence[object], kind: pa.DataType) -> list[pa.Array]:
    inner = dictionary(values, kind, pa.int16())[0]
    ends = pa.array(np.arange(1, len(inner) + 1) * 2, pa.int32())
    return [pa.RunEndEncodedArray.from_arrays(ends, inner).slice(1)]


def codes_of_runs(values: Sequence[object], kind: pa.DataType) -> list[pa.Array]:
    inner = run_ends(values, kind)[1]
    return [pa.DictionaryArray.from_arrays(indices(7, len(inner), pa.int8()), inner)]


ENCODINGS: dict[str, Encode] = {
    "int8": partial(dictionary, index=pa.int8()),
    "int64": partial(dictionary, index=pa.int64()),
    "uint32": partial(dictionary, index=pa.uint32()),
    "runs": run_ends,
    "nested": nested,
    "runs of codes": runs_of_codes,
    "codes of runs": codes_of_runs,
}
COLUMNS = [
    ("i64", pa.int64(), [100, 300, -7, 2**60]),
    ("u8", pa.uint8(), [1, None, 255, 7]),
    ("f64", pa.float16(), [0.5, 2.0, -0.0, 8.0]),
    ("f64", pa.float64(), [0.5, None, NAN, -0.0]),
    ("bool", pa.bool_(), [True, None, False, True]),
    ("string", pa.string(), ["a", None, "", "ä"]),
    ("string", pa.string_view(), ["a", "long enough for a view", None, "ä"]),
]


def values_of(column: pa.Array) -> list[object]:
    """Read row by row, as the format says."""
    match column:
        case pa.DictionaryArray():
            values = values_of(column.dictionary)
            return [None if i is None else values[i] for i in column.indices.tolist()]
        case pa.RunEndEncodedArray():
            values, ends = values_of(column.values), column.run_ends.to_numpy()
            rows = np.arange(len(column)) + column.offset
            return [values[run] for run in ends.searchsorted(rows, "right")]
        case _:
            result: list[object] = column.to_pylist()
            return result


def outcomes(query: tilt.CompiledQuery, column: pa.ChunkedArray) -> list[pa.Table]:
    """Run, stream and push a column, chunk by chunk and at once."""
    table = pa.table({"ts": range(1, len(column) + 1), "x": column})
    half = len(column.chunks[0])
    parts = [table.slice(0, half), table.slice(half)]
    session = query.live()
    updates = [session.push(x=part) for part in parts] + [session.finish()]
    tables = [
        [query.run(x=table)],
        query.stream(x=table),
        query.stream(x=iter(parts)),
    ]
    results = [pa.concat_tables([r["o"].to_arrow() for r in each]) for each in tables]
    return [*results, pa.concat_tables([u["o"].final.to_arrow() for u in updates])]


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(("declared", "kind", "values"), COLUMNS)
def test_encodings_stand_for_their_values(
    name: str, declared: str, kind: pa.DataType, values: list[object]
) -> None:
    chunks = ENCODINGS[name](values, kind)
    query = tilt.parse(f"input x : {declared} time ts point\n~o[t] = ~x[t]")
    expected = [value for chunk in chunks for value in values_of(chunk)]
    there = pa.array([value for value in expected if value is not None], kind)
    column = pa.chunked_array(chunks)
    for table in outcomes(query, column):
        found = table["o"].combine_chunks()
        assert found.cast(pa.string()).equals(there.cast(found.type).cast(pa.string()))
    stamps = pa.DictionaryArray.from_arrays(indices(4, 4, pa.int8()), range(7, 47, 10))
    table = pa.table({"ts": stamps, "x": range(4)})
    (stream,) = tilt.parse("input x : i64 time ts point\n~o[t] = ~x[t]").stream(x=table)
    assert stream.to_arrow()["end"].to_pylist() == [7, 17, 27, 37]


def test_more_categories_than_the_indices_of_one_frame_hold() -> None:
    query = tilt.parse("input x by k : string time ts point\n~o[t] = ~x[t]")
    session = query.live(x=tilt.ingress(reorder=1000))
    for push in range(4):
        names = pa.array([f"{push} {row}" for row in range(100)])
        codes = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), names)
        stamps = range(100 * push, 100 * push + 100)
        session.push(x=pa.table({"ts": stamps, "x": codes, "k": codes}))
    result = session.finish()["o"].final.to_arrow()
    assert result["k"].equals(result["o"])
    assert len(set(result["o"].to_pylist())) == 400


class Metres(pa.ExtensionType):  # type: ignore[misc]
    """An extension type of a user: pyarrow gives it no hash."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.metres")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_extension_types_of_a_user_are_refused_with_a_way_out() -> None:
    values = pa.array([1.5, 2.5])
    column = pa.ExtensionArray.from_storage(Metres(), values)
    query = tilt.parse("input x : f64 time ts point\n~o[t] = ~x[t]")
    table = pa.table({"ts": [1, 2], "x": column})
    for act in (
        lambda: query.run(x=table),
        lambda: list(query.stream(x=table)),
        lambda: query.live().push(x=table),
    ):
        with pytest.raises(DataError, match=r"found extension<.*>, expected f64; cast"):
            act()
    unread = pa.table({"ts": [1, 2], "x": values, "y": column})
    for result in outcomes(query, unread["x"]):
        assert result["o"].to_pylist() == [1.5, 2.5]
    assert len(query.run(x=tilt.bind(unread, column="x"))) == 2
    session = query.live(x=tilt.ingress(column="x"))
    session.push(x=unread)
    assert len(session.finish()["o"].final) == 1
