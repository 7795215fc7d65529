"""The kernels of a query, for each combination of layouts that it meets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import PaneAggregation, Signature
from tiltpy.codegen.cache.compile_cache import NO_CACHE, CompileCache, open_cache
from tiltpy.compiler.lazy_code import LazyCode
from tiltpy.compiler.options import CompileOptions
from tiltpy.forks import ForkSafe, cached_property
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import Query, Reduce
from tiltpy.plan.key_concatenation import KeyConcatenation, plan_concatenation
from tiltpy.plan.nodes import DISABLED, LoopChoice, Refusal
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.types import U32, Scalar

if TYPE_CHECKING:
    from tiltpy.compiler.stages import Stages
    from tiltpy.lowering.lowered import LoweredKernel
    from tiltpy.passes.analyses.fold_summaries import FoldSummary

T = TypeVar("T")
LayoutKey = frozenset[tuple[str, Layout]]
SamplingGridKey = tuple[tuple[str, SamplingGrid], ...]
FoldKey = tuple[str, Scalar, bool]
"""An output, the type of its keys, and whether its counts are narrow."""

BASELINE = "baseline"
"""The name of the baseline kernel among the products of a compilation."""


class QueryKernels(ForkSafe):
    """The kernels of a query for one combination of layouts, compiled when needed.

    `sweep_code` serves any rows of these layouts, and so does `baseline_code`, which is
    compiled sooner. `vector` is the kernel for regular or short rows, if there is one.
    """

    def __init__(
        self, source: Query, layouts: Mapping[str, Layout], options: CompileOptions
    ) -> None:
        super().__init__()
        self.layouts = layouts
        self._source = specialise(source, layouts)
        self._options = options
        self._store = _open_store(self._source, layouts, options)
        self._seconds: dict[str, float] = {}
        self.query: Query = self._memoize(
            "query", Query, "passes", lambda: self.stages[-1][1]
        )
        """The optimised query, with its boundaries."""
        self.vector_codes: dict[SamplingGridKey, LazyCode | None] = {}
        """The vector kernels, for each combination of sampling grids met."""
        self.preaggregation_codes: dict[FoldKey, tuple[LazyCode, LazyCode]] = {}
        """The pairs of kernels that pre-aggregate."""
        self._pane_aggregations: dict[str, PaneAggregation | Refusal] = {}

    @cached_property
    def stages(self) -> tuple[tuple[str, Query], ...]:
        """The query after each pass."""
        from tiltpy.passes.pipeline import optimize  # noqa: PLC0415 - late

        return optimize(self._source, self._options.disabled_passes)

    @cached_property
    def _stages(self) -> "Stages":
        from tiltpy.compiler.stages import Stages  # noqa: PLC0415 - late

        return Stages(self.query, self.layouts, self._options)

    @cached_property
    def choices(self) -> tuple[LoopChoice, ...]:
        """The plan of the sweep kernel for many rows."""
        return self._stages.choices()

    @cached_property
    def has_special_loops(self) -> bool:
        """Test whether `sweep_code` has special loops, which pay off over many rows."""
        return self._memoize(
            "special loops",
            bool,
            "lowering",
            lambda: any(choice.is_special for choice in self.choices),
        )

    @cached_property
    def sweep_code(self) -> LazyCode:
        """The sweep kernel."""
        code = self._lazy("sweep", lambda: self._stages.sweep(baseline=False))
        assert code is not None
        return code

    @cached_property
    def baseline_code(self) -> LazyCode:
        """The baseline kernel: `sweep_code` itself where that has no special loops."""
        if not self.has_special_loops:
            return self.sweep_code
        code = self._lazy(BASELINE, lambda: self._stages.sweep(baseline=True))
        assert code is not None
        return code

    @cached_property
    def _folds(self) -> "tuple[tuple[Reduce, FoldSummary], ...]":
        """The reductions over windows that fold on, with their summaries."""
        return self._stages.folds()

    @cached_property
    def warmup_rows(self) -> int:
        """The rows from which states of windows that fold on are guessed."""
        rows = [summary.rows or 0 for _, summary in self._folds]
        least = self._options.costs.run.warmup_rows
        return max((each or least for each in rows), default=0)

    @property
    def one_chunk(self) -> str | None:
        """The reason why windows without bound need a run of one chunk, if they do."""
        return self.refuse_chunks(self.sweep())

    def refuse_chunks(self, kernel: Kernel) -> str | None:
        """Say why windows without bound need one chunk of a kernel, if they do."""
        refusal = kernel.signature.refuse_states()
        if refusal is not None:
            return refusal
        for node, summary in self._folds:
            if summary.rows is None:
                return f"{node.reduction} of ~{node.window.object} never forgets a row"
        return None

    @cached_property
    def without_hidden_rows(self) -> frozenset[str]:
        """The inputs whose hidden rows change nothing."""
        if "visible_rows" in self._options.disabled_strategies:
            return frozenset()
        return frozenset(
            self._memoize(
                "without hidden rows",
                tuple[str, ...],
                "passes",
                self._plan_visible_rows,
            )
        )

    def _plan_visible_rows(self) -> tuple[str, ...]:
        return self._stages.inputs_without_hidden_rows()

    @cached_property
    def sees_beyond_keys(self) -> bool:
        """Tell whether concatenated keys take kernels of the query confined to keys.

        For those `compile_for` takes a layout of `KEY_STARTS`.
        """
        return self._memoize("beyond keys", bool, "passes", self._find_beyond_keys)

    def _find_beyond_keys(self) -> bool:
        from tiltpy.plan.confine_to_keys import sees_beyond_keys  # noqa: PLC0415 - late

        return sees_beyond_keys(self.query)

    @cached_property
    def concatenation(self) -> KeyConcatenation | Refusal:
        """Plan the concatenation of keys, or say why the rows of each need a call."""
        if "concatenation" in self._options.disabled_strategies:
            return DISABLED
        return plan_concatenation(self.query, self.sweep_code.signature)

    def codes(self) -> Iterator[LazyCode]:
        """List the kernels that are in memory so far."""
        folds = (code for both in self.preaggregation_codes.values() for code in both)
        sweeps = (self.__dict__.get(name) for name in ("sweep_code", "baseline_code"))
        for code in {*sweeps, *self.vector_codes.values(), *folds}:
            if code is not None and code.is_made:
                yield code

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds that each stage took, in whichever process it ran."""
        total = dict(self._seconds)
        for code in self.codes():
            for stage, seconds in code.seconds.items():
                total[stage] = total.get(stage, 0.0) + seconds
        return total

    def _memoize(self, name: str, kind: object, stage: str, make: Callable[[], T]) -> T:
        """Read the product `name` of a stage from disk, or make it now."""
        made = self._store.memoize(name, kind, make)
        self._seconds[stage] = self._seconds.get(stage, 0.0) + made.seconds
        return made.value

    def _lazy(
        self, name: str, lower: "Callable[[], LoweredKernel | Refusal]"
    ) -> LazyCode | None:
        """Make the code of a kernel; None where `lower` refuses."""
        lower_once = cache(lower)
        signature = self._memoize(
            f"{name} signature",
            Signature | None,
            "lowering",
            lambda: _signature(lower_once()),
        )
        if signature is None:
            return None
        options, lower_again = self._options, partial(_must_lower, lower_once)
        quick = name == BASELINE
        return LazyCode(name, signature, lower_again, self._store, options, quick=quick)

    def sweep(self, *, baseline: bool = False) -> Kernel:
        """Return the sweep kernel for rows of these layouts, or the baseline kernel."""
        return (self.baseline_code if baseline else self.sweep_code).kernel()

    def vector(self, sampling_grids: Mapping[str, SamplingGrid]) -> Kernel | None:
        """Return the vector kernel for these sampling grids; None if it is refused."""
        code = self.vector_code(sampling_grids)
        return None if code is None else code.kernel()

    def vector_refusal(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> Refusal | None:
        """Explain why there is no vector kernel; None if there is one."""
        if "vector_kernel" in self._options.disabled_strategies:
            return DISABLED
        if self.vector_code(sampling_grids) is not None:
            return None
        plan = self._stages.plan_vector(sampling_grids)
        return plan if isinstance(plan, Refusal) else None

    def vector_code(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> LazyCode | None:
        """Return the machine code of the vector kernel; None if it is refused."""
        if "vector_kernel" in self._options.disabled_strategies:
            return None
        key = tuple(sorted(sampling_grids.items(), key=lambda item: item[0]))
        with self._lock:
            if key not in self.vector_codes:
                self.vector_codes[key] = self._lazy(
                    f"vector {key}", lambda: self._stages.vector(sampling_grids)
                )
            return self.vector_codes[key]

    def pane_aggregation(self, output: str) -> PaneAggregation | Refusal:
        """Plan the pre-aggregation of an output's windows, or refuse it."""
        if output not in self._pane_aggregations:
            self._pane_aggregations[output] = self._plan_panes(output)
        return self._pane_aggregations[output]

    def _plan_panes(self, output: str) -> PaneAggregation | Refusal:
        if "preaggregation" in self._options.disabled_strategies:
            return DISABLED
        return self._memoize(
            f"panes {output}",
            PaneAggregation | Refusal,
            "lowering",
            lambda: self._stages.plan_panes(output),
        )

    def preaggregation_kernels(
        self, output: str, key: Scalar = U32, *, narrow: bool = False
    ) -> tuple[Kernel, Kernel]:
        """Return both kernels that pre-aggregate an output (`PaneAggregation`)."""
        fold, cells = self.preaggregation_code(output, key, narrow=narrow)
        return fold.kernel(), cells.kernel()

    def preaggregation_code(
        self, output: str, key: Scalar = U32, *, narrow: bool = False
    ) -> tuple[LazyCode, LazyCode]:
        """Return the machine code of both kernels of a pre-aggregation."""
        fold_key = output, key, narrow
        with self._lock:
            if fold_key not in self.preaggregation_codes:
                fold = self._lazy(
                    f"fold {fold_key}",
                    lambda: self._stages.fold(output, key, narrow=narrow),
                )
                cells = self._lazy(
                    f"cells {fold_key}",
                    lambda: self._stages.cells(output, key, narrow=narrow),
                )
                assert fold is not None
                assert cells is not None
                self.preaggregation_codes[fold_key] = fold, cells
            return self.preaggregation_codes[fold_key]


def _signature(lowered: "LoweredKernel | Refusal") -> Signature | None:
    return None if isinstance(lowered, Refusal) else lowered.signature


def _must_lower(lower: "Callable[[], LoweredKernel | Refusal]") -> "LoweredKernel":
    lowered = lower()
    assert not isinstance(lowered, Refusal)
    return lowered


def _open_store(
    source: Query, layouts: Mapping[str, Layout], options: CompileOptions
) -> CompileCache:
    """Open what earlier compilations of this query for these layouts left on disk."""
    if not options.cache:
        return NO_CACHE
    # The order of a set is another in every process.
    passes, strategies = options.disabled_passes, options.disabled_strategies
    others = replace(
        options, disabled_passes=frozenset(), disabled_strategies=frozenset()
    )
    return open_cache(
        source,
        sorted(layouts.items(), key=lambda item: item[0]),
        sorted(passes),
        sorted(strategies),
        others,
    )


def specialise(query: Query, layouts: Mapping[str, Layout]) -> Query:
    """Declare which inputs are disjoint, as their layouts say."""
    overlapping = TimeLayout.OVERLAPPING
    inputs = tuple(
        replace(declared, disjoint=layouts[declared.name].time is not overlapping)
        for declared in query.inputs
    )
    return replace(query, inputs=inputs)


class Compiler(ForkSafe):
    """A query and its kernels for all combinations of layouts met, in memory."""

    def __init__(self, query: Query, options: CompileOptions | None = None) -> None:
        super().__init__()
        self.query = query
        self.options = options or CompileOptions()
        if self.options.disabled_strategies:
            from tiltpy.plan.choose import check_strategies  # noqa: PLC0415 - late

            check_strategies(self.options.disabled_strategies)
        self._known: dict[LayoutKey, QueryKernels] = {}

    def compile_for(self, layouts: Mapping[str, Layout]) -> QueryKernels:
        """Return the kernels for a combination of layouts.

        With a layout of `KEY_STARTS` they are of the query that is confined to keys.
        """
        key = frozenset(layouts.items())
        with self._lock:
            if key not in self._known:
                query = self.query
                if KEY_STARTS in layouts:
                    from tiltpy.plan.confine_to_keys import confine_to_keys  # noqa: PLC0415

                    query = confine_to_keys(query)
                self._known[key] = QueryKernels(query, layouts, self.options)
            return self._known[key]

    def kernels(self) -> frozenset[str]:
        """Format the loop IR of the kernels that runs have used so far."""
        from tiltpy.loops.printer import format_kernel  # noqa: PLC0415 - late

        with self._lock:
            known = tuple(self._known.values())
        codes = (code for kernels in known for code in kernels.codes())
        return frozenset(format_kernel(code.lower().kernel) for code in codes)
