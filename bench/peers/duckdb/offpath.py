# ruff: noqa: S608 - nothing in the queries comes from outside
"""The workloads off the path in DuckDB: panes and joins as of, which SQL has words for.

A query gives the key, if there is one, the start and the end of each result, and its
values. DuckDB promises no order: results are sorted before they are compared, by their
column `row` where times are tied.
"""

from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.outcome import Outcome, Table
from bench.peers.keyed_rows import one_column
from bench.peers.peer import Peer
from bench.workloads.offpath.drawn import DRAWS, Draw
from bench.workloads.offpath.irregular import PAUSE, SECOND
from bench.workloads.offpath.keyed import HOUR, MINUTE
from bench.workloads.offpath.rows import Inputs, OffPath


def _tumble(value: str) -> str:
    return f"""\
SELECT i // 1000 * 1000, i // 1000 * 1000 + 1000, {value} FROM x GROUP BY i // 1000"""


def _panes_by_key(value: str, size: int = HOUR) -> str:
    return f"""\
WITH first AS (SELECT k, min(ts) - 1 AS first FROM x GROUP BY k)
SELECT k, greatest(any_value(first), pane * {size}), (pane + 1) * {size}, {value}
FROM (SELECT *, (ts - 1) // {size} AS pane FROM x) JOIN first USING (k)
GROUP BY k, pane"""


AGGREGATES = {"mean": "avg", "std": "stddev_pop", "first": "arg_min"}


def _draw(draw: Draw) -> str | None:
    """Panes, and windows of rows without ties on their own."""
    values = []
    for name in draw.aggregates:
        arguments = "x, ts" if name == "first" else "x"
        values.append(f"{AGGREGATES.get(name, name)}({arguments})")
    key = "k, " if draw.layout == "keyed" else ""
    if draw.layout == "sampled" or draw.use != "alone" or draw.ties:
        return None
    if draw.window == "rolling":
        by = "PARTITION BY k " if key else ""
        frame = f"RANGE BETWEEN {draw.size - 1} PRECEDING AND CURRENT ROW"
        over = ", ".join(f"{value} OVER last" for value in values)
        return f"""\
SELECT {key}ts - 1, ts, {over} FROM x WINDOW last AS ({by}ORDER BY ts {frame})"""
    many = ", ".join(values)
    if key:
        return _panes_by_key(many, draw.size)
    return f"""\
SELECT greatest(pane * {draw.size}, (SELECT min(ts) - 1 FROM x)),
    (pane + 1) * {draw.size}, {many}
FROM (SELECT *, (ts - 1) // {draw.size} AS pane FROM x) GROUP BY pane"""


QUERIES = {
    **{draw.name: query for draw in DRAWS if (query := _draw(draw))},
    "tumbling median of 1000": _tumble("median(x)"),
    "tumbling nunique of 1000": _tumble("count(DISTINCT x)"),
    "OHLCV bars of 1s": f"""\
SELECT greatest(pane * {SECOND}, (SELECT min(ts) - 1 FROM trade)),
    (pane + 1) * {SECOND},
    arg_min(price, ts), max(price), min(price), arg_max(price, ts), sum(size)
FROM (SELECT *, (ts - 1) // {SECOND} AS pane FROM trade) GROUP BY pane""",
    "session start": f"""\
SELECT ts - 1, ts, coalesce(ts - lag(ts) OVER (ORDER BY ts) > {PAUSE}, true) FROM x""",
    "as-of: trades and mid quotes": """\
SELECT trade.ts - 1, trade.ts, price - (bid + ask) / 2
FROM trade ASOF JOIN quote ON trade.ts >= quote.ts""",
    "as-of over rows: tied trades": """\
SELECT trade.ts - 1, trade.ts, price - (bid + ask) / 2, trade.rowid AS row
FROM trade ASOF JOIN quote ON trade.ts >= quote.ts""",
    "300,000 keys, panes of 1h": _panes_by_key("sum(x)"),
    "nunique 1h by key": _panes_by_key("count(DISTINCT x)"),
    "session start by key": f"""\
SELECT k, ts - 1, ts, coalesce(
    ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > {2 * MINUTE}, true
) FROM x""",
    **dict.fromkeys(
        ("as-of by 500 symbols", "as-of over rows by 500 symbols"),
        """\
SELECT trade.k, trade.ts - 1, trade.ts, trade - quote
FROM trade ASOF JOIN quote ON trade.k = quote.k AND trade.ts >= quote.ts""",
    ),
}


def peer(workload: OffPath, inputs: Inputs) -> Peer | None:
    """A workload's query over tables that are there already."""
    query = QUERIES.get(workload.name)
    if query is None:
        return None
    connection = duckdb.connect()
    for name, rows in inputs.items():
        table = rows.table()
        if rows.ends is None:
            table = table.append_column("i", pa.array(np.arange(len(rows))))
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

    def run() -> pa.Table:
        return connection.sql(query).to_arrow_table()

    return Peer(run, partial(_outcome, bool(next(iter(inputs.values())).keys)))


def _outcome(keyed: bool, found: pa.Table) -> Outcome:
    rows = [found["row"]] if "row" in found.column_names else []
    columns = [*found.drop_columns(["row"] if rows else []).columns]
    order = [*columns[: 2 + keyed], *rows]
    by = pa.table(order, names=[str(number) for number in range(len(order))])
    indices = pc.sort_indices(by, [(name, "ascending") for name in by.column_names])
    known = pa.table(columns, names=[str(n) for n in range(len(columns))]).take(indices)
    starts, ends, *payload = (column.to_numpy() for column in known.columns[keyed:])
    return Table(starts, ends, (*payload,), one_column([known[0]]) if keyed else None)
