"""How long is a row valid? The same rows under the five lifetimes.

Four readings, at seconds 1, 2, 5 and 8, of a sensor that is nominally read each second.
"""

import pyarrow as pa

import tiltpy as tilt

READINGS = pa.table({"ts": [1, 2, 5, 8], "x": [10.0, 20.0, 50.0, 80.0]})
SPANS = pa.table({"start": [0, 2], "end": [3, 9], "x": [1.0, 2.0]})

LIFETIMES = {
    "point": tilt.point(),
    "duration of 2": tilt.duration(2),
    "until the next": tilt.until_next(),
    "until the next, 2 at most": tilt.until_next(max=2),
    "sampled each 1": tilt.sampled(1),
    "an interval each": tilt.interval("start", "end"),
}
EXPECTED = {
    "point": [(0, 1, 10.0), (1, 2, 20.0), (4, 5, 50.0), (7, 8, 80.0)],
    "duration of 2": [(0, 1, 10.0), (1, 3, 20.0), (4, 6, 50.0), (7, 9, 80.0)],
    "until the next": [(0, 1, 10.0), (1, 4, 20.0), (4, 7, 50.0), (7, 8, 80.0)],
    "until the next, 2 at most": [
        (0, 1, 10.0), (1, 3, 20.0), (4, 6, 50.0), (7, 8, 80.0),
    ],
    "sampled each 1": [(0, 1, 10.0), (1, 2, 20.0), (4, 5, 50.0), (7, 8, 80.0)],
    # The two overlap: a point reference sees the one that began last.
    "an interval each": [(0, 2, 1.0), (2, 9, 2.0)],
}  # fmt: skip


def main() -> None:
    for name, lifetime in LIFETIMES.items():
        rows = SPANS if name == "an interval each" else READINGS
        x = tilt.source("x", tilt.f64, lifetime=lifetime)
        t = tilt.TDom()
        result = tilt.compile(tilt.define("y", t, x[t])).run(x=rows)
        found = [tuple(row.values()) for row in result.to_arrow().to_pylist()]
        print(f"{name:26}", *(f"({s},{e}]→{x:g}" for s, e, x in found))
        assert found == EXPECTED[name]


if __name__ == "__main__":
    main()
