"""Runs over few rows: one call of a kernel, by an engine that stays for the next run.

To choose kernels for a run, cut time into chunks and prepare their calls takes longer
than to compute a few rows. Tables that come again and again mostly have one form, and
an engine that has seen it knows all but a few numbers.
"""

from collections.abc import Iterator, Mapping

from tiltpy.costs import Costs
from tiltpy.engines.engine import NO_STATE
from tiltpy.engines.prompt_engine import PromptEngine
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import (
    OutputRange,
    Request,
    find_whole_ranges,
)
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import format_of

Rows = Mapping[str, SnapshotBuffer]
Ranges = Mapping[str, OutputRange]
Terms = tuple[Request, Costs, bool]
"""The request and the costs of an engine's runs, and whether they have the baseline
kernel, as those over the fewest rows do."""


class WholeRunEngine(PromptEngine):
    """An engine of whole runs over few rows, which one thread at a time asks."""

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        costs: Costs,
        baseline: bool,
    ) -> None:
        super().__init__(group, request, RunOptions(vector=False, costs=costs))
        self._terms = request, costs, baseline

    @staticmethod
    def take(group: OutputGroup[Kernels], terms: Terms) -> "WholeRunEngine":
        """Take an engine of a group that no run uses, or make one."""
        engine: WholeRunEngine | None = group.idle.take(terms)
        if engine is None:
            return WholeRunEngine(group, *terms)
        engine.group = group
        return engine

    def put_back(self) -> None:
        """Stay for the next run.

        Meanwhile the group has the engine, and not the other way round, too: so both
        are free as soon as nobody has the group.
        """
        group = self.group
        del self.group
        group.idle.put_back(self._terms, self)

    def find_kernel(self, kernels: Kernels) -> Kernel:
        """Find the kernel that computes whole runs."""
        _, _, baseline = self._terms
        return kernels.sweep(baseline=baseline)

    def find_ranges(self, rows: Rows) -> Ranges | None:
        """Find the whole domains of outputs; None where one call does not serve."""
        known = self.last_known
        if known is not None and known.reads(rows):
            return find_whole_ranges(known.query, rows, self.request)
        read = self.read_all(rows, NO_STATE)
        ranges = find_whole_ranges(read.kernels.query, read.rows, self.request)
        if not ranges or not self.are_short(ranges):
            return None
        return ranges if self.choose_call(ranges, read) is not None else None


@record(frozen=True, slots=True, eq=False)
class PlannedPromptRun:
    """A run over few rows, planned; several threads may make it at once."""

    group: OutputGroup[Kernels]
    rows: Rows
    ranges: Ranges
    terms: Terms

    @property
    def may_repeat(self) -> bool:
        """Return that other runs over the same rows may be made by this plan.

        Strings are encoded anew in each.
        """
        return True

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int
    ) -> Iterator[OutputTable]:
        """Compute the outputs, and make a table of each."""
        del order  # rows without keys have but one
        engine = WholeRunEngine.take(self.group, self.terms)
        evaluation = engine.evaluate(self.ranges, self.rows)
        engine.put_back()
        for name, of in self.group.types.items():
            yield evaluation.table(format_of(name, of, stamp), workers)


def plan(
    group: OutputGroup[Kernels], rows: Rows, request: Request, costs: Costs
) -> PlannedPromptRun | None:
    """Plan a run over few rows as one call; None where that does not serve."""
    total = sum([buffer.n for buffer in rows.values()])
    terms = request, costs, total < costs.run.baseline_rows
    engine = WholeRunEngine.take(group, terms)
    ranges = engine.find_ranges(rows)
    engine.put_back()
    return None if ranges is None else PlannedPromptRun(group, rows, ranges, terms)
