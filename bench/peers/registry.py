"""The peers by name, and which module has the one for a workload."""

from collections.abc import Mapping
from importlib.util import find_spec

from bench.peers.c import campaigns as c_campaigns
from bench.peers.c import keyed as c_keyed
from bench.peers.c import unkeyed as c_unkeyed
from bench.peers.c.library import compiler
from bench.peers.peer import Peer
from bench.workloads.streams import Stream, Workload

NAMES = ("C", "plain C", "Numba", "Polars", "DuckDB")
"""From the nearest to the machine to the furthest from it."""


def missing(name: str) -> str | None:
    """Why a peer cannot be asked here, and the way out, if it cannot."""
    if name in ("C", "plain C"):
        without = f"{name} is left out: no compiler (gcc, clang or cc)"
        return None if compiler() else without
    if find_spec(name.lower()) is None:
        return f"{name} is not installed: pip install '.[bench]'"
    return None


def with_times(name: str) -> str:
    """The runner that writes starts and ends as well, where they could be left out."""
    return f"{name} + times"


def with_grouping(name: str) -> str:
    """The runner that finds the rows of each key in those of all."""
    return f"{name} + grouping"


def make_peer(
    name: str, workload: Workload, streams: Mapping[str, Stream]
) -> Peer | None:
    """A peer over data that is laid out for it, if it knows the workload."""
    if workload.family == "keyed":
        return _make_keyed(name, workload, streams["x"])
    match name:
        case "C" | "C + times":
            return c_unkeyed.peer(workload, streams, times=name != "C")
        case "plain C":
            return c_unkeyed.peer(workload, streams, plain=True)
        case "Numba":
            from bench.peers.numba import unkeyed as numba_unkeyed  # noqa: PLC0415

            return numba_unkeyed.peer(workload, streams)
        case "Polars":
            from bench.peers.polars import unkeyed as polars_unkeyed  # noqa: PLC0415

            return polars_unkeyed.peer(workload, streams)
        case "DuckDB":
            from bench.peers.duckdb import unkeyed as duckdb_unkeyed  # noqa: PLC0415

            return duckdb_unkeyed.peer(workload, streams)
        case _:
            raise ValueError(f"no peer {name!r}; there are {', '.join(NAMES)}")


def _make_keyed(name: str, workload: Workload, stream: Stream) -> Peer | None:
    if workload.folded:
        return _make_folded(name, stream)
    match name:
        case "C" | "plain C":
            return c_keyed.peer(workload, stream, plain=name != "C")
        case "Numba":
            from bench.peers.numba import keyed as numba_keyed  # noqa: PLC0415

            return numba_keyed.peer(workload, stream)
        case "Polars" | "Polars + grouping":
            from bench.peers.polars import keyed as polars_keyed  # noqa: PLC0415

            return polars_keyed.peer(workload, stream, mixed=name != "Polars")
        case "DuckDB":
            from bench.peers.duckdb import keyed as duckdb_keyed  # noqa: PLC0415

            return duckdb_keyed.peer(workload, stream)
        case _:
            raise ValueError(f"no peer {name!r}; there are {', '.join(NAMES)}")


def _make_folded(name: str, stream: Stream) -> Peer | None:
    match name:
        case "C" | "plain C":
            return c_campaigns.peer(stream, plain=name != "C")
        case "Numba":
            from bench.peers.numba import campaigns as numba_campaigns  # noqa: PLC0415

            return numba_campaigns.peer(stream)
        case "Polars":
            from bench.peers.polars import campaigns as polars_campaigns  # noqa: PLC0415

            return polars_campaigns.peer(stream)
        case _:
            return None


def most_events(name: str, workload: Workload) -> int | None:
    """The most events that a peer is asked to compute over, where it is slow."""
    if name != "DuckDB":
        return None
    from bench.peers.duckdb.unkeyed import most_in_windows  # noqa: PLC0415 - optional

    return most_in_windows(workload)
