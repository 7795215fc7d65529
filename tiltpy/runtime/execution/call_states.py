"""The states that kernel calls take over from earlier ones, and leave for later ones.

One call has the entry of a run without keys, or that of its key: the arrays outlive the
calls, which change them in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltpy.abi.signature import CONTROL, LEFT, Signature
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrays.views import address
from tiltpy.types import Scalar

StateKinds = tuple[tuple[str, Scalar], ...]
"""The names and types of a kernel's state arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class CallStates:
    """State arrays of a kernel whose states are `kinds`, with an entry for each call.

    That of call `k` is `entries[k]`, or `entries` where there is one call.
    """

    kinds: StateKinds
    arrays: Sequence[Array]
    entries: I64Array | int = 0

    @staticmethod
    def first(kinds: StateKinds) -> "CallStates":
        """Make the states before any call of one that has no keys."""
        return CallStates(kinds, fresh_arrays(kinds, 1))

    def of(self, calls: I64Array) -> "CallStates":
        """Select those of some calls."""
        assert not isinstance(self.entries, int)
        return replace(self, entries=self.entries[calls])

    def of_one(self, call: int) -> "CallStates":
        """Select those of one call."""
        assert not isinstance(self.entries, int)
        return replace(self, entries=int(self.entries[call]))

    def addresses(self, column: int) -> I64Array | int:
        """Find where each call's entry of an array is."""
        array = self.arrays[column]
        return address(array) + array.itemsize * self.entries

    def check(self, signature: Signature) -> None:
        """Check that they are those of a kernel, in the order of its query.

        Names are numbered among all variables, of which other layouts have others.
        """
        ours, theirs = (
            [(name == CONTROL, scalar) for name, scalar in kinds]
            for kinds in (self.kinds, signature.states)
        )
        assert ours == theirs, "other states than those before"


def fresh_arrays(kinds: StateKinds, count: int) -> list[Array]:
    """Make state arrays of entries that no call has written yet."""
    return [
        np.full(count, LEFT if name == CONTROL else 0, dtype_of(scalar))
        for name, scalar in kinds
    ]
