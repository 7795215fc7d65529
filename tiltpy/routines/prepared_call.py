"""Calls of a routine that share their arrays: few bytes change from call to call."""

import numpy as np

from tiltpy.array_address import address
from tiltpy.codegen.machine_code import NEVER
from tiltpy.routines.routine import Argument, Routine, find_slot


class PreparedCall:
    """A routine with its arguments, of which the first are numbers.

    A call takes microseconds less than one that looks for the addresses of arrays. The
    arrays stay as long as it does.
    """

    def __init__(self, routine: Routine, *arguments: Argument) -> None:
        self._arguments = arguments
        self._slots = np.array([*map(find_slot, arguments)], np.int64)
        self.numbers = self._slots.data
        """The arguments as numbers, which calls write back to."""
        self._address = address(self._slots)
        self._call = routine.load().call

    def __call__(self, *numbers: int) -> None:
        """Call it with other numbers; what it writes back replaces them."""
        for slot, number in enumerate(numbers):
            self.numbers[slot] = number
        self._call(self._address, NEVER)
