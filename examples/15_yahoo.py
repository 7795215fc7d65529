"""The Yahoo streaming benchmark's query: events of one type, counted hour by hour.

`queries/yahoo.tilt` compares strings: once for each of 16 airlines, not for each of
27,004 flights, as the loop has numbers for them. An hour without any has the count 0,
and hours without a flight at all, one after the other, are one snapshot.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    carrier = tilt.source("carrier", tilt.string, tilt.point(), time="scheduled")
    hour = tilt.TDom(precision="1h")
    flights = carrier[hour - "1h" : hour]
    united = tilt.count(flights, where=flights == "UA")
    return tilt.compile(tilt.define("united", hour, united), unit="m")


def main() -> None:
    query = tilt.load(HERE / "queries" / "yahoo.tilt")
    flights = pq.read_table(HERE / "data" / "flights.parquet")
    united = query.run(carrier=flights).to_arrow()
    assert in_python().run(carrier=flights).to_arrow() == united

    total = pc.sum(united["united"]).as_py()
    print(f"{len(flights)} flights, {total} of them by United, in these hours most:")
    most = united.take(pc.sort_indices(united, [("united", "descending")]).slice(0, 4))
    for row in most.to_pylist():
        print(f"until {row['end']:%a %Y-%m-%d %H:%M}  {row['united']:3}")
    assert total == pc.sum(pc.equal(flights["carrier"], "UA")).as_py() == 4637
    assert most["united"].to_pylist() == [17, 17, 17, 17]


if __name__ == "__main__":
    main()
