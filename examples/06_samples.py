"""Samples without a time column, and the loops that queries over them become.

A price for each trading day is a signal of its own clock: bound by `tilt.sampled`, a
tick is a trading day, and weekends are no gaps. `explain` says whether a query's loop
works on 16 cells at a time, and if not, why.
"""

import re
from pathlib import Path

import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent

QUERIES = {
    "above its average": """
        input price : f64
        ~above[t] = ~price[t] > mean(~price[t-200 : t]) ? ~price[t] : φ""",
    "each quarter": """
        input price : f64
        quarter = TDom(-∞, ∞, 63)
        ~spread[quarter] = std(~price[quarter-63 : quarter])""",
    "week and month": """
        input price : f64
        week = TDom(-∞, ∞, 5)
        month = TDom(-∞, ∞, 21)
        ~high[week] = max(~price[week-5 : week])
        ~low[month] = min(~price[month-21 : month])""",
}
SHAPE = r"(?:== vector kernel ==\n|^not vector_kernel: )(.+)"
EXPECTED = {
    "above its average": "~above: stencil, vectorised: 16 cells at a time",
    "each quarter": "~spread: panes, times implied, vectorised: 16 cells at a time",
    "week and month": "the precisions are no multiples of one another",
}


def main() -> None:
    days = pq.read_table(HERE / "data" / "AAPL.parquet")
    price = tilt.sampled(days["AdjClose"], start=0, period=1)
    for name, text in QUERIES.items():
        stages = tilt.parse(text).explain(inputs={"price": price})
        shape = re.search(SHAPE, stages, re.MULTILINE)
        assert shape is not None
        print(f"{name:19}{shape[1]}")
        assert shape[1] == EXPECTED[name]

    # Sample i is valid over (i, i + 1]: a snapshot's start is the number of its day.
    above = tilt.parse(QUERIES["above its average"]).run(price=price).to_arrow()
    last = days["Date"][above["start"][-1].as_py()]
    print(f"\nabove on {len(above)} of {len(days)} trading days, the last one {last}")
    assert (len(above), str(last)) == (2315, "2012-11-01")


if __name__ == "__main__":
    main()
