"""Resampling of an electrocardiogram: from 360 samples a second to 250, and back.

`queries/resample.tilt` counts time in a tick of which both periods are multiples, and
interpolates where a new sample lies between two old ones. The grid of the result is a
time domain; that its ratio to the other is 25 to 36 is no special case.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
OLD, NEW = 25, 36  # ticks of 1/9000 s


def in_python() -> tilt.CompiledQuery:
    ecg = tilt.source("ecg", tilt.i16, tilt.sampled(OLD))
    new, old = tilt.TDom(precision=NEW), tilt.TDom(precision=OLD)
    before, after = (tilt.cast(ecg[at], tilt.f64) for at in (new - OLD, new))
    back = (before - after) * (tilt.end(ecg[new]) - new) / OLD
    resampled = tilt.define("resampled", new, after + back)
    before, after = resampled[old - NEW], resampled[old]
    back = (before - after) * (-(-old // NEW) * NEW - old) / NEW
    return tilt.compile(resampled, tilt.define("restored", old, after + back))


def main() -> None:
    query = tilt.load(HERE / "queries" / "resample.tilt")
    samples = pq.read_table(HERE / "data" / "ecg.parquet")["adu"]
    ecg = tilt.sampled(samples, start=0, period=OLD)
    result, again = query.run(ecg=ecg), in_python().run(ecg=ecg)
    resampled, restored = (result[name].to_arrow() for name in result)
    assert [again[name].to_arrow() for name in again] == [resampled, restored]

    minutes = len(samples) / 360 / 60
    print(f"{minutes:.0f} minutes: {len(samples)} samples at 360 Hz")
    print(f"{len(resampled)} samples at 250 Hz, then {len(restored)} at 360 Hz")
    at = restored["end"].to_numpy() // OLD - 1
    error = (restored["restored"].to_numpy() - samples.to_numpy()[at]) / 200
    rms = np.sqrt((error**2).mean())
    print(f"what the way there and back has changed: {1000 * rms:.1f} microvolts (RMS)")
    assert (len(resampled), len(restored)) == (75000, 107999)
    assert rms < 0.011


if __name__ == "__main__":
    main()
