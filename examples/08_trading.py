"""Trend-based trading: what would have become of a dollar in four companies?

It buys when the average price of 20 trading days rises above that of 50, else sells.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def in_python() -> tilt.CompiledQuery:
    price = tilt.source("price", tilt.f64, tilt.point(), time="Date")
    t = tilt.TDom(precision="1d")
    short, long = price[t - "28d" : t], price[t - "70d" : t]
    known = (price[t] != tilt.phi) & (tilt.count(long) > tilt.count(short))
    up = tilt.define("up", t, tilt.when(known, tilt.mean(short) > tilt.mean(long)))
    turned = up[t] != tilt.last(up[t - "10d" : t - "1d"])
    order = tilt.when(turned, tilt.struct(buy=up[t], price=price[t]))
    return tilt.compile(tilt.define("order", t, order))


def worth(orders: pa.Table, last: float) -> float:
    """What becomes of a dollar that is in shares from each buy to the next sale."""
    dollars, bought = 1.0, 0.0
    for row in orders.to_pylist():
        if row["buy"]:
            bought = row["price"]
        elif bought:
            dollars, bought = dollars * row["price"] / bought, 0.0
    return dollars * last / bought if bought else dollars


def main() -> None:
    query, summary = tilt.load(HERE / "queries" / "trading.tilt"), {}
    print("company  orders  traded    held")
    for company in COMPANIES:
        rows = pq.read_table(HERE / "data" / f"{company}.parquet")
        prices = tilt.bind(rows, column="AdjClose")
        orders = query.run(price=prices).to_arrow()
        assert in_python().run(price=prices).to_arrow() == orders
        first, last = rows["AdjClose"][0].as_py(), rows["AdjClose"][-1].as_py()
        traded, held = round(worth(orders, last), 2), round(last / first, 2)
        print(f"{company:7}  {len(orders):6}  {traded:6.2f}  {held:6.2f}")
        summary[company] = len(orders), traded, held
    assert summary == {
        "AAPL": (64, 8.25, 13.41),
        "GOOG": (40, 3.33, 8.03),
        "IBM": (74, 0.79, 2.38),
        "MSFT": (78, 0.61, 0.82),
    }


if __name__ == "__main__":
    main()
