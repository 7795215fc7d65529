"""Queries over DataFrames of Spark give what local runs give."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import tiltpy as tilt
from tiltpy.api import CompiledQuery
from tiltpy.bound import BoundFrame
from tiltpy.spark import apply_all

pytestmark = pytest.mark.xdist_group("spark")

Row = tuple[Any, ...]


def listed(frame: DataFrame) -> list[Row]:
    """The rows of a DataFrame in an order of their own."""
    return ordered(frame.toArrow())


def ordered(table: pa.Table) -> list[Row]:
    rows = zip(*table.to_pydict().values(), strict=True)
    return sorted(rows, key=lambda row: [(v is not None, str(type(v)), v) for v in row])


def same(
    query: CompiledQuery,
    frames: Mapping[str, BoundFrame],
    tables: Mapping[str, BoundFrame],
    **arguments: Any,
) -> None:
    """Whether all outputs over frames of Spark are those over tables of Arrow."""
    chunk = arguments.pop("chunk", None)
    given: dict[str, Any] = {**arguments, **tables}
    expected = query.run(**given)
    for name, frame in apply_all(query, frames, chunk=chunk, **arguments).items():
        assert listed(frame) == ordered(expected[name].to_arrow()), name


def random_rows(seed: int, count: int, span: int, keys: Sequence[Any]) -> list[Row]:
    """Rows of a key, a time and a multiple of 1/8 or nothing; some share times."""
    random = Random(seed)  # noqa: S311
    return [
        (
            random.choice(keys),
            random.randrange(span),
            random.randrange(64) / 8 if random.random() < 0.9 else None,
        )
        for _ in range(count)
    ]


def both(
    spark: SparkSession, rows: list[Row], partitions: int = 3
) -> tuple[DataFrame, pa.Table]:
    """The same rows for Spark and for local runs."""
    frame = spark.createDataFrame(rows, "symbol string, ts long, price double")
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    names = ("symbol", "ts", "price")
    kinds = (pa.string(), pa.int64(), pa.float64())
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    return frame.repartition(partitions), pa.table(
        dict(zip(names, arrays, strict=True))
    )


KINDS = {
    "point": "{ v = ~price[t], sum = sum(~price[t-9s : t]) }",
    "until_next": "~price[t] > 2 ? ~price[t+5s] : φ",
    "duration 7s": "mean(~price[t-9s : t])",
    "until_next max 3s": "count(~price[t-3s : t]) + 1",
}
"""An expression for rows of each lifetime."""


@pytest.mark.parametrize("lifetime", KINDS)
def test_one_series_is_cut_by_time(spark: SparkSession, lifetime: str) -> None:
    query = tilt.parse(f"""
        unit s
        input price : f64 time ts order price {lifetime}
        ~out[t] = {KINDS[lifetime]}
        output ~out
    """)
    frame, table = both(spark, random_rows(1, 300, 700, "ab"))
    same(query, {"price": tilt.bind(frame)}, {"price": tilt.bind(table)}, chunk=64)


@pytest.mark.parametrize("chunk", [None, 200])
def test_each_key_is_by_itself(spark: SparkSession, chunk: int | None) -> None:
    query = tilt.parse("""
        unit s
        input trades by symbol : { price: f64 } time ts order price point
        ~near[t] = ~trades[t].price > 2 ? mean(v.price for v in ~trades[t-50s : t]) : φ
        output ~near
    """)
    frame, table = both(spark, random_rows(2, 400, 600, ["a", "b", "é", None]))
    trades, same_trades = tilt.bind(frame), tilt.bind(table)
    same(query, {"trades": trades}, {"trades": same_trades}, chunk=chunk)
