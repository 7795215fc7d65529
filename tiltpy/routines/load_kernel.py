"""Kernels of loop IR that are no routines: their slots are filled as those of these."""

from functools import lru_cache

from tiltpy.codegen.cache.compile_cache import open_cache
from tiltpy.codegen.machine_code import LoadedCode, ObjectCode
from tiltpy.loops.nodes import LoopKernel

MOST_KERNELS = 256
"""Kernels that stay in memory, whoever still calls them."""


@lru_cache(maxsize=MOST_KERNELS)
def load_kernel(kernel: LoopKernel) -> LoadedCode:
    """Load the machine code of a kernel, which is compiled once on this disk."""

    def compile_kernel() -> ObjectCode:
        from tiltpy.codegen.jit import compile_object  # noqa: PLC0415 - late

        return compile_object(kernel)

    store = open_cache("loop", kernel)
    return LoadedCode(store.memoize("loop", ObjectCode, compile_kernel).value)
