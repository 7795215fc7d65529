"""Episodes: from when to when a household drew more than 4 kW, and how much at most.

`queries/episodes.tilt` makes a timeline: `distinct` joins the minutes above the limit
to one snapshot, which has a start and an end. pandas needs the number of each run, and
groups by it.
"""

from datetime import timedelta
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
LIMIT, LEAST = 4000, timedelta(minutes=10)


def by_pandas(power: pd.DataFrame) -> pd.DataFrame:
    high = power["watts"] > LIMIT
    after_gap = power["minute"].diff() > timedelta(minutes=1)
    run = (high.ne(high.shift()) | after_gap).cumsum()
    runs = power[high].groupby(run[high])
    first, last = runs["minute"].min(), runs["minute"].max()
    found = pd.DataFrame(
        {
            "end": last,
            "from": first - timedelta(minutes=1),
            "length": last - first + timedelta(minutes=1),
            "peak": runs["watts"].max(),
        }
    )
    return found[found["length"] >= LEAST].reset_index(drop=True)


def main() -> None:
    query = tilt.load(HERE / "queries" / "episodes.tilt")
    power = pq.read_table(HERE / "data" / "power.parquet")
    episodes = query.run(watts=power)["episode"].to_arrow().to_pandas()
    expected = by_pandas(power.to_pandas().dropna())
    assert len(expected) == 21
    for name in expected:
        assert list(episodes[name]) == list(expected[name]), name

    print("from              minutes  peak in W")
    longest = episodes.nlargest(8, "length")
    for row in longest.sort_values("from").to_dict("records"):
        minutes = row["length"] // timedelta(minutes=1)
        print(f"{row['from']:%Y-%m-%d %H:%M}  {minutes:7}  {row['peak']:9}")


if __name__ == "__main__":
    main()
