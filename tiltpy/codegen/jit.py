"""LLVM IR to machine code.

The target machine is given to the pass builder, or LLVM has no cost model and
vectorises nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.drivers import DRIVERS
from tiltpy.codegen.llvm.module import emit_module
from tiltpy.codegen.llvm.packing import choose_pack_method
from tiltpy.codegen.machine_code import Effort, MachineCode, ObjectCode, host
from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.forks import ForkSafe
from tiltpy.loops.nodes import LoopKernel, has_loop

# Of NewGVN: it took a value of the round before for one of this round's, and so a
# snapshot was cut in two (`test_sweeps`).
llvm.set_option("tiltpy", "-enable-phi-of-ops=false")


def _machine(level: int) -> llvm.TargetMachine:
    return llvm.Target.from_triple(host().triple).create_target_machine(
        cpu=host().cpu,
        features=host().features,
        opt=level,
        reloc="default",
        codemodel="jitdefault",
    )


class _PassBuilder(ForkSafe):
    """LLVM's pass builder, replaced after `RUNS` kernels.

    llvmlite never frees the pass counters of a builder (1.5 KiB), and each run adds to
    them: so neither a builder for every kernel, nor one for all. The passes of a kernel
    must be closed by hand, too.
    """

    RUNS = 128

    def __init__(self) -> None:
        super().__init__()
        self._runs = 0
        self._builder: llvm.PassBuilder | None = None

    def run(self, module: llvm.ModuleRef, effort: Effort) -> None:
        """Optimize a module in place."""
        with self._lock:
            if self._builder is None or self._runs == self.RUNS:
                self._builder, self._runs = _make_builder(), 0
            self._runs += 1
            passes = _passes(self._builder, effort)
            passes.run(module, self._builder)
            # What `close` should do, but does nothing in the releases known so far.
            ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
            passes.detach()


def _make_builder() -> llvm.PassBuilder:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    # Unrolled scans cost loop strength reduction seconds and gain nothing.
    options.loop_unrolling = False
    return llvm.create_pass_builder(_machine(level=3), options)


def _passes(builder: llvm.PassBuilder, effort: Effort) -> llvm.ModulePassManager:
    if effort is Effort.FULL:
        return builder.getModulePassManager()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    if effort is not Effort.REGISTERS:
        passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    if effort is Effort.LANES:
        passes.add_new_gvn_pass()
    return passes


_PASS_BUILDER = _PassBuilder()


class _StrengthReduction(ForkSafe):
    """Loop strength reduction, which is off while the code of kernels is generated.

    It would take a third of that time and more, and kernels are no faster for it: the
    machine's addresses have an index. The switch is that of the process, where others
    may use LLVM too (Numba does): after the last kernel it is on again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kernels = 0

    def after_fork(self) -> None:
        """Forget the parent's kernels: nobody generates code in a child so far."""
        super().after_fork()
        if self._kernels:
            self._count(-self._kernels)

    @contextmanager
    def off(self) -> Iterator[None]:
        """Switch it off for what is generated in here, in any number of threads."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            before, self._kernels = self._kernels, self._kernels + change
            if 0 in (before, self._kernels):
                llvm.set_option("tiltpy", f"-disable-lsr={str(change > 0).lower()}")


_STRENGTH_REDUCTION = _StrengthReduction()


def _optimize(text: str, machine: llvm.TargetMachine, effort: Effort) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    if effort is not Effort.NONE:
        _PASS_BUILDER.run(module, effort)
    return module


def _emit(kernel: LoopKernel) -> str:
    target = host()
    return emit_module(
        kernel,
        packing=choose_pack_method(target.features),
        registers=target.vector_registers,
        fuses="x86" not in target.triple or "+fma" in target.features,
        converts="x86" not in target.triple or "+avx512dq" in target.features,
    )


def _choose_effort(
    kernel: LoopKernel, text: str, costs: Costs, *, quick: bool
) -> tuple[Effort, int]:
    """Choose how much to optimize a kernel whose LLVM IR is `text`.

    Returns the passes, and the level at which its instructions are selected.
    """
    lines = text.count("\n")
    if quick and lines > costs.quick_lines:
        return Effort.REGISTERS, 0
    level = 0 if lines > costs.optimized_lines else 3
    if f"<{LANES} x " in text:  # a vector of lanes
        return Effort.SCALAR if lines > costs.shared_lines else Effort.LANES, level
    counted = has_loop(kernel.body, counted=True)
    return Effort.FULL if counted else Effort.SCALAR, level


def compile_object(
    kernel: LoopKernel,
    *,
    optimize: bool = True,
    costs: Costs = DEFAULT_COSTS,
    quick: bool = False,
) -> ObjectCode:
    """Compile a kernel for this machine.

    Of a long one that is `quick` the instructions are selected fast, and run slower.
    """
    began = time.perf_counter()
    text = _emit(kernel)
    emitted = time.perf_counter()
    effort, level = Effort.NONE, 0
    if optimize:
        effort, level = _choose_effort(kernel, text, costs, quick=quick)
    code, seconds = generate(text, effort, level)
    return ObjectCode(code, effort, {"emit LLVM IR": emitted - began} | seconds, level)


def generate(text: str, effort: Effort, level: int) -> tuple[bytes, dict[str, float]]:
    """Generate the machine code of LLVM IR, and the seconds of both steps.

    All that decides the code is in the arguments, but for this machine (see `host`).
    """
    began = time.perf_counter()
    machine = _machine(level)
    module = _optimize(text, machine, effort)
    optimized = time.perf_counter()
    with _STRENGTH_REDUCTION.off():
        code: bytes = machine.emit_object(module)
    generated = time.perf_counter()
    return code, {"optimize": optimized - began, "machine code": generated - optimized}


def format_optimized(kernel: LoopKernel, code: MachineCode) -> str:
    """Format the LLVM IR of a kernel after optimization, as its code was made."""
    module, _ = _optimize_again(kernel, code)
    return str(module)


def format_assembly(kernel: LoopKernel, code: MachineCode) -> str:
    """Format the machine code of a kernel."""
    module, machine = _optimize_again(kernel, code)
    with _STRENGTH_REDUCTION.off():
        return str(machine.emit_assembly(module))


def _optimize_again(
    kernel: LoopKernel, code: MachineCode
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    machine = _machine(code.level)
    return _optimize(_emit(kernel), machine, code.effort), machine


def compile_drivers() -> bytes:
    """Compile the loops over calls for this machine."""
    effort = Effort.NONE
    machine = _machine(0)
    code: bytes = machine.emit_object(_optimize(DRIVERS, machine, effort))
    return code
