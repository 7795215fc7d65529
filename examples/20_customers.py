"""Fraud detection for each customer: sales far above what the same one bought before.

`queries/customers.tilt` is `queries/fraud.tilt` by customer: mean and deviation are
those of a customer's own ten days. Sales whose customer is not known have a null for
it, which is a key like others, and the first.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    lifetime = tilt.point()
    quantity = tilt.source("quantity", tilt.i32, lifetime, time="sold", by="customer")
    t = tilt.TDom(precision="1m")
    largest = tilt.max(quantity[t - "1m" : t])
    before = quantity[t - "1m" - "10d" : t - "1m"]
    limit = tilt.mean(before, where=before > 0) + 3 * tilt.std(before, where=before > 0)
    suspect = tilt.struct(quantity=largest, limit=limit)
    return tilt.compile(tilt.define("suspect", t, tilt.when(largest > limit, suspect)))


def main() -> None:
    query = tilt.load(HERE / "queries" / "customers.tilt")
    sales = pq.read_table(HERE / "data" / "retail.parquet")
    quantity = tilt.bind(sales, column="quantity")
    start = "2010-03-11"
    suspects = query.run(quantity=quantity, start=start).to_arrow()
    assert in_python().run(quantity=quantity, start=start).to_arrow() == suspects

    customers = pc.count_distinct(sales["customer"]).as_py()
    print(f"{customers} customers, {len(suspects)} suspect sales since {start}, with")
    order = pc.sort_indices(suspects, [("quantity", "descending")])
    for row in suspects.take(order.slice(0, 5)).to_pylist():
        print(
            f"{row['end']:%m-%d %H:%M}  {row['customer'] or 'nobody':>6}"
            f"  {row['quantity']:6} pieces, {row['limit']:4.0f} would not be strange"
        )
    assert len(suspects) == 90
    assert pc.max(suspects["quantity"]).as_py() == 10000
    assert suspects["customer"].null_count == 15

    shop = tilt.load(HERE / "queries" / "fraud.tilt")
    shops = shop.run(quantity=quantity, start=start).to_arrow()
    both = pc.sum(pc.is_in(suspects["end"], shops["end"])).as_py()
    print(f"{both} of them are among the {len(shops)} that are strange for the shop")
    assert (both, len(shops)) == (7, 36)


if __name__ == "__main__":
    main()
