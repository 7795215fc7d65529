"""Vibration analysis: kurtosis, root mean square and crest factor of each two seconds.

`queries/vibration.tilt` describes what a bearing, or an ankle, does: the root mean
square is how strong it shakes, kurtosis and crest factor tell blows from a hum. Here an
accelerometer is on the ankle of somebody who walks, each step a blow.
"""

from pathlib import Path

import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
WINDOW = 128


def in_python() -> tilt.CompiledQuery:
    acceleration = tilt.source("acceleration", tilt.i16)
    t, w = tilt.TDom(), tilt.TDom(precision=WINDOW)
    rest = tilt.define("rest", w, tilt.mean(acceleration[w - WINDOW : w]))
    swing = tilt.define("swing", t, acceleration[t] - rest[t])
    window = swing[w - WINDOW : w]
    rms = tilt.rms(window)
    found = tilt.struct(
        kurtosis=tilt.kurtosis(window), rms=rms, crest=tilt.max(tilt.abs(window)) / rms
    )
    return tilt.compile(tilt.define("vibration", w, found))


def main() -> None:
    query = tilt.load(HERE / "queries" / "vibration.tilt")
    ankle = pq.read_table(HERE / "data" / "gait.parquet")["ankle"]
    signal = tilt.sampled(ankle, start=0, period=1)
    vibration = query.run(acceleration=signal).to_arrow()
    assert in_python().run(acceleration=signal).to_arrow() == vibration

    windows = vibration.slice(0, len(ankle) // WINDOW).to_pylist()
    print("seconds    RMS in g  kurtosis  crest factor")
    for row in windows[8:15] + windows[-4:]:
        print(
            f"{row['start'] // 64:3} to {row['end'] // 64:3}  {row['rms'] / 1000:8.3f}"
            f"  {row['kurtosis']:8.2f}  {row['crest']:12.2f}"
        )
    # It stands for 20 seconds, then walks; the strongest blow is where it stops.
    assert all(row["rms"] < 40 for row in windows[:10])
    assert all(row["rms"] > 300 for row in windows[12:-1])
    blow = max(windows, key=lambda row: row["kurtosis"])
    assert (blow["start"] // 64, round(blow["crest"], 2)) == (106, 5.79)


if __name__ == "__main__":
    main()
