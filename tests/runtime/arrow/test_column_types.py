"""Columns of every Arrow type: what comes in and goes out, what is refused and how."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import listed
from tiltpy.errors import DataError

UNSIGNED = (8, 16, 32, 64)
UNION = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])


def run(declared: str, column: pa.Array, expression: str = "~x[t]") -> pa.ChunkedArray:
    """An expression over a column, a row a tick."""
    query = tilt.parse(f"input x : {declared} time t point\n~o[t] = {expression}")
    table = pa.table({"t": range(1, len(column) + 1), "x": column})
    return query.run(x=table).to_arrow()["o"]


@pytest.mark.few(2)
@pytest.mark.parametrize("bits", UNSIGNED)
def test_unsigned_columns_go_all_the_way(bits: int) -> None:
    kind, most = f"u{bits}", 2**bits - 1
    column = pa.array([most, 0, None, most - 1], getattr(pa, f"uint{bits}")())
    found = run(kind, column)
    assert found.type == column.type
    assert found.to_pylist() == [most, 0, most - 1]
    assert run(kind, column, "~x[t] + 1").to_pylist() == [0, 1, most]
    assert run(kind, column, "-~x[t]").to_pylist() == [1, 0, 2]
    assert run(kind, column, "~x[t] // 2").to_pylist() == [most // 2, 0, most // 2]
    assert run(kind, column, "~x[t] > 1").to_pylist() == [True, False, True]
    assert run(kind, column, "f64(~x[t])").to_pylist() == [most * 1.0, 0.0, most - 1.0]
    assert run(kind, column, "i64(~x[t])").to_pylist() == [
        min(value, 2**63 - 1) for value in (most, 0, most - 1)
    ]
    for name, expected in (
        ("max", [most, most, most]),
        ("min", [most, 0, 0]),
        ("first", [most, most, most]),
        ("last", [most, 0, most - 1]),
        ("topk", [most, most, most]),
        ("modes", [most, most, most]),
    ):
        field = {"topk": ", 1).top1", "modes": ", 1).mode1"}.get(name, ")")
        call = f"{name}(~x[t-9 : t]{field}"
        folded = run(kind, column, call)
        assert (folded.type, folded.to_pylist()) == (column.type, expected)
    total = run(kind, column, "sum(~x[t-9 : t])")
    assert total.type == pa.uint64()
    last = (most + most - 1) % 2**64
    assert total.to_pylist() == [most, most, last]
    means = run(kind, column, "mean(~x[t-9 : t])").to_pylist()
    assert means[0] == pytest.approx(most)
    assert means[-1] == pytest.approx((2 * most - 1) / 3)


def test_unsigned_columns_of_regular_samples() -> None:
    values = np.arange(5000, dtype=np.uint64) + np.uint64(2**64 - 6000)
    query = tilt.parse("input x : u64 sampled 1\n~o[t] = max(~x[t-20 : t]) - ~x[t]")
    found = query.run(x=tilt.sampled(values, 0, 1))
    assert set(found.to_arrow()["o"].to_pylist()) == {0}
    assert found.schema.field("o").type == pa.uint64()


def test_other_widths_bits_and_nulls() -> None:
    half = pa.array(np.array([1.5, -2, np.nan], np.float16))
    assert run("f32", half, "~x[t] * 2").to_pylist()[:2] == [3.0, -4.0]
    assert run("f64", half.slice(1)).to_pylist()[0] == -2.0
    bits = pa.array([True, None, False] * 9).slice(4)
    assert run("bool", bits, "!~x[t]").to_pylist() == [
        not value for value in bits.to_pylist() if value is not None
    ]
    for declared in ("bool", "f32", "u8", "time", "duration", "string"):
        assert run(declared, pa.nulls(3)).to_pylist() == []
    assert run("i64", pa.array([5, 5, 6]).dictionary_encode()).to_pylist() == [5, 5, 6]


@pytest.mark.parametrize(("declared", "bits"), [("f64", 53), ("f32", 24)])
def test_floats_take_the_integers_that_they_hold(declared: str, bits: int) -> None:
    most = 2**bits
    for kind in (pa.int64(), pa.uint64()) + (pa.int32(),) * (bits < 32):
        column = pa.array([1, None, most, 0], kind)
        for whole in (column, column.dictionary_encode(), column.slice(2)):
            found = run(declared, whole).to_pylist()
            assert found == [value for value in whole.to_pylist() if value is not None]
        wrong = pa.array([1, None, most + 1, most + 3], kind)
        # Rows are counted as they lie, also where they are sorted by time.
        table = pa.table({"t": [4, 3, 2, 1], "x": wrong})
        query = tilt.parse(f"input x : {declared} time t point\n~o[t] = ~x[t]")
        with pytest.raises(DataError) as caught:
            query.run(x=table)
        assert caught.value.row == 2
        name = str(kind).replace("uint", "u").replace("int", "i")
        assert str(caught.value) == (
            f"input 'x', column 'x', row 2: found {most + 1}, which {declared} does "
            f"not hold exactly; declare it as {name}, or cast it"
        )
    negative = pa.array([-most, -most - 1])
    assert run(declared, negative.slice(0, 1)).to_pylist() == [-most]
    with pytest.raises(DataError, match=f"row 1: found {-most - 1}"):
        run(declared, negative)


def test_streams_count_the_rows_of_all_batches() -> None:
    query = tilt.parse("input x : f64 time t point\n~o[t] = ~x[t]")
    tables = [pa.table({"t": [n], "x": [2**53 + n - 2]}) for n in (1, 2, 3)]
    with pytest.raises(DataError, match="row 2: found 9007199254740993"):
        list(query.stream(x=iter(tables)))


@pytest.mark.parametrize(
    ("column", "way"),
    [
        (
            pa.array([Decimal("1.5")]),
            "decimals are no payload: cast it to f64, or to an",
        ),
        (pa.array([Decimal(1)], pa.decimal256(50, 0)), "decimals are no payload"),
        (pa.array([[1]]), "a list is no payload: give each of its items a row"),
        (pa.array([[1]], pa.large_list(pa.int64())), "a list is no payload"),
        (pa.array([[1]], pa.list_(pa.int64(), 1)), "a list is no payload"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "a map is no payl"),
        (UNION, "a union is no payload: give the values of each type a column"),
        (pa.array([b"a"]), "bytes are no payload: decode them"),
        (pa.array([b"a"], pa.large_binary()), "bytes are no payload"),
        (pa.array([b"a"], pa.binary(1)), "bytes are no payload"),
        (pa.array([b"a"], pa.binary_view()), "bytes are no payload"),
        (pa.array([1], pa.time32("s")), "a time of day is no payload: add its day"),
        (pa.array([1], pa.time64("ns")), "a time of day is no payload"),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "months have no fixed"),
        (pa.array([1], pa.timestamp("s")), "declare it as time, or cast it"),
        (pa.array([1], pa.date32()), "declare it as time, or cast it"),
        (pa.array([1], pa.duration("s")), "declare it as duration, or cast it"),
        (pa.array([{"a": 1}]), "declare it as a struct, like"),
        (pa.array(["a"]), "declare it as string, or cast it"),
        (pa.array([True]), "declare it as bool, or cast it"),
        (pa.array([1], pa.uint64()), "declare it as u64, or cast it"),
        (pa.array([1.5]), "declare it as f64, or cast it"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_what_is_no_such_payload_says_what_to_do(column: pa.Array, way: str) -> None:
    with pytest.raises(DataError) as caught:
        run("i64", column)
    message = str(caught.value)
    assert message.startswith(
        f"input 'x', column 'x': found {column.type}, expected i64"
    )
    assert way in message
    nested = pa.StructArray.from_arrays([column], ["f"])
    query = tilt.parse("input x : { s: { f: i64 } } time t point\n~o[t] = ~x[t].s.f")
    with pytest.raises(DataError, match=r"column 's\.f': found "):
        listed(query.run(x=pa.table({"t": [1], "s": nested})))
