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
from threading import Lock, RLock

from tiltpy.abi import Layout, TimeLayout
from tiltpy.codegen.jit import MachineCode, compile_kernel
from tiltpy.ir.nodes import Query
from tiltpy.lowering.lower import Plan, lower, lower_samples
from tiltpy.passes.pipeline import optimize
from tiltpy.runtime.execute import Kernel

LayoutKey = tuple[tuple[str, Layout], ...]


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


class Specialised:
    """A query compiled for one combination of layouts; kernels are made when needed."""

    def __init__(
        self, source: Query, layouts: Mapping[str, Layout], options: CompileOptions
    ) -> None:
        self.options = options
        self.layouts = layouts
        began = time.perf_counter()
        self.stages = optimize(specialise(source, layouts), options.disabled_passes)
        self.seconds = {"passes": time.perf_counter() - began}
        self.query = self.stages[-1][1]
        self._lock = RLock()
        self._general: tuple[Plan, MachineCode] | None = None
        self._samples: tuple[Plan, MachineCode] | None = None
        self._tried_samples = False

    def plan(self) -> Plan:
        """The general kernel in loop IR."""
        return lower(self.query, self.layouts, maps=self.options.special_shapes)

    def sample_plan(self) -> Plan | None:
        """The kernel for gapless samples in loop IR, if there is one."""
        if not self.options.special_shapes:
            return None
        return lower_samples(self.query, self.layouts)

    def general_code(self) -> tuple[Plan, MachineCode]:
        """The general kernel, compiled."""
        with self._lock:
            if self._general is None:
                began = time.perf_counter()
                plan = self.plan()
                self.seconds["lowering"] = time.perf_counter() - began
                self._general = plan, self._compile(plan)
            return self._general

    def samples_code(self) -> tuple[Plan, MachineCode] | None:
        """The kernel for gapless samples, compiled."""
        with self._lock:
            if not self._tried_samples:
                self._tried_samples = True
                plan = self.sample_plan()
                if plan is not None:
                    self._samples = plan, self._compile(plan)
            return self._samples

    def _compile(self, plan: Plan) -> MachineCode:
        code = compile_kernel(plan.kernel, optimize=self.options.optimize)
        for stage, seconds in code.seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        return code

    def general(self) -> Kernel:
        """The kernel for any rows of these layouts."""
        plan, code = self.general_code()
        return Kernel(plan.signature, code)

    def samples(self) -> Kernel | None:
        """The kernel for stretches that are sampled without a gap, if there is one."""
        found = self.samples_code()
        return found and Kernel(found[0].signature, found[1])


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
