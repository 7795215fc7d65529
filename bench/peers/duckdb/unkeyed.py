# ruff: noqa: S608 - nothing in the queries comes from outside
"""The peers in DuckDB: the idiomatic SQL for every sampled workload.

A table `x` (or `a` and `b`) in memory has the number `i` of a sample and its value. A
query gives the number of a result, or of a block, and its value; DuckDB promises no
order, so the results are sorted before they are compared, which takes no part in the
time. DuckDB uses all cores. Its windows are slow and run over fewer events.
"""

from collections.abc import Mapping
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

from bench.outcome import Cells, Outcome, Table
from bench.peers.peer import Peer
from bench.workloads.streams import Stream, Workload

MOST_IN_WINDOWS = 1_000_000
"""Events that windows run over, at most."""


def _window(size: int, before: int = 0) -> str:
    last = f"{before} PRECEDING" if before else "CURRENT ROW"
    return f"(ORDER BY i ROWS BETWEEN {size + before - 1} PRECEDING AND {last})"


def _per(size: int, expressions: str) -> str:
    return f"SELECT i // {size}, {expressions} FROM x GROUP BY i // {size}"


_BLOCK = "OVER (PARTITION BY i // 10000)"

_RSI = f"""\
WITH changes AS (SELECT i, v - lag(v) OVER (ORDER BY i) AS change FROM x)
SELECT i, 100 - 100 / (1 + avg(greatest(change, 0)) OVER gains
                         / avg(greatest(-change, 0)) OVER gains)
FROM changes WHERE change IS NOT NULL
WINDOW gains AS {_window(14)}"""

_PAN_TOMPKINS = f"""\
WITH once AS (SELECT i, sum(v) OVER {_window(6)} AS v FROM x),
low AS (SELECT i, sum(v) OVER {_window(6)} AS v FROM once),
high AS (
    SELECT i, lag(v, 16) OVER (ORDER BY i) - avg(v) OVER {_window(32)} AS v FROM low
),
slope AS (
    SELECT i, (2 * v + lag(v, 1) OVER o - lag(v, 3) OVER o - 2 * lag(v, 4) OVER o) / 8
        AS v
    FROM high WINDOW o AS (ORDER BY i)
)
SELECT i, avg(v * v) OVER {_window(30)} FROM slope WHERE v IS NOT NULL"""

_RESAMPLE = """\
WITH times AS (SELECT unnest(range(5, 4 * count(*) + 1, 5)) AS t FROM x)
SELECT t // 5 - 1,
    here.v + (before.v - here.v) * (4 * here.i + 4 - t)::FLOAT / 4
FROM times
JOIN x AS here ON here.i = (t - 1) // 4
JOIN x AS before ON before.i = (t - 1) // 4 - 1"""

_UNALIGNED_JOIN = """\
WITH ends AS (SELECT i FROM a UNION SELECT i FROM b),
stretches AS (SELECT lag(i, 1, 0) OVER (ORDER BY i) AS start, i FROM ends)
SELECT s.start, s.i, a.v + b.v
FROM stretches AS s
ASOF JOIN a ON s.i <= a.i
ASOF JOIN b ON s.i <= b.i"""

QUERIES = {
    "select": "SELECT i, v + 1 FROM x",
    "where": "SELECT i, v FROM x WHERE v > 0",
    "tumbling sum": _per(1000, "sum(v)"),
    "sliding sum": f"SELECT i, sum(v) OVER {_window(1000)} FROM x",
    "sliding max": f"SELECT i, max(v) OVER {_window(1000)} FROM x",
    "aligned join": "SELECT a.i, a.v + b.v FROM a POSITIONAL JOIN b",
    "unaligned join": _UNALIGNED_JOIN,
    "trading": f"""\
SELECT i, avg(v) OVER {_window(20)} > avg(v) OVER {_window(50)} FROM x""",
    "RSI": _RSI,
    "z-score": f"SELECT i, (v - avg(v) {_BLOCK}) / stddev_pop(v) {_BLOCK} FROM x",
    "impute": f"SELECT i, coalesce(v, avg(v) {_BLOCK}) FROM x",
    "resample": _RESAMPLE,
    "Pan-Tompkins": _PAN_TOMPKINS,
    "vibration": _per(
        100, "kurtosis_pop(v), sqrt(avg(v * v)), max(abs(v)) / sqrt(avg(v * v))"
    ),
    "fraud": f"""\
SELECT * FROM (
    SELECT i, v > avg(v) OVER w + 3 * stddev_pop(v) OVER w
    FROM x WINDOW w AS {_window(10, 1)}
) WHERE i > 0""",
    "Yahoo": _per(100, "count(*) FILTER (v = 1)"),
}

PERIODS = {"tumbling sum": 1000, "vibration": 100, "Yahoo": 100, "resample": 5}
"""Ticks between the results, where it is not one."""


def most_in_windows(workload: Workload) -> int | None:
    """The most events of a workload whose query has windows."""
    windows = " OVER " in QUERIES.get(workload.name, "") or workload.family == "keyed"
    return MOST_IN_WINDOWS if windows else None


def peer(workload: Workload, streams: Mapping[str, Stream]) -> Peer | None:
    """A workload's query over tables that are there already."""
    if workload.name not in QUERIES:
        return None
    connection = duckdb.connect()
    for name, stream in streams.items():
        number = np.arange(len(stream.values)) if stream.ends is None else stream.ends
        rows = pa.table({"i": number, "v": stream.column()})
        connection.register("rows", rows)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    run = partial(_run, connection, QUERIES[workload.name])
    return Peer(run, partial(_outcome, workload.name))


def _run(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    return connection.sql(query).to_arrow_table()


def _outcome(name: str, found: pa.Table) -> Outcome:
    columns = [column.to_numpy() for column in found.columns]
    order = np.argsort(columns[0])
    index, *payload = (column[order] for column in columns)
    if name == "unaligned join":
        return Table(index, payload[0], (payload[1],))
    period = PERIODS.get(name, 1)
    if name == "where":
        return Table(index, index + 1, (*payload,))
    return Cells((*payload,), period, int(index[0]) * period)
