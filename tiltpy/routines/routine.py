"""Routines: kernels of loop IR with an argument for each slot, called from Python."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.array_address import address
from tiltpy.codegen.cache.compile_cache import open_cache
from tiltpy.codegen.machine_code import NEVER, LoadedCode, ObjectCode
from tiltpy.lean_dataclass import dataclass

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
        numbers = [a if a.__class__ is int else find_slot(a) for a in arguments]
        slots = np.array(numbers, np.int64)
        self.load().call(address(slots), stop)

    def load(self) -> LoadedCode:
        """Load its machine code, which is compiled at the first call on this disk."""
        return _load(self.name)


def find_slot(argument: Argument) -> int:
    """Find what stands for an argument: its number, or the address of its array."""
    if isinstance(argument, int):
        return argument
    assert argument.flags.c_contiguous
    return address(argument)


@cache
def _load(name: str) -> LoadedCode:
    """Load the machine code of a routine, from disk if it has been compiled before."""

    def compile_routine() -> ObjectCode:
        from tiltpy.codegen.jit import compile_object  # noqa: PLC0415 - late
        from tiltpy.routines.kernels.builders import BUILDERS  # noqa: PLC0415 - late

        return compile_object(BUILDERS[name]())

    store = open_cache("routine")
    return LoadedCode(store.memoize(name, ObjectCode, compile_routine).value)
