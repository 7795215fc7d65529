"""Figures 1 and 2 of the TiLT paper: four operations, and a query that is made of them.

Select, where, join and window-sum are one kind of expression, so a compiler can put
them together: the six operations of figure 2 become a single loop.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
M = pa.table({"start": [0, 5, 10, 20], "end": [5, 10, 16, 23], "m": [3, 4, 7, 6]})
N = pa.table({"start": [2, 12], "end": [8, 30], "n": [10, 20]})

EXPECTED = {
    "select": [(0, 5, 4), (5, 10, 5), (10, 16, 8), (20, 23, 7)],
    "where": [(5, 10, 4), (20, 23, 6)],
    "join": [(2, 5, 13), (5, 8, 14), (12, 16, 27), (20, 23, 26)],
    "wsum": [(0, 5, 3), (5, 10, 7), (10, 15, 11), (15, 20, 7), (20, 25, 13)],
}


def operations() -> tilt.CompiledQuery:
    m = tilt.source("m", tilt.i64, lifetime=tilt.interval("start", "end"))
    n = tilt.source("n", tilt.i64, lifetime=tilt.interval("start", "end"))
    t = tilt.TDom()
    five = tilt.TDom(precision=5)
    both = (m[t] != tilt.phi) & (n[t] != tilt.phi)
    return tilt.compile(
        tilt.define("select", t, m[t] + 1),
        tilt.define("where", t, tilt.when(m[t] % 2 == 0, m[t])),
        tilt.define("join", t, tilt.when(both, m[t] + n[t])),
        tilt.define("wsum", five, tilt.sum(m[five - 10 : five])),
    )


def main() -> None:
    text = tilt.load(HERE / "queries" / "figure4.tilt")
    results = text.run(m=M, n=N)
    again = operations().run(m=M, n=N)
    for name, expected in EXPECTED.items():
        found = [tuple(row.values()) for row in results[name].to_arrow().to_pylist()]
        print(f"{name:6}", *(f"({s},{e}]→{x}" for s, e, x in found))
        assert found == expected
        assert again[name].to_arrow() == results[name].to_arrow()

    trend = tilt.load(HERE / "queries" / "figure2.tilt")
    prices = tilt.bind(pq.read_table(HERE / "data" / "IBM.parquet"), column="AdjClose")
    upward = trend.run(stock=prices).to_arrow()
    fused = trend.explain().split("== after fuse_operators ==")[1].split("==")[0]
    loops = fused.count("[t] = {")
    print(f"figure 2: {len(upward)} snapshots upward, found by {loops} loop")
    assert (len(upward), loops) == (2774, 1)


if __name__ == "__main__":
    main()
