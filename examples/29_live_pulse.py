"""A pulse, live: heartbeats come one by one, some of them late and out of order.

A live session says after each beat what is certain. In the end it has said what a run
over the accepted beats says, to the last bit; the late ones it has given back.
"""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
RATE = 360
PULSE = """
unit ms
input pause : i64 time seen point
step = TDom(-∞, ∞, 30s)
~pulse[step] = 60000 / mean(~pause[step-30s : step])
output ~pulse
"""


def beats_by_radio() -> pa.Table:
    """Beats in the order in which they arrive: a second after they were seen, or so."""
    samples = pq.read_table(HERE / "data" / "ecg_beats.parquet")["sample"].to_numpy()
    pauses = np.diff(samples) * 1000 // RATE
    seen = samples[1:].astype(np.int64) * 1000 // RATE
    delays = np.random.default_rng(7).exponential(1000, len(seen))
    times = pa.array(seen, pa.timestamp("ms"))
    return pa.table({"seen": times, "pause": pauses}).take(np.argsort(seen + delays))


def main() -> None:
    query = tilt.parse(PULSE)
    beats = beats_by_radio()
    final, late = [], []
    with query.live(pause=tilt.ingress(reorder="4s", late="side")) as live:
        for beat in beats.to_batches(max_chunksize=1):
            update = live.push(pause=beat)
            final += update["pulse"].final.to_arrow().to_pylist()
            late += update.late["pause"]["row"].to_pylist() if update.late else []
        final += live.finish()["pulse"].final.to_arrow().to_pylist()

    began = datetime(1970, 1, 1)
    for row in final:
        seconds = (row["end"] - began) // timedelta(seconds=1)
        print(f"{seconds // 60}:{seconds % 60:02}  {row['pulse']:5.1f} a minute")
    print(f"{len(late)} of {len(beats)} beats were late")
    accepted = beats.take([row for row in range(len(beats)) if row not in late])
    assert final == query.run(pause=accepted)["pulse"].to_arrow().to_pylist()
    assert 0 < len(late) < len(beats) // 20


if __name__ == "__main__":
    main()
