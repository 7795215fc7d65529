"""The peers of the workloads off the path, by name."""

import tiltpy as tilt
from bench.outcome import Table
from bench.peers.keyed_rows import one_column
from bench.peers.peer import Peer
from bench.workloads.offpath.rows import Inputs, OffPath

NAMES = ("Numba", "Polars", "DuckDB")


def make_peer(name: str, workload: OffPath, inputs: Inputs) -> Peer | None:
    """A peer over rows that are laid out for it, if it knows the workload."""
    match name:
        case "Numba":
            from bench.peers.numba.offpath import table as in_numba  # noqa: PLC0415

            return in_numba.peer(workload, inputs)
        case "Polars":
            from bench.peers.polars.offpath import table as in_polars  # noqa: PLC0415

            return in_polars.peer(workload, inputs)
        case "DuckDB":
            from bench.peers.duckdb import offpath as in_duckdb  # noqa: PLC0415

            return in_duckdb.peer(workload, inputs)
        case _:
            return None


def table_of(result: tilt.Result) -> Table:
    """A result as arrays; outputs of one query have the same times here."""
    outputs = list(result.values())
    tables = [output.to_arrow() for output in outputs]
    keys = [tables[0][name] for name in outputs[0].keys]
    payload = [
        column.to_numpy()
        for table in tables
        for column in table.columns[len(keys) + 2 :]
    ]
    starts, ends = (tables[0][name].to_numpy() for name in ("start", "end"))
    key = one_column(keys) if keys else None
    return Table(starts, ends, (*payload,), key)
