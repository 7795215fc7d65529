"""The peers for keys in C, over rows that lie key after key."""

from bench.outcome import Outcome
from bench.peers.c.library import compiler
from bench.peers.c.work import Piece, Work
from bench.peers.grouped import grouped
from bench.peers.peer import Peer
from bench.workloads.streams import Stream, Workload


def peer(workload: Workload, stream: Stream, *, plain: bool = False) -> Peer | None:
    """The workload in C, if there is a compiler; `plain` as for those without keys."""
    if compiler() is None:
        return None
    rows = grouped(stream)
    arrays = rows.memory(workload)
    inputs = (rows.values, rows.ends, rows.offsets)
    every = Piece(inputs, arrays, 0, len(rows.distinct))
    work = Work(f"{workload.base}_by_key", [every], plain=plain)

    def outcome(counts: list[int]) -> Outcome:
        return rows.outcome(arrays, counts[0])

    return Peer(work, outcome)
