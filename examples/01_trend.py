"""Upward trends in the prices of four companies: one query, compiled once, run often.

The query is `queries/trend.tilt`: the mean over 10 days, the mean over 20 days, joined,
and kept where their difference is positive. What it finds goes to `output/` as Parquet.
"""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
OUTPUT = HERE / "output"
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def trends(found: pa.Table) -> list[tuple[date, date]]:
    """Snapshots that touch make one trend."""
    runs: list[tuple[date, date]] = []
    for row in found.to_pylist():
        joins = bool(runs) and runs[-1][1] == row["start"]
        first = runs.pop()[0] if joins else row["start"]
        runs.append((first, row["end"]))
    return runs


def main() -> None:
    query = tilt.load(HERE / "queries" / "trend.tilt")
    OUTPUT.mkdir(exist_ok=True)
    summary = {}
    print("company  trends  days up  of days  longest  after       until")
    for company in COMPANIES:
        prices = pq.read_table(HERE / "data" / f"{company}.parquet")
        found = query.run(stock=tilt.bind(prices, column="AdjClose")).to_arrow()
        pq.write_table(found, OUTPUT / f"trend_{company}.parquet")

        runs = trends(found)
        lengths = [(end - start).days for start, end in runs]
        start, end = runs[lengths.index(max(lengths))]
        row = len(runs), sum(lengths), max(lengths)
        whole = (prices["Date"][-1].as_py() - prices["Date"][0].as_py()).days + 1
        print(f"{company:7} {row[0]:7} {row[1]:8} {whole:8} {row[2]:8}  {start}  {end}")
        summary[company] = row

    print(f"\n{company}'s first days up, of {len(found)} snapshots in examples/output:")
    for row in found.slice(0, 3).to_pylist():
        print(f"({row['start']}, {row['end']}]  by {row['trend']:.3f}")
    assert summary == {
        "AAPL": (131, 2689, 116),
        "GOOG": (85, 1831, 83),
        "IBM": (139, 2582, 78),
        "MSFT": (129, 2425, 110),
    }


if __name__ == "__main__":
    main()
