"""Fraud detection: sales of a shop that are far larger than those of the days before.

`queries/fraud.tilt` compares the largest sale of each minute with the mean and three
deviations of ten days. Up to hundreds of rows share a minute: they overlap, and windows
count every one.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    quantity = tilt.source("quantity", tilt.i32, tilt.point(), time="sold")
    t = tilt.TDom(precision="1m")
    largest = tilt.max(quantity[t - "1m" : t])
    before = quantity[t - "1m" - "10d" : t - "1m"]
    limit = tilt.mean(before, where=before > 0) + 3 * tilt.std(before, where=before > 0)
    suspect = tilt.struct(quantity=largest, limit=limit)
    return tilt.compile(tilt.define("suspect", t, tilt.when(largest > limit, suspect)))


def main() -> None:
    query = tilt.load(HERE / "queries" / "fraud.tilt")
    sales = pq.read_table(HERE / "data" / "retail.parquet")
    quantity = tilt.bind(sales, column="quantity")
    start = "2010-03-11"
    suspects = query.run(quantity=quantity, start=start).to_arrow()
    assert in_python().run(quantity=quantity, start=start).to_arrow() == suspects

    print(f"{len(sales)} rows, {len(suspects)} suspect minutes since {start}, with")
    order = pc.sort_indices(suspects, [("quantity", "descending")])
    for row in suspects.take(order.slice(0, 5)).to_pylist():
        print(
            f"{row['end']:%m-%d %H:%M}  {row['quantity']:6} pieces,"
            f" {row['limit']:4.0f} would not be strange"
        )
    assert len(suspects) == 36
    assert pc.max(suspects["quantity"]).as_py() == 12960


if __name__ == "__main__":
    main()
