"""The relative strength index of four companies: were they bought or sold too much?

`queries/rsi.tilt` is three objects, each made of the one before: the change of a day,
the average gain and loss of 14 trading days, the index. Bound by `sampled`, a tick is a
trading day. Above 70 a share counts as overbought, below 30 as oversold.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def in_python() -> tilt.CompiledQuery:
    price = tilt.source("price", tilt.f64)
    t = tilt.TDom()
    change = tilt.define("change", t, price[t] - price[t - 1])
    changes = change[t - 14 : t]
    gain = tilt.define("gain", t, tilt.mean(tilt.max(changes, 0)))
    loss = tilt.define("loss", t, tilt.mean(tilt.max(-changes, 0)))
    index = 100 - 100 / (1 + gain[t] / loss[t])
    known = change[t - 13] != tilt.phi
    return tilt.compile(tilt.define("rsi", t, tilt.when(known, index)))


def days(rsi: pa.Table, beyond: pa.ChunkedArray) -> int:
    """Ticks on which it is so: a snapshot may last for several."""
    return pc.sum(pc.subtract(rsi["end"], rsi["start"]).filter(beyond)).as_py()


def main() -> None:
    query = tilt.load(HERE / "queries" / "rsi.tilt")
    summary = {}
    print("company  overbought  oversold")
    for company in COMPANIES:
        rows = pq.read_table(HERE / "data" / f"{company}.parquet")
        price = tilt.sampled(rows["AdjClose"], start=0, period=1)
        rsi = query.run(price=price).to_arrow()
        assert in_python().run(price=price).to_arrow() == rsi
        over = days(rsi, pc.greater(rsi["rsi"], 70))
        under = days(rsi, pc.less(rsi["rsi"], 30))
        print(f"{company:7}  {over:10}  {under:8}  of {len(rows)} trading days")
        summary[company] = (over, under)
    assert summary == {
        "AAPL": (667, 252),
        "GOOG": (496, 216),
        "IBM": (517, 278),
        "MSFT": (441, 391),
    }


if __name__ == "__main__":
    main()
