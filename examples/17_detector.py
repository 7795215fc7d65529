"""Pan and Tompkins' detector in Python: filters, and a reduction from another file.

It is what the library's `pan_tompkins` is written out, at 360 samples a second; the
reduction is made of functions in `reductions/detector.py`.
"""

from pathlib import Path

import pyarrow.parquet as pq
from reductions.detector import detector

import tiltpy as tilt
from tiltpy import define, mean, phi, rms, when

HERE = Path(__file__).parent


def in_python() -> tilt.CompiledQuery:
    ecg = tilt.source("ecg", tilt.i16)
    t, two = tilt.TDom(), tilt.TDom(precision=720)
    smooth = define("smooth", t, mean(ecg[t - 4 : t + 3]))
    low = define("low", t, mean(smooth[t - 4 : t + 3]))
    band = define("band", t, low[t] - mean(low[t - 21 : t + 20]))
    rise = 2 * band[t + 1] + band[t + 2] - 2 * band[t - 1] - band[t - 2]
    slope = define("slope", t, rise)
    strong = tilt.max(band[t], 0) * rms(slope[t - 28 : t + 27])
    strength = define("strength", t, strong)
    beats = define("beats", two, tilt.max(strength[two - 720 : two]))
    noise = define("noise", two, mean(strength[two - 720 : two]))
    here = tilt.struct(
        at=tilt.cast(t, tilt.f64), strength=strength[t], beats=beats[t], noise=noise[t]
    )
    peak = when(band[t] == tilt.max(band[t - 11 : t + 10]), here)
    peak = define("peak", t, peak)
    found = when(peak[t] != phi, detector(peak[t - 108000 : t]))
    found = define("found", t, found)
    some = (found[t].at != phi) | (found[t].missed != phi)
    return tilt.compile(define("beat", t, when(some, found[t])))


def main() -> None:
    query = tilt.load(HERE / "queries" / "pan_tompkins.tilt")
    samples = pq.read_table(HERE / "data" / "ecg.parquet")["adu"]
    ecg = tilt.sampled(samples, start=0, period=1)
    beats = in_python().run(ecg=ecg).to_arrow()
    print(f"{len(beats)} times at which there is news of a beat")
    assert beats == query.run(ecg=ecg).to_arrow()


if __name__ == "__main__":
    main()
