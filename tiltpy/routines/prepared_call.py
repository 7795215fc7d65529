"""Calls of a routine that share their arrays: few bytes change from call to call."""

from struct import Struct

import numpy as np

from tiltpy.array_address import address
from tiltpy.codegen.machine_code import NEVER
from tiltpy.routines.routine import Argument, Routine, find_slot

MOST_ARGUMENTS = 20
"""Arguments that a call may have other ones of."""
_FORMS = [Struct(f"={count}q") for count in range(MOST_ARGUMENTS + 1)]
"""Some numbers in slots, by how many they are."""


class PreparedCall:
    """A routine with its arguments, of which the first are numbers.

    A call takes microseconds less than one that looks for the addresses of arrays. The
    arrays stay as long as it does, and may be others for a call.
    """

    @staticmethod
    def of(routine: Routine, count: int) -> "PreparedCall":
        """Prepare a routine with so many arguments, all of which calls are given."""
        return PreparedCall(routine, *[0] * count)

    def __init__(self, routine: Routine, *arguments: Argument) -> None:
        self._arguments = arguments
        self._slots = np.array([*map(find_slot, arguments)], np.int64)
        self.numbers = self._slots.data
        """The arguments as numbers, which calls write back to."""
        self._address = address(self._slots)
        self._call = routine.load().call

    def __call__(self, *arguments: Argument) -> tuple[int, ...]:
        """Call it with other first arguments; returns what it writes back for them."""
        numbers = [a if isinstance(a, int) else address(a) for a in arguments]
        form = _FORMS[len(numbers)]
        form.pack_into(self.numbers, 0, *numbers)
        self._call(self._address, NEVER)
        return form.unpack_from(self.numbers)
