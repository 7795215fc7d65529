"""The peers by name: what else computes a workload. Each has a module of its own."""

from collections.abc import Mapping
from importlib.util import find_spec

from bench import c_keyed, c_peers
from bench.c import compiler
from bench.peer import Peer
from bench.workloads import Stream, Workload

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
            return c_peers.peer(workload, streams, times=name != "C")
        case "plain C":
            return c_peers.peer(workload, streams, plain=True)
        case "Numba":
            from bench import numba_peers  # noqa: PLC0415 - optional

            return numba_peers.peer(workload, streams)
        case "Polars":
            from bench import polars_peers  # noqa: PLC0415 - optional

            return polars_peers.peer(workload, streams)
        case "DuckDB":
            from bench import duckdb_peers  # noqa: PLC0415 - optional

            return duckdb_peers.peer(workload, streams)
        case _:
            raise ValueError(f"no peer {name!r}; there are {', '.join(NAMES)}")


def _make_keyed(name: str, workload: Workload, stream: Stream) -> Peer | None:
    if workload.folded:
        return _make_folded(name, stream)
    match name:
        case "C" | "plain C":
            return c_keyed.peer(workload, stream, plain=name != "C")
        case "Numba":
            from bench import numba_keyed  # noqa: PLC0415 - optional

            return numba_keyed.peer(workload, stream)
        case "Polars" | "Polars + grouping":
            from bench import polars_keyed  # noqa: PLC0415 - optional

            return polars_keyed.peer(workload, stream, mixed=name != "Polars")
        case "DuckDB":
            from bench import duckdb_keyed  # noqa: PLC0415 - optional

            return duckdb_keyed.peer(workload, stream)
        case _:
            raise ValueError(f"no peer {name!r}; there are {', '.join(NAMES)}")


def _make_folded(name: str, stream: Stream) -> Peer | None:
    from bench import campaigns  # noqa: PLC0415 - optional

    match name:
        case "C" | "plain C":
            return campaigns.c_peer(stream, plain=name != "C")
        case "Numba":
            return campaigns.numba_peer(stream)
        case "Polars":
            return campaigns.polars_peer(stream)
        case _:
            return None


def most_events(name: str, workload: Workload) -> int | None:
    """The most events that a peer is asked to compute over, where it is slow."""
    if name != "DuckDB":
        return None
    from bench.duckdb_peers import most_in_windows  # noqa: PLC0415 - optional

    return most_in_windows(workload)
