"""From a query to results: the stages in order.

    text or Python    -> frontend   -> Query            functional IR
    Query + layouts   -> specialise -> Query            whether inputs may overlap
                      -> passes     -> Query            fused, folded, with boundaries
    Query + layouts   -> plan       -> LoopChoice, ...  a strategy for each loop
    Query + plan      -> lowering   -> LoweredKernel    loop IR and signature
                      -> codegen    -> MachineCode      LLVM
    Arrow + code      -> runtime    -> Result           chunks, workers, Arrow

Data (or `explain`) decide which layouts a query is compiled for; kernels are kept for
every combination of layouts that it has met.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeVar

from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import PaneAggregation, Signature
from tiltpy.codegen.cache.compile_cache import NO_CACHE, CompileCache, open_cache
from tiltpy.codegen.jit import (
    Drivers,
    MachineCode,
    ObjectCode,
    compile_drivers,
    compile_object,
)
from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.forks import Guarded, cached_property
from tiltpy.ir.cuts import reads
from tiltpy.ir.keys import output_keys
from tiltpy.ir.nodes import Query
from tiltpy.loops.printer import format_kernel
from tiltpy.loops.verify import verify_kernel
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.preaggregation.accumulate import lower_fold
from tiltpy.lowering.preaggregation.finalize import lower_cells
from tiltpy.lowering.sweep.kernel import lower
from tiltpy.lowering.vector.kernel import lower_vector
from tiltpy.passes.coarsen_domains import coarsen_domains
from tiltpy.passes.eliminate_dead import drop_definitions
from tiltpy.passes.pipeline import optimize
from tiltpy.plan.choose import (
    DISABLED,
    SWEEP_STRATEGIES,
    check_strategies,
    plan_loops,
)
from tiltpy.plan.nodes import LoopChoice, Misfit, Refusal
from tiltpy.plan.preaggregation_plan import PaneAggregationPlan
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.types import U32, Scalar, TDom

T = TypeVar("T")
VERIFY_KERNELS = False
"""Whether each kernel is verified once it is lowered, as the tests have it: a violation
is a bug in lowering, whatever the data."""
LayoutKey = frozenset[tuple[str, Layout]]
SamplingGridKey = tuple[tuple[str, SamplingGrid], ...]
FoldKey = tuple[str, Scalar, bool]
"""An output, the type of its keys, and whether its counts are narrow."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile: nothing here changes results.

    `disabled_passes`: names of `passes.PASS_NAMES` to leave out. `disabled_strategies`:
    names of `plan.STRATEGY_NAMES` to leave out; without any, sweeps do all. `optimize`:
    whether LLVM optimizes; without, compiling takes a fraction of the time and the code
    is slow, which suits very small data. `cache`: whether what was compiled is kept on
    disk, in the user's cache folder, for other processes to find. `costs`: where one
    strategy becomes cheaper than another.
    """

    disabled_passes: frozenset[str] = frozenset()
    disabled_strategies: frozenset[str] = frozenset()
    optimize: bool = True
    cache: bool = True
    costs: Costs = DEFAULT_COSTS


@cache
def _drivers(*, keep: bool) -> Drivers:
    """The loops over calls, which all kernels have in common."""
    store = open_cache("drivers") if keep else NO_CACHE
    return Drivers(store.memoize("drivers", bytes, compile_drivers).value)


class LazyCode(Guarded):
    """A kernel's machine code: found on disk, or made when first run or looked at."""

    def __init__(
        self,
        name: str,
        signature: Signature,
        lower_again: Callable[[], LoweredKernel],
        found: CompileCache,
        *,
        optimize: bool,
    ) -> None:
        super().__init__()
        self.signature = signature
        self.seconds: dict[str, float] = {}
        self._name = f"{name} {signature}"  # only code of the same slots fits
        self._lower = lower_again
        self._kept = found
        self._optimize = optimize
        self._code: MachineCode | None = None

    @property
    def is_made(self) -> bool:
        """Whether its machine code is there."""
        return self._code is not None

    @property
    def lowered(self) -> LoweredKernel:
        """The kernel's loops, lowered now if only their code was found."""
        return self._lower()

    def code(self) -> MachineCode:
        """The machine code."""
        with self._lock:
            if self._code is None:
                made = self._kept.memoize(self._name, ObjectCode, self._compile).value
                self.seconds = made.seconds
                lower_again = self._lower  # alone: no cycle holds the code
                drivers = _drivers(keep=self._kept is not NO_CACHE)
                self._code = MachineCode(made, lambda: lower_again().kernel, drivers)
            return self._code

    def _compile(self) -> ObjectCode:
        lowered = self.lowered
        assert lowered.signature == self.signature, "lowering is not deterministic"
        make = partial(compile_object, lowered.kernel, optimize=self._optimize)
        return offload(make)

    def kernel(self) -> Kernel:
        """As the runtime calls it."""
        return Kernel(self.signature, self)


class Specialised(Guarded):
    """A query lowered for one combination of layouts; compiled as far as needed.

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
        self._kept = _find(self._source, layouts, options)
        self._seconds: dict[str, float] = {}
        self.query: Query = self._once(
            "query", Query, "passes", lambda: self.stages[-1][1]
        )
        """The optimised query, with its boundaries."""
        sweep = self._lazy("sweep", lambda: self._lower(self.choices))
        assert sweep is not None
        self.sweep_code = sweep
        self.vector_codes: dict[SamplingGridKey, LazyCode | None] = {}
        """The vector kernels, for each combination of sampling grids met."""
        self.preaggregation_codes: dict[FoldKey, tuple[LazyCode, LazyCode]] = {}
        """The pairs of kernels that pre-aggregate."""
        self._pane_aggregations: dict[str, PaneAggregation | Refusal] = {}

    @cached_property
    def stages(self) -> tuple[tuple[str, Query], ...]:
        """The query after each pass."""
        return optimize(self._source, self._options.disabled_passes)

    @cached_property
    def choices(self) -> tuple[LoopChoice, ...]:
        """The plan of the sweep kernel for many rows."""
        return self._plan(self._options.disabled_strategies)

    def _plan(self, disabled: Iterable[str]) -> tuple[LoopChoice, ...]:
        return plan_loops(self.query, self.layouts, self._options.costs, disabled)

    def _lower(self, choices: tuple[LoopChoice, ...]) -> LoweredKernel:
        return lower(self.query, self.layouts, choices, self._options.costs)

    @cached_property
    def baseline_code(self) -> LazyCode:
        """The baseline kernel: `sweep_code` itself where that has no special loops."""
        if not self.sweep_code.signature.special:
            return self.sweep_code
        code = self._lazy("baseline", lambda: self._lower(self._plan(SWEEP_STRATEGIES)))
        assert code is not None
        return code

    def codes(self) -> Iterator[LazyCode]:
        """The kernels that have been compiled, or found on disk, so far."""
        folds = (code for both in self.preaggregation_codes.values() for code in both)
        baseline = self.__dict__.get("baseline_code", self.sweep_code)
        for code in {self.sweep_code, baseline, *self.vector_codes.values(), *folds}:
            if code is not None and code.is_made:
                yield code

    @property
    def seconds(self) -> dict[str, float]:
        """How long the stages took, when they were run for what is used now."""
        found = dict(self._seconds)
        for code in self.codes():
            for stage, seconds in code.seconds.items():
                found[stage] = found.get(stage, 0.0) + seconds
        return found

    def _once(self, part: str, kind: object, stage: str, make: Callable[[], T]) -> T:
        """What a stage makes, if no earlier process did."""
        made = self._kept.memoize(part, kind, make)
        self._seconds[stage] = self._seconds.get(stage, 0.0) + made.seconds
        return made.value

    def _lazy(
        self, name: str, lower: Callable[[], LoweredKernel | Refusal]
    ) -> LazyCode | None:
        """The code of a lowered kernel; None where the query has no such form."""
        lowered = cache(partial(_lower_and_verify, lower))
        signature = self._once(
            f"{name} signature",
            Signature | None,
            "lowering",
            lambda: _signature(lowered()),
        )
        if signature is None:
            return None
        optimize, existing = self._options.optimize, partial(_existing, lowered)
        return LazyCode(name, signature, existing, self._kept, optimize=optimize)

    def sweep(self, *, few: bool = False) -> Kernel:
        """The sweep kernel for rows of these layouts, or the baseline for `few`."""
        return (self.baseline_code if few else self.sweep_code).kernel()

    def vector(self, sampling_grids: Mapping[str, SamplingGrid]) -> Kernel | None:
        """The vector kernel for these sampling grids; None if it is refused."""
        code = self.vector_code(sampling_grids)
        return None if code is None else code.kernel()

    def vector_refusal(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> Refusal | None:
        """The reason for the lack of a vector kernel, if there is none."""
        if "vector_kernel" in self._options.disabled_strategies:
            return DISABLED
        if self.vector_code(sampling_grids) is not None:
            return None
        costs = self._options.costs
        lowered = lower_vector(self.query, self.layouts, sampling_grids, costs)
        return lowered if isinstance(lowered, Refusal) else None

    def vector_code(
        self, sampling_grids: Mapping[str, SamplingGrid]
    ) -> LazyCode | None:
        """The machine code of the vector kernel; None if it is refused."""
        if "vector_kernel" in self._options.disabled_strategies:
            return None
        key = tuple(sorted(sampling_grids.items(), key=lambda item: item[0]))
        with self._lock:
            if key not in self.vector_codes:
                fused = "fuse_operators" not in self._options.disabled_passes
                lowered = partial(
                    _lower_on,
                    self.query,
                    self.layouts,
                    sampling_grids,
                    self._options.costs,
                    fused=fused,
                )
                self.vector_codes[key] = self._lazy(f"vector {key}", lowered)
            return self.vector_codes[key]

    def pane_aggregation(self, output: str) -> PaneAggregation | Refusal:
        """Plan the pre-aggregation of an output's windows, or refuse it."""
        if output not in self._pane_aggregations:
            self._pane_aggregations[output] = self._fold(output)
        return self._pane_aggregations[output]

    def _fold(self, output: str) -> PaneAggregation | Refusal:
        if "preaggregation" in self._options.disabled_strategies:
            return DISABLED
        try:
            return PaneAggregationPlan(self.query, output, self.layouts).aggregation()
        except Misfit as refused:
            return refused.refusal

    def preaggregation_kernels(
        self, output: str, key: Scalar = U32, *, narrow: bool = False
    ) -> tuple[Kernel, Kernel]:
        """The two kernels that pre-aggregate an output (see `abi.PaneAggregation`)."""
        fold, cells = self.preaggregation_code(output, key, narrow=narrow)
        return fold.kernel(), cells.kernel()

    def preaggregation_code(
        self, output: str, key: Scalar = U32, *, narrow: bool = False
    ) -> tuple[LazyCode, LazyCode]:
        """The machine code of both kernels of a pre-aggregation."""
        wanted = output, key, narrow
        with self._lock:
            if wanted not in self.preaggregation_codes:
                lower_as = partial(
                    _lower_preaggregation,
                    self.query,
                    output,
                    self.layouts,
                    key,
                    narrow,
                    costs=self._options.costs,
                )
                fold = self._lazy(f"fold {wanted}", partial(lower_as, lower_fold))
                cells = self._lazy(f"cells {wanted}", partial(lower_as, lower_cells))
                assert fold is not None
                assert cells is not None
                self.preaggregation_codes[wanted] = fold, cells
            return self.preaggregation_codes[wanted]


def _lower_on(
    query: Query,
    layouts: Mapping[str, Layout],
    sampling_grids: Mapping[str, SamplingGrid],
    costs: Costs,
    *,
    fused: bool,
) -> LoweredKernel | Refusal:
    """Lower to a vector kernel for these sampling grids, with the fewest cells."""
    bounds = {
        name: TDom(precision=one.period, offset=one.phase)
        for name, one in sampling_grids.items()
    }
    coarse = coarsen_domains(query, bounds)
    found = lower_vector(coarse, layouts, sampling_grids, costs, fused=fused)
    if isinstance(found, Refusal) and coarse != query:
        found = lower_vector(query, layouts, sampling_grids, costs, fused=fused)
    return found


def _lower_preaggregation(
    query: Query,
    output: str,
    layouts: Mapping[str, Layout],
    key: Scalar,
    narrow: bool,
    lower: Callable[[PaneAggregationPlan], LoweredKernel],
    *,
    costs: Costs,
) -> LoweredKernel:
    return lower(
        PaneAggregationPlan(query, output, layouts, key, narrow=narrow, costs=costs)
    )


def _signature(lowered: LoweredKernel | Refusal) -> Signature | None:
    return None if isinstance(lowered, Refusal) else lowered.signature


def _lower_and_verify(
    lower: Callable[[], LoweredKernel | Refusal],
) -> LoweredKernel | Refusal:
    lowered = lower()
    if VERIFY_KERNELS and not isinstance(lowered, Refusal):
        verify_kernel(lowered.kernel, len(lowered.signature.slots))
    return lowered


def _existing(lower: Callable[[], LoweredKernel | Refusal]) -> LoweredKernel:
    lowered = lower()
    assert not isinstance(lowered, Refusal)
    return lowered


def _find(
    source: Query, layouts: Mapping[str, Layout], options: CompileOptions
) -> CompileCache:
    """What earlier compilations of the same left on disk."""
    if not options.cache:
        return NO_CACHE
    # The order of a set is another in every process.
    passes, strategies = options.disabled_passes, options.disabled_strategies
    others = replace(
        options, disabled_passes=frozenset(), disabled_strategies=frozenset()
    )
    return open_cache(
        source,
        sorted(layouts.items(), key=lambda one: one[0]),
        sorted(passes),
        sorted(strategies),
        others,
    )


def specialise(query: Query, layouts: Mapping[str, Layout]) -> Query:
    """The query with what the layouts say of its inputs."""
    inputs = tuple(
        replace(one, disjoint=layouts[one.name].time is not TimeLayout.OVERLAPPING)
        for one in query.inputs
    )
    return replace(query, inputs=inputs)


def by_keys(query: Query) -> tuple[Query, ...]:
    """A query for each set of key columns that outputs have, in order of the outputs.

    Where keys differ, no loop can compute the outputs together.
    """
    if not any(one.keys for one in query.inputs):
        return (query,)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, keys in output_keys(query).items():
        groups.setdefault(keys, []).append(name)
    return tuple(only(query, tuple(names)) for names in groups.values())


def only(query: Query, outputs: tuple[str, ...]) -> Query:
    """The query of some outputs alone, with the definitions and inputs they need."""
    kept = drop_definitions(replace(query, outputs=outputs))
    read = {name for definition in kept.definitions for name in reads(definition)}
    inputs = tuple(one for one in kept.inputs if one.name in read)
    return replace(kept, inputs=inputs)


class Compiler(Guarded):
    """A query and the kernels for the layouts it has met, in memory."""

    def __init__(self, query: Query, options: CompileOptions | None = None) -> None:
        super().__init__()
        self.query = query
        self.options = options or CompileOptions()
        check_strategies(self.options.disabled_strategies)
        self._known: dict[LayoutKey, Specialised] = {}

    def specialised(self, layouts: Mapping[str, Layout]) -> Specialised:
        """The kernels for a combination of layouts."""
        key = frozenset(layouts.items())
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = Specialised(self.query, layouts, self.options)
                self._known[key] = found
            return found

    def kernels(self) -> frozenset[str]:
        """The kernels that runs have used so far, as the text of their loop IR."""
        with self._lock:
            known = tuple(self._known.values())
        codes = (code for specialised in known for code in specialised.codes())
        return frozenset(format_kernel(code.lowered.kernel) for code in codes)
