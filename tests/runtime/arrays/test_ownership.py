"""Tests of who owns which memory: results outlive everything, inputs are only read.

Nothing is copied where it need not be, so a result may be a view of an input's memory,
and outputs of chunks views of larger allocations. Here everything else is dropped and
memory is churned before results are looked at again.
"""

import gc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import tiltpy as tilt
from tests.plain import listed

ROWS = 5000

QUERIES = {
    "shares its times with the input": "~o[t] = ~x[t] + 1.0",
    "is the input": "~o[t] = ~x[t]",
    "drops rows": "~o[t] = ~x[t] > 10.0 ? ~x[t] : φ",
    "keeps few rows": "~o[t] = ~x[t] == 10.0 ? ~x[t] : φ",
    "slides": "~o[t] = sum(~x[t-5:t])",
    "is cut": "t = TDom(100, 2000, 1)\n~o[t] = ~x[t]",
    "goes through another": "~y[t] = max(~x[t-3:t])\n~o[t] = min(~y[t-2:t])\noutput ~o",
}


def table(layout: str, *, nulls: bool) -> pa.Table:
    """Stamped values: regular, irregular, or with gaps; whole numbers."""
    steps = {"sampled": 1, "contiguous": 1 + np.arange(ROWS) % 2, "gaps": 2}[layout]
    ends = np.cumsum(np.full(ROWS, 1) * steps)
    starts = ends - (1 if layout == "gaps" else steps)
    mask = np.arange(ROWS) % 7 == 3 if nulls else None
    values = pa.array(np.arange(ROWS) % 50.0, mask=mask)
    return pa.table({"start": starts, "end": ends, "x": values})


def query(text: str) -> tilt.CompiledQuery:
    return tilt.parse(f"input x : f64 interval (start, end)\n{text}")


def copied(given: pa.Table) -> pa.Table:
    """Make the same values in memory of their own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, given.schema) as writer:
        writer.write_table(given)
    stream = pa.py_buffer(sink.getvalue().to_pybytes())
    return pa.ipc.open_stream(stream).read_all()


def churn() -> None:
    """Reuse what memory has been given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    for size in (1, 10, 100, 1000):
        blocks = [np.full(size * 64, 1e99) for _ in range(64)]
        buffers = [pa.allocate_buffer(size * 512) for _ in range(64)]
        for buffer in buffers:
            np.frombuffer(buffer, np.uint8)[:] = 0xAB
        del blocks, buffers


@pytest.mark.covering(1)
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("layout", ["sampled", "contiguous", "gaps"])
@pytest.mark.parametrize("nulls", [False, True])
def test_results_outlive_all_else(text: str, layout: str, *, nulls: bool) -> None:
    frame = table(layout, nulls=nulls)
    untouched = copied(frame)
    compiled = query(text)
    result = compiled.run(x=frame, chunk=777, workers=2, start=3, end=4001)
    expected = listed(result)
    assert frame.equals(untouched)  # inputs are never written
    arrow = result.to_arrow()
    column, polars, pandas = arrow["o"], result.to_polars(), result.to_pandas()
    numbers = copied(arrow)
    del frame, compiled, result
    churn()
    assert [tuple(row.values()) for row in arrow.to_pylist()] == expected
    del arrow
    churn()
    assert column.to_pylist() == [row[2] for row in expected]
    assert list(polars.iter_rows()) == expected
    assert list(pandas.itertuples(index=False, name=None)) == expected
    assert numbers["o"].to_pylist() == [row[2] for row in expected]
    assert untouched.num_rows == ROWS


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_inputs_are_never_written(text: str) -> None:
    """Every buffer keeps its bytes, although the domain cuts the first and last row."""
    frame = table("contiguous", nulls=True)
    before = [bytes(b) for b in buffers(frame)]
    for _ in range(2):
        query(text).run(x=frame, chunk=500, start=4, end=2000)
        assert [bytes(b) for b in buffers(frame)] == before


def test_read_only_memory_is_enough() -> None:
    """Memory that could not be written, such as a mapped file."""
    starts: NDArray[np.int64] = np.arange(100)
    columns = {"start": starts, "end": starts + 1, "x": starts * 0.5}
    for array in columns.values():
        array.setflags(write=False)
    result = query("~o[t] = sum(~x[t-2:t])").run(x=pa.table(columns), chunk=10)
    assert result.num_rows == 100


def buffers(frame: pa.Table) -> list[pa.Buffer]:
    chunks = (chunk for column in frame.columns for chunk in column.chunks)
    return [b for chunk in chunks for b in chunk.buffers() if b is not None]


# The shapes in which Arrow data may arrive


def bits(offset: int) -> Callable[[pa.Array], pa.Array]:
    """Make the same values at another offset, with other values around them."""

    def moved(array: pa.Array) -> pa.Array:
        around = pa.concat_arrays([array[:offset], array, array[:3]])
        return around[offset : offset + len(array)]

    return moved


def chunked(*sizes: int) -> Callable[[pa.Array], pa.ChunkedArray]:
    def cut(array: pa.Array) -> pa.ChunkedArray:
        places = [0, *np.cumsum(sizes).tolist(), len(array)]
        pieces = [array[a:b] for a, b in pairwise(places)]
        return pa.chunked_array(pieces, array.type)

    return cut


ARRIVALS: dict[str, Callable[[pa.Array], pa.Array | pa.ChunkedArray]] = {
    **{f"at bit {offset}": bits(offset) for offset in (1, 3, 7, 8, 9, 13, 64, 65)},
    "in chunks": chunked(1, 7, 0, 30, 1),
    "in chunks at odd bits": lambda array: chunked(3, 5, 11)(bits(5)(array)),
}
PAYLOADS = {
    "bool": pa.array([i % 3 == 0 for i in range(90)]),
    "bool with nulls": pa.array(
        [None if i % 5 == 2 else i % 3 == 0 for i in range(90)]
    ),
    "i8 with nulls": pa.array(
        [None if i % 4 == 1 else i for i in range(90)], pa.int8()
    ),
    "f64 with nulls": pa.array([None if i % 9 == 4 else i / 8 for i in range(90)]),
    "u32": pa.array(range(90), pa.uint32()),
}
EXPRESSIONS = {
    "bool": ("~x[t]", "any(~x[t-3:t])", "sum(~x[t-3:t])", "~x[t-1] && ~x[t]", "!~x[t]"),
    "": ("~x[t]", "sum(~x[t-3:t])", "max(~x[t-3:t])", "~x[t-1] + ~x[t]"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_slices_chunks_and_odd_bits(payload: str) -> None:
    scalar = payload.split(maxsplit=1)[0]
    texts = EXPRESSIONS.get(scalar, EXPRESSIONS[""])
    lines = [f"~o{i}[t] = {text}" for i, text in enumerate(texts)]
    for lifetime, step in (("sampled 1", 1), ("until_next", 2), ("point", 2)):
        text = f"input x : {scalar} time time {lifetime}\n" + "\n".join(lines)
        compiled = tilt.parse(text)
        values = PAYLOADS[payload]
        stamps = pa.array(range(0, len(values) * step, step), pa.int64())
        plain = compiled.run(x=pa.table({"time": stamps, "x": values}))
        for arrive in ARRIVALS.values():
            frame = pa.table({"time": arrive(stamps), "x": arrive(values)})
            for chunk in (None, 10):
                found = compiled.run(x=frame, chunk=chunk)
                for name in compiled.query.outputs:
                    assert listed(found[name]) == listed(plain[name])


def test_nullable_fields_at_odd_bits() -> None:
    text = """input x : { a: i64, b: f32, c: bool } time time point
        ~o[t] = { a = ~x[t].a, b = ~x[t].b, c = ~x[t].c, n = count(~x[t-9:t]) }
        ~p[t] = sum(~x[t-9:t].b)"""
    compiled = tilt.parse(text)
    count = 90
    columns = {
        "time": pa.array(range(0, 2 * count, 2), pa.int64()),
        "a": pa.array([None if i % 3 == 0 else i for i in range(count)]),
        "b": pa.array([None if i % 2 else i / 4 for i in range(count)], pa.float32()),
        "c": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(count)]),
    }
    plain = compiled.run(x=pa.table(columns))
    rows = plain["o"].to_arrow().to_pylist()
    events = [row for row in rows if row["end"] % 2 == 0]
    assert [row["a"] for row in events] == columns["a"].to_pylist()
    assert [row["b"] for row in events] == columns["b"].to_pylist()
    assert [row["c"] for row in events] == columns["c"].to_pylist()
    for arrive in ARRIVALS.values():
        frame = pa.table({name: arrive(array) for name, array in columns.items()})
        found = compiled.run(x=frame, chunk=11)
        assert listed(found["o"]) == listed(plain["o"])
        assert listed(found["p"]) == listed(plain["p"])
