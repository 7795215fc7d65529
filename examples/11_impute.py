"""Imputation: the minutes that a meter did not measure, from the mean of their hours.

`queries/impute.tilt` asks with `!= φ` whether there is a value. A gap of a whole hour
stays one, for nothing is known about it: filled in are only hours that were measured.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    watts = tilt.source("watts", tilt.i16, tilt.sampled("1m"), time="minute")
    t, hour = tilt.TDom(precision="1m"), tilt.TDom(precision="1h")
    usual = tilt.define("usual", hour, tilt.mean(watts[hour - "1h" : hour]))
    there = tilt.cast(watts[t], tilt.f64)
    filled = tilt.when(watts[t] != tilt.phi, there, usual[t])
    return tilt.compile(tilt.define("filled", t, filled))


def main() -> None:
    query = tilt.load(HERE / "queries" / "impute.tilt")
    power = pq.read_table(HERE / "data" / "power.parquet")
    filled = query.run(watts=power).to_arrow()
    assert in_python().run(watts=power).to_arrow() == filled

    lost = set(power.filter(pc.is_null(power["watts"]))["minute"].to_pylist())
    there = pc.sum(pc.minutes_between(filled["start"], filled["end"])).as_py()
    left = len(power) - there
    print(
        f"{len(power)} minutes, {len(lost)} of them not measured, {left} left as gaps"
    )
    new = [row for row in filled.to_pylist() if row["end"] in lost]
    for row in new:
        minutes = (row["end"] - row["start"]).total_seconds() / 60
        print(f"{row['end']:%m-%d %H:%M}  {minutes:3.0f} min  {row['filled']:7.1f} W")
    assert (len(power), len(lost), left) == (53280, 171, 60)
    assert len(new) == 11


if __name__ == "__main__":
    main()
