"""Hidden rows: those that no point reference sees.

A point reference sees one of the rows that share a timestamp. Where an input of points
decides at which ticks there is a result (`passes.analyses.row_inputs`), the others are
hidden: legal, but seldom meant, so a run counts them and warns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.ir.nodes import Query
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import NO_BREAKS
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.visible_rows import find_hidden_rows
from tiltpy.types import TDom

DomainsOf = Callable[[], Mapping[str, Sequence[TDom]]]


@dataclass(slots=True)
class HiddenRows:
    """Counts the hidden rows of each input.

    `domains_of` gives the domains of the outputs that an input decides; it is asked
    once there are rows that share a stamp.
    """

    query: Query
    domains_of: DomainsOf
    request: Request
    counts: dict[str, int] = field(default_factory=dict)

    def add(
        self, name: str, rows: SnapshotBuffer, groups: Groups | None = None
    ) -> None:
        """Count among some rows of an input, all of each of their stamps."""
        # Rows of a tick overlap where they share it, and nowhere else.
        if not rows.points or rows.layout is not TimeLayout.OVERLAPPING:
            return
        domains = self.domains_of().get(name)
        if domains:
            breaks = NO_BREAKS if groups is None else groups.breaks()
            count = self._count(rows, find_hidden_rows(rows, breaks), domains)
            if count:
                self.counts[name] = self.counts.get(name, 0) + count

    def _count(
        self, rows: SnapshotBuffer, hidden: I64Array, domains: Sequence[TDom]
    ) -> int:
        """Count the hidden rows where an output is wanted."""
        assert rows.ends is not None
        limits = [self.request.limits(tdom) for tdom in domains]
        starts, ends = ([limit[i] for limit in limits] for i in range(2))
        there = np.ones(len(hidden), np.bool_)
        if None not in starts:
            low = min(start for start in starts if start is not None)
            there &= rows.ends[hidden] > low
        if None not in ends:
            high = max(end for end in ends if end is not None)
            there &= rows.ends[hidden] <= high
        return int(np.count_nonzero(there))

    def message(self) -> str | None:
        """Return the warning for the user, or None where nothing is hidden."""
        if not self.counts:
            return None
        hidden = " and ".join(
            f"{count:,} row{'s' * (count > 1)} of input '{name}'"
            for name, count in self.counts.items()
        )
        name = next(iter(self.counts))
        return (
            f"{hidden} hidden behind another of the same stamp: a result that is φ "
            f"wherever ~{name} is has one snapshot for each stamp, from the last of "
            f"its rows; to have a result for each row, define it over e = Rows(~{name})"
        )
