"""Machine code in memory: one execution engine per kernel, freed with it.

Kernels are called through ctypes, which releases the GIL. `jit.py` compiles what is
loaded here.
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from functools import cache, partial

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tiltpy.lean_dataclass import dataclass

# A process forks between two calls of LLVM, whose state is whole then, and not locked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=ffi.lib._lock.__enter__,  # noqa: SLF001
        after_in_child=ffi.lib._lock.__exit__,  # noqa: SLF001
        after_in_parent=ffi.lib._lock.__exit__,  # noqa: SLF001
    )


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that code is generated for."""

    triple: str
    cpu: str
    features: str

    @property
    def vector_registers(self) -> int:
        """The bytes of all vector registers; those of AVX and of NEON have as many."""
        return 32 * 64 if "+avx512f" in self.features else 16 * 32


@cache
def host() -> Target:
    """Describe this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


class Effort(Enum):
    """The passes of LLVM that a kernel goes through.

    Only counted loops over single values vectorise and are worth all of its passes. A
    sweep runs as fast after the few that put variables into registers, and compiles in
    a third of the time; so do explicit lanes once what they compute twice is shared.
    Where instructions are selected fast, combining them first gains nothing.
    """

    NONE = "none"
    REGISTERS = "registers"
    SCALAR = "scalar"
    LANES = "lanes"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """A kernel compiled for this machine: relocatable code, which can be kept."""

    code: bytes = field(repr=False)
    effort: Effort
    seconds: dict[str, float]
    """Of the stages of compiling it."""
    level: int = 3
    """At which its instructions were selected."""


_FLAG = ctypes.c_int64(0)
NEVER = ctypes.addressof(_FLAG)
"""The address of a stop flag that is never set."""


class Drivers:
    """The loops over calls of kernels, in memory (see `drivers`)."""

    def __init__(self, code: bytes) -> None:
        self._engine = _load(code)
        address = self._engine.get_function_address
        self.call_many: Callable[[int, int, int, int], object] = _CALL_MANY(
            address("call_many")
        )
        self.call_appending: Callable[[int, int, int, int, int, int, int], object] = (
            _CALL_APPENDING(address("call_appending"))
        )


class LoadedCode:
    """A compiled kernel in memory, to be called without holding the GIL.

    It lies at `address`, and `call(slots, stop)` executes it over the argument array at
    an address (see `abi`), but ends early when the flag at the address `stop` is set.
    """

    def __init__(self, code: ObjectCode) -> None:
        self._engine = _load(code.code)
        self.address: int = self._engine.get_function_address("kernel")
        self.call: Callable[[int, int], object] = _CALL(self.address)
        # Who calls it may hold nothing else of this code, which would go meanwhile.
        vars(self.call)["engine"] = self._engine


class MachineCode(LoadedCode):
    """A compiled kernel of a query.

    `call_many` and `call_appending` make many calls, and end early like `call` (see
    `drivers`).
    """

    def __init__(self, code: ObjectCode, drivers: Drivers) -> None:
        super().__init__(code)
        self.effort = code.effort
        self.level = code.level
        self._drivers = drivers  # whose code goes with them
        self.call_many = drivers.call_many
        self.call_appending: Callable[[int, int, int, int, int, int], object] = partial(
            drivers.call_appending, self.address
        )


_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_CALL_MANY = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)
_CALL_APPENDING = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
)


def _load(code: bytes) -> llvm.ExecutionEngine:
    """Load relocatable code into an engine that holds nothing else."""
    machine = llvm.Target.from_triple(host().triple).create_target_machine()
    empty = llvm.parse_assembly("")
    engine = llvm.create_mcjit_compiler(empty, machine)
    # An engine is made with a module; to generate the code of nothing takes a while.
    engine.remove_module(empty)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
