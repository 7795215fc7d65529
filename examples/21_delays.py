"""Delays joined with the weather at the time: two inputs by the same key.

`queries/delays.tilt` has flights and weather reports by airport, and joins those of the
same airport: an hour of flights sees the report that held, `until_next`.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    delay = tilt.source("delay", tilt.i16, tilt.point(), time="scheduled", by="origin")
    kinds = {"wind": tilt.f64, "visibility": tilt.f64}
    held = tilt.until_next(max="1h")
    weather = tilt.source("weather", kinds, held, time="hour", by="origin")
    hour = tilt.TDom(precision="1h", offset="59m")
    leaving = delay[hour - "1h" : hour]
    flights, report = tilt.count(leaving), weather[hour]
    joined = tilt.struct(flights=flights, minutes=tilt.mean(leaving), weather=report)
    known = (flights > 0) & tilt.exists(report)
    return tilt.compile(tilt.define("late", hour, tilt.when(known, joined)), unit="m")


def late(hours: pa.Table) -> dict[str, float]:
    """The mean delay of a flight, by airport."""
    total = pc.multiply(hours["minutes"], hours["flights"])
    groups = hours.append_column("total", total).group_by("origin", use_threads=False)
    sums = groups.aggregate([("total", "sum"), ("flights", "sum")])
    means = pc.divide(sums["total_sum"], sums["flights_sum"])
    return dict(zip(sums["origin"].to_pylist(), means.to_pylist(), strict=True))


def main() -> None:
    query = tilt.load(HERE / "queries" / "delays.tilt")
    flights = pq.read_table(HERE / "data" / "flights.parquet")
    delay = tilt.bind(flights, column="delay")
    weather = pq.read_table(HERE / "data" / "weather.parquet")
    data = {"delay": delay, "weather": weather, "end": "2013-02-01"}
    hours = query.run(**data).to_arrow()
    assert in_python().run(**data).to_arrow() == hours
    print(f"{len(hours)} hours; minutes late in fog, in wind, else:")
    fog, windy = pc.field("weather", "visibility") < 3, pc.field("weather", "wind") > 20
    in_fog, in_wind = late(hours.filter(fog)), late(hours.filter(windy))
    for origin, minutes in late(hours.filter(~fog & ~windy)).items():
        fog_minutes, wind_minutes = in_fog[origin], in_wind[origin]
        print(f"{origin}  {fog_minutes:4.1f}  {wind_minutes:4.1f}  {minutes:4.1f}")
        assert minutes < min(fog_minutes, wind_minutes)
    assert len(hours) == 1639


if __name__ == "__main__":
    main()
