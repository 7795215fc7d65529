"""Pan and Tompkins' detector on an electrocardiogram: where does the heart beat?

`pan_tompkins` of the library is filters, windows of windows, and a reduction that
carries on what beats and noise have looked like. The patient has many beats of an
irregular form; another program's detector finds these beats here, and hardly others.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
RATE = 360


def beats_in(found: pa.Table) -> np.ndarray:
    """The samples of the beats, from 0; those that were missed at first among them."""
    ticks = [found[name].drop_null().to_numpy() for name in ("at", "missed")]
    return np.sort(np.concatenate(ticks)) - 1


def share_near(beats: np.ndarray, others: np.ndarray) -> float:
    """Of how many beats there is another one within 100 ms."""
    return (abs(beats[:, None] - others).min(axis=1) <= RATE / 10).mean()


def main() -> None:
    query = tilt.load(HERE / "queries" / "pan_tompkins.tilt")
    ecg = pq.read_table(HERE / "data" / "ecg.parquet")["adu"]
    known = pq.read_table(HERE / "data" / "ecg_beats.parquet")["sample"].to_numpy()
    found = query.run(ecg=tilt.sampled(ecg, start=0, period=1)).to_arrow()

    beats = beats_in(found)
    median = np.median(np.diff(beats)) / RATE
    minutes = len(ecg) / RATE / 60
    print(f"{len(beats)} beats in {minutes:.0f} minutes: {len(beats) / minutes:.0f} a")
    print(f"minute; mostly {median:.2f} s apart, a rate of {60 / median:.0f}")
    print("minute by minute:", *np.histogram(beats, 5, (0, len(ecg)))[0])
    sensitivity, precision = share_near(known, beats), share_near(beats, known)
    print(f"sensitivity {sensitivity:.3f}, precision {precision:.3f}")
    assert (len(known), len(beats), round(60 / median)) == (478, 478, 105)
    assert min(sensitivity, precision) >= 0.98


if __name__ == "__main__":
    main()
