"""Machine code of a kernel that is read from disk or compiled at its first use."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from tiltpy.abi.signature import Signature
from tiltpy.codegen.cache.compile_cache import NO_CACHE, CompileCache, open_cache
from tiltpy.codegen.machine_code import Drivers, MachineCode, ObjectCode
from tiltpy.compiler.options import CompileOptions
from tiltpy.forks import ForkSafe
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.kernel import Kernel

if TYPE_CHECKING:
    from tiltpy.lowering.lowered import LoweredKernel


@cache
def _drivers(*, stored: bool) -> Drivers:
    """Load the loops over calls, which all kernels share."""
    store = open_cache("drivers") if stored else NO_CACHE
    return Drivers(store.memoize("drivers", bytes, _compile_drivers).value)


def _compile_drivers() -> bytes:
    from tiltpy.codegen.jit import compile_drivers  # noqa: PLC0415 - late

    return compile_drivers()


class LazyCode(ForkSafe):
    """A kernel's machine code: read from disk, or compiled when first run or printed.

    `lower` returns its loop IR, which is lowered again if only the code was stored. A
    `quick` one is for few rows: it had better be compiled soon.
    """

    def __init__(
        self,
        name: str,
        signature: Signature,
        lower: "Callable[[], LoweredKernel]",
        store: CompileCache,
        options: CompileOptions,
        *,
        quick: bool = False,
    ) -> None:
        super().__init__()
        self.signature = signature
        self.lower = lower
        self.seconds: dict[str, float] = {}
        self._name = f"{name} {signature}"  # only code of the same slots fits
        self._store = store
        self._options = options
        self._quick = quick
        self._code: MachineCode | None = None

    @property
    def is_made(self) -> bool:
        """Return whether its machine code is there."""
        return self._code is not None

    def code(self) -> MachineCode:
        """Load the machine code, or compile it."""
        with self._lock:
            if self._code is None:
                made = self._store.memoize(self._name, ObjectCode, self._compile).value
                self.seconds = made.seconds
                drivers = _drivers(stored=self._store is not NO_CACHE)
                self._code = MachineCode(made, drivers)
            return self._code

    def _compile(self) -> ObjectCode:
        from tiltpy.codegen.jit import compile_object  # noqa: PLC0415 - late

        lowered = self.lower()
        assert lowered.signature == self.signature, "lowering is not deterministic"
        optimize, costs = self._options.optimize, self._options.costs
        make = partial(
            compile_object,
            lowered.kernel,
            optimize=optimize,
            costs=costs,
            quick=self._quick,
        )
        return offload(make)

    def kernel(self) -> Kernel:
        """Return the kernel as the runtime calls it."""
        return Kernel(self.signature, self)
