"""Trends of four companies at once: an input whose rows are split by key.

In `queries/trends.tilt` the input says `by symbol`: each company has a temporal object
of its own, and so has all that is made of it. The result says which is whose, company
after company, or in order of time where that is asked for.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def in_python() -> tilt.CompiledQuery:
    held = tilt.until_next()
    stock = tilt.source("stock", tilt.f64, held, time="Date", by="symbol")
    t = tilt.TDom()
    avg10 = tilt.define("avg10", t, tilt.mean(stock[t - 10 : t]))
    avg20 = tilt.define("avg20", t, tilt.mean(stock[t - 20 : t]))
    gap = tilt.define("gap", t, avg10[t] - avg20[t])
    trend = tilt.define("trend", t, tilt.when(gap[t] > 0, gap[t]))
    return tilt.compile(trend, unit="d")


def prices_of(company: str) -> pa.Table:
    prices = pq.read_table(HERE / "data" / f"{company}.parquet")
    return prices.append_column("symbol", pa.array([company] * len(prices)))


def main() -> None:
    query = tilt.load(HERE / "queries" / "trends.tilt")
    prices = pa.concat_tables(prices_of(company) for company in COMPANIES)
    stock = tilt.bind(prices.sort_by("Date"), column="AdjClose")
    found = query.run(stock=stock).to_arrow()
    assert in_python().run(stock=stock).to_arrow() == found
    assert found.column_names == ["symbol", "start", "end", "trend"]

    alone = tilt.load(HERE / "queries" / "trend.tilt")
    for company in COMPANIES:
        own = found.filter(pc.field("symbol") == company).drop_columns("symbol")
        stock_alone = tilt.bind(prices_of(company), column="AdjClose")
        assert own == alone.run(stock=stock_alone).to_arrow()
        print(f"{company:5} {len(own):5} days up, most by {pc.max(own['trend'])}")

    in_time = query.run(stock=stock, order="time").to_arrow()
    assert in_time == found.sort_by([(n, "ascending") for n in ("start", "symbol")])
    days = in_time["start"].value_counts().field("counts")
    together = pc.sum(pc.equal(days, 4)).as_py()
    print(f"all four on {together} of {len(days)} days")
    assert (together, len(days)) == (813, 3833)


if __name__ == "__main__":
    main()
