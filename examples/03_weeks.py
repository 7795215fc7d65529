"""Bars of a week from the prices of each day: a tumbling window with several results.

The query is `queries/weekly.tilt`. A struct goes in, a struct comes out.
"""

from pathlib import Path

import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def main() -> None:
    query = tilt.load(HERE / "queries" / "weekly.tilt")
    days = pq.read_table(HERE / "data" / "IBM.parquet")
    weeks = query.run(day=days).to_arrow()

    print("week until    days    open    high     low   close       volume")
    for week in weeks.slice(len(weeks) - 5).to_pylist():
        print(
            f"{week['end']}  {week['days']:6}  "
            f"{week['open']:6.2f}  {week['high']:6.2f}  "
            f"{week['low']:6.2f}  {week['close']:6.2f}  {week['volume']:11,}"
        )

    assert weeks.column_names[2:] == ["days", "open", "high", "low", "close", "volume"]
    assert all(end.as_py().strftime("%a") == "Fri" for end in weeks["end"])
    # Every day is in one week and no other.
    assert sum(weeks["days"].to_pylist()) == len(days)
    assert sum(weeks["volume"].to_pylist()) == sum(days["Volume"].to_pylist())
    assert weeks["close"][-1] == days["AdjClose"][-1]


if __name__ == "__main__":
    main()
