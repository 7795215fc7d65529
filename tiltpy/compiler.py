"""From a query to results: the stages in order.

    text or Python  -> frontend   -> Query             what is meant
    Query           -> specialise -> Query             + facts about this data's layouts
                    -> passes     -> Query             fused, folded, with boundaries
                    -> lowering   -> loops.Kernel      how it is computed, loop by loop
                    -> codegen    -> MachineCode       LLVM
    Arrow + code    -> runtime    -> Result            chunks, workers, Arrow

Nothing is compiled before data (or `explain`) says which layouts are needed; kernels
are kept for every combination of layouts that a query has met.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import Lattice, Layout, TimeLayout
from tiltpy.codegen.jit import MachineCode, compile_kernel
from tiltpy.ir.nodes import Query
from tiltpy.lowering.grid import lower_grid
from tiltpy.lowering.lower import Plan, lower, lower_samples
from tiltpy.passes.pipeline import optimize
from tiltpy.runtime.execute import Kernel

LayoutKey = tuple[tuple[str, Layout], ...]
LatticeKey = tuple[tuple[str, Lattice], ...]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile: nothing here changes results.

    `disabled_passes`: names of `passes.PASS_NAMES` to leave out. `special_shapes`:
    whether loops may take a more special shape than the general sweep. `optimize`:
    whether LLVM optimizes; without, compiling takes a fraction of the time and the code
    is slow, which suits very small data.
    """

    disabled_passes: frozenset[str] = frozenset()
    special_shapes: bool = True
    optimize: bool = True


class LazyCode:
    """The machine code of a plan, made when it is first run or looked at."""

    def __init__(
        self, plan: Plan, seconds: dict[str, float], *, optimize: bool
    ) -> None:
        self.plan = plan
        self._seconds = seconds
        self._optimize = optimize
        self._lock = Lock()
        self._code: MachineCode | None = None

    def code(self) -> MachineCode:
        """The machine code."""
        with self._lock:
            if self._code is None:
                self._code = compile_kernel(self.plan.kernel, optimize=self._optimize)
                for stage, seconds in self._code.seconds.items():
                    self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
            return self._code

    def run(self, slots: NDArray[np.int64]) -> None:
        """Execute it over an argument array (see `abi`)."""
        (self._code or self.code()).run(slots)

    def kernel(self) -> Kernel:
        """As the runtime calls it."""
        return Kernel(self.plan.signature, self)


class Specialised:
    """A query lowered for one combination of layouts; compiled as far as needed.

    `general_code` serves any rows of these layouts, `samples_code`, where there is one,
    stretches that are sampled without a gap. `seconds` says how long the stages took.
    """

    def __init__(
        self, source: Query, layouts: Mapping[str, Layout], options: CompileOptions
    ) -> None:
        self.layouts = layouts
        began = time.perf_counter()
        self.stages = optimize(specialise(source, layouts), options.disabled_passes)
        passed = time.perf_counter()
        self.query = self.stages[-1][1]
        self._options = options
        self._lock = Lock()
        self.grid_code: dict[LatticeKey, LazyCode | None] = {}
        """The kernels for regular rows, for each combination of lattices met."""
        special = options.special_shapes
        general = lower(self.query, layouts, maps=special)
        samples = lower_samples(self.query, layouts) if special else None
        lowered = time.perf_counter()
        self.seconds = {"passes": passed - began, "lowering": lowered - passed}

        self.general_code = self._lazy(general)
        self.samples_code = None if samples is None else self._lazy(samples)

    def _lazy(self, plan: Plan) -> LazyCode:
        return LazyCode(plan, self.seconds, optimize=self._options.optimize)

    def general(self) -> Kernel:
        """The kernel for any rows of these layouts."""
        return self.general_code.kernel()

    def samples(self) -> Kernel | None:
        """The kernel for stretches that are sampled without a gap, if there is one."""
        return None if self.samples_code is None else self.samples_code.kernel()


    def grid(self, lattices: Mapping[str, Lattice]) -> Kernel | None:
        """The kernel that visits every grid point of inputs on these lattices.

        None where the query has no such form, or special shapes are not wanted.
        """
        if not self._options.special_shapes:
            return None
        key = tuple(sorted(lattices.items(), key=lambda item: item[0]))
        with self._lock:
            if key not in self.grid_code:
                began = time.perf_counter()
                fused = "fuse_operators" not in self._options.disabled_passes
                plan = lower_grid(self.query, self.layouts, lattices, fused=fused)
                self.seconds["lowering"] += time.perf_counter() - began
                self.grid_code[key] = None if plan is None else self._lazy(plan)
            code = self.grid_code[key]
        return None if code is None else code.kernel()


def specialise(query: Query, layouts: Mapping[str, Layout]) -> Query:
    """The query with what the layouts say of its inputs."""
    inputs = tuple(
        replace(one, disjoint=layouts[one.name].time is not TimeLayout.OVERLAPPING)
        for one in query.inputs
    )
    return replace(query, inputs=inputs)


class Compiler:
    """A query and the kernels for the layouts it has met, in memory."""

    def __init__(self, query: Query, options: CompileOptions | None = None) -> None:
        self.query = query
        self.options = options or CompileOptions()
        self._known: dict[LayoutKey, Specialised] = {}
        self._lock = Lock()

    def specialised(self, layouts: Mapping[str, Layout]) -> Specialised:
        """The kernels for a combination of layouts."""
        key = tuple(sorted(layouts.items(), key=lambda item: item[0]))
        with self._lock:
            if key not in self._known:
                self._known[key] = Specialised(self.query, layouts, self.options)
            return self._known[key]
