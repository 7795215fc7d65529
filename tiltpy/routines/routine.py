"""Routines: kernels of loop IR with an argument for each slot, called from Python."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.codegen.cache.compile_cache import open_cache
from tiltpy.codegen.machine_code import NEVER, LoadedCode, ObjectCode

Argument = int | NDArray[Any]
"""A number, or an array whose address is passed."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A routine by the name of its kernel."""

    name: str

    def __call__(self, *arguments: Argument, stop: int = NEVER) -> None:
        """Call it, without holding the GIL; it ends early if the flag at `stop` is set.

        Each array is contiguous, and of the type that its argument has.
        """
        slots = np.array([_slot(each) for each in arguments], np.int64)
        _load(self.name).call(slots.ctypes.data, stop)


def _slot(argument: Argument) -> int:
    if isinstance(argument, int):
        return argument
    assert argument.flags.c_contiguous
    return argument.ctypes.data


@cache
def _load(name: str) -> LoadedCode:
    """Load the machine code of a routine, from disk if it has been compiled before."""

    def compile_routine() -> ObjectCode:
        from tiltpy.codegen.jit import compile_object  # noqa: PLC0415 - late
        from tiltpy.routines.kernels.builders import BUILDERS  # noqa: PLC0415 - late

        return compile_object(BUILDERS[name]())

    store = open_cache("routine")
    return LoadedCode(store.memoize(name, ObjectCode, compile_routine).value)
