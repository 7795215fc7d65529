# ruff: noqa: S608 - nothing in the queries comes from outside
"""The peers for keys in DuckDB: windows that are partitioned by the key."""

import duckdb
import pyarrow as pa

from bench.peers.grouped import in_order
from bench.peers.peer import Peer
from bench.workloads.keyed import RECENT, TEN_DAYS
from bench.workloads.streams import Stream, Workload


def _window(frame: str) -> str:
    return f'(PARTITION BY k ORDER BY "end" {frame} PRECEDING AND CURRENT ROW)'


BEFORE = f"""\
(PARTITION BY k ORDER BY "end" RANGE BETWEEN {TEN_DAYS} PRECEDING AND 1 PRECEDING)"""
RECENTLY = _window(f"RANGE BETWEEN {RECENT - 1}")
SHORT, LONG = _window("ROWS BETWEEN 19"), _window("ROWS BETWEEN 49")

ASKED = {
    "fraud": f"x > avg(x) OVER {BEFORE} + 3 * stddev_pop(x) OVER {BEFORE}",
    "mean": f"avg(x) OVER {RECENTLY}",
    "trading": f"avg(x) OVER {SHORT} > avg(x) OVER {LONG}",
}


def peer(workload: Workload, stream: Stream) -> Peer:
    """A workload's query over a table that is there already."""
    connection = duckdb.connect()
    rows = pa.table({"k": stream.keys, "end": stream.ends, "x": stream.values})
    connection.register("given", rows)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    query = f'SELECT k, "end", {ASKED[workload.base]} AS out FROM rows'

    def run() -> pa.Table:
        return connection.sql(query).to_arrow_table()

    return Peer(run, in_order)
