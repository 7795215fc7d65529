"""The stages that compile a query for some layouts: passes, plans, lowering.

What of their products lies on disk needs none of them, so `query_kernels.py` imports
this module, and with it lowering, only when a product is missing or printed.
"""

from collections.abc import Callable, Mapping
from functools import partial

from tiltpy.abi.layouts import Layout, SamplingGrid
from tiltpy.abi.signature import PaneAggregation
from tiltpy.compiler.options import CompileOptions
from tiltpy.emit.references import reductions
from tiltpy.ir.nodes import Query, Reduce
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.verify import verify_kernel
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.preaggregation.accumulate import lower_accumulate
from tiltpy.lowering.preaggregation.finalize import lower_finalize
from tiltpy.lowering.sweep.kernel import lower
from tiltpy.lowering.vector.kernel import lower_vector
from tiltpy.passes.analyses.fold_summaries import FoldSummary, summarize
from tiltpy.passes.coarsen_domains import coarsen_domains
from tiltpy.plan.choose import SWEEP_STRATEGIES, plan_loops
from tiltpy.plan.nodes import LoopChoice, Misfit, Refusal
from tiltpy.plan.preaggregation_plan import PaneAggregationPlan
from tiltpy.plan.strategies.vector_kernel import plan_vector
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.plan.visible_rows import inputs_without_hidden_rows
from tiltpy.types import Scalar, TDom

VERIFY_KERNELS = False
"""Whether each kernel is verified once it is lowered, as the tests have it: a violation
is a bug in lowering, whatever the data."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages for one combination of layouts; `query` is the optimised query."""

    query: Query
    layouts: Mapping[str, Layout]
    options: CompileOptions

    def choices(self, *, baseline: bool = False) -> tuple[LoopChoice, ...]:
        """Plan the sweep kernel for many rows, or that without special loops."""
        options = self.options
        disabled = SWEEP_STRATEGIES if baseline else options.disabled_strategies
        return plan_loops(self.query, self.layouts, options.costs, disabled)

    def sweep(self, *, baseline: bool) -> LoweredKernel:
        """Lower the sweep kernel, or the baseline kernel."""
        choices = self.choices(baseline=baseline)
        return _verify(lower(self.query, self.layouts, choices, self.options.costs))

    def folds(self) -> tuple[tuple[Reduce, FoldSummary], ...]:
        """Summarize the reductions over windows that fold on."""
        known = {each.name: each for each in self.query.reductions}
        return tuple(
            (node, summarize(node, known))
            for definition in self.query.definitions
            for node in reductions(definition)
            if node.window.folds_on
        )

    def vector(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> LoweredKernel | Refusal:
        """Lower the vector kernel for these sampling grids."""
        plan = self.plan_vector(sampling_grids)
        return plan if isinstance(plan, Refusal) else _verify(lower_vector(plan))

    def plan_vector(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> VectorPlan | Refusal:
        """Plan the vector kernel for these sampling grids, with the fewest cells."""
        bounds = {
            name: TDom(precision=grid.period, offset=grid.phase)
            for name, grid in sampling_grids.items()
        }
        plan = partial(
            plan_vector,
            layouts=self.layouts,
            sampling_grids=sampling_grids,
            costs=self.options.costs,
            fused="fuse_operators" not in self.options.disabled_passes,
        )
        coarse = coarsen_domains(self.query, bounds)
        planned = plan(coarse)
        if isinstance(planned, Refusal) and coarse != self.query:
            return plan(self.query)
        return planned

    def inputs_without_hidden_rows(self) -> tuple[str, ...]:
        """Find the inputs whose hidden rows change nothing, in order."""
        return tuple(sorted(inputs_without_hidden_rows(self.query, self.layouts)))

    def plan_panes(self, output: str) -> PaneAggregation | Refusal:
        """Plan the pre-aggregation of an output's windows, or refuse it."""
        try:
            return PaneAggregationPlan(self.query, output, self.layouts).aggregation()
        except Misfit as misfit:
            return misfit.refusal

    def fold(self, output: str, key: Scalar, *, narrow: bool) -> LoweredKernel:
        """Lower the kernel that accumulates an output's panes by key."""
        return self._preaggregation(lower_accumulate, output, key, narrow)

    def cells(self, output: str, key: Scalar, *, narrow: bool) -> LoweredKernel:
        """Lower the kernel that finalizes an output's panes by key."""
        return self._preaggregation(lower_finalize, output, key, narrow)

    def _preaggregation(
        self,
        lower_plan: Callable[[PaneAggregationPlan], LoweredKernel],
        output: str,
        key: Scalar,
        narrow: bool,
    ) -> LoweredKernel:
        costs = self.options.costs
        plan = PaneAggregationPlan(
            self.query, output, self.layouts, key, narrow=narrow, costs=costs
        )
        return _verify(lower_plan(plan))


def _verify(lowered: LoweredKernel) -> LoweredKernel:
    if VERIFY_KERNELS:
        verify_kernel(lowered.kernel, len(lowered.signature.slots))
    return lowered
