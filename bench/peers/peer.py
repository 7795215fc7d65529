"""A peer: a run to be timed, and its outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.outcome import Outcome, Table, difference
from bench.timing import Runner
from bench.workloads.streams import Workload

EXACT = frozenset(
    (
        "select",
        "where",
        "tumbling sum",
        "sliding sum",
        "sliding max",
        "aligned join",
        "unaligned join",
        "trading",
        "resample",
        "Yahoo",
    )
)
"""Workloads that have one result to the bit, in whatever order one adds."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another way to compute a workload.

    `outcome` turns what `run` returned into arrays, which takes no part in the time.
    """

    run: Runner
    outcome: Callable[[Any], Outcome]

    def disagreement(self, workload: Workload, expected: Table) -> str | None:
        """Find a place where the peer's result is not tiltpy's, if any."""
        found = self.outcome(self.run())
        return difference(expected, found, exact=workload.base in EXACT)
