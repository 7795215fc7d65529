"""Normalization of an electrocardiogram: z-scores within windows of ten seconds.

`queries/normalize.tilt` reads the mean and the deviation of a tumbling window at each
of its samples: an object of a coarse domain holds its value over the whole window. The
heart's baseline drifts; the z-scores do not.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
WINDOW = 3600


def in_python() -> tilt.CompiledQuery:
    ecg = tilt.source("ecg", tilt.i16)
    t, w = tilt.TDom(), tilt.TDom(precision=WINDOW)
    mean = tilt.define("mean", w, tilt.mean(ecg[w - WINDOW : w]))
    std = tilt.define("std", w, tilt.std(ecg[w - WINDOW : w]))
    return tilt.compile(tilt.define("z", t, (ecg[t] - mean[t]) / std[t]))


def main() -> None:
    query = tilt.load(HERE / "queries" / "normalize.tilt")
    samples = pq.read_table(HERE / "data" / "ecg.parquet")["adu"]
    ecg = tilt.sampled(samples, start=0, period=1)
    z = query.run(ecg=ecg).to_arrow()
    assert in_python().run(ecg=ecg).to_arrow() == z

    before = samples.to_numpy().reshape(-1, WINDOW) / 200
    after = z["z"].to_numpy().reshape(-1, WINDOW)
    print(f"{len(before)} windows of ten seconds      least      greatest")
    for name, windows in (("millivolts", before), ("z-scores", after)):
        for what, per in (("mean", windows.mean(axis=1)), ("std", windows.std(axis=1))):
            print(
                f"{name:10}  {what:4} of a window  {per.min():9.3f}  {per.max():9.3f}"
            )
    assert len(before) == 30
    assert np.ptp(before.mean(axis=1)) > 1
    assert abs(after.mean(axis=1)).max() < 1e-12
    assert abs(after.std(axis=1) - 1).max() < 1e-12


if __name__ == "__main__":
    main()
