"""Two companies joined in time, written in Python: who gained more within a month?

The same query as `queries/spread.tilt`; both doors build the same IR.
"""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent


def spread_query() -> tilt.CompiledQuery:
    held = tilt.until_next(max=7)
    a = tilt.source("a", tilt.f64, lifetime=held, time="Date")
    b = tilt.source("b", tilt.f64, lifetime=held, time="Date")
    t = tilt.TDom()
    gain_a = a[t] / a[t - "30d"]
    gain_b = b[t] / b[t - "30d"]
    spread = tilt.define("spread", t, 100 * (gain_a - gain_b))
    return tilt.compile(spread, unit="d")


def main() -> None:
    query = spread_query()
    assert query.query == tilt.load(HERE / "queries" / "spread.tilt").query

    apple, microsoft = (
        tilt.bind(pq.read_table(HERE / "data" / f"{name}.parquet"), column="AdjClose")
        for name in ("AAPL", "MSFT")
    )
    found = query.run(a=apple, b=microsoft).to_arrow()
    spread = found["spread"]
    most = found.slice(pc.index(spread, pc.max(spread)).as_py(), 1).to_pylist()[0]
    ahead = sum(value > 0 for value in spread.to_pylist())
    print(f"AAPL gained more within 30 days in {ahead} of {len(found)} snapshots")
    print(f"most until {most['end']}: by {most['spread']:.1f} percent")
    assert (ahead, len(found)) == (2831, 4602)


if __name__ == "__main__":
    main()
