"""Polars and pandas in, DuckDB out: whatever has Arrow's stream interface goes in.

Sums over a window that slides with the rows, of a struct with two fields.
"""

from pathlib import Path

import duckdb
import polars as pl

import tiltpy as tilt

HERE = Path(__file__).parent

VWAP = """
unit d
input day : { AdjClose: f64, Volume: i64 } time Date point
param span : duration = 90d
output ~vwap

~vwap[t] = {
    money  = sum(~day[t-span : t].AdjClose * f64(~day[t-span : t].Volume))
    shares = sum(~day[t-span : t].Volume)
    return ~day[t] != φ ? money / shares : φ
}
"""


def main() -> None:
    days = pl.read_parquet(HERE / "data" / "MSFT.parquet")
    query = tilt.parse(VWAP, params={"span": "365d"})
    vwap = query.run(day=days)

    frame = vwap.to_polars()
    joined = frame.join(days, left_on="end", right_on="Date")
    assert len(frame) == len(joined) == len(days)
    above = joined.filter(pl.col("AdjClose") > pl.col("vwap"))
    print(f"above the year's average price on {len(above)} of {len(days)} days")

    average = vwap.to_arrow()
    years = duckdb.sql(
        'select year("end"), avg(vwap) from average group by all order by all'
    ).fetchall()
    for year, mean in years[-3:]:
        print(f"{year}  {mean:.2f}")
    assert [year for year, _ in years] == list(range(2000, 2014))
    assert query.run(day=days.to_pandas()).to_arrow()["vwap"] == average["vwap"]


if __name__ == "__main__":
    main()
