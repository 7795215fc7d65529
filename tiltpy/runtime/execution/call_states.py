"""The states that kernel calls take over from earlier ones, and leave for later ones.

One call has the entry of a run without keys, or that of its key: the arrays outlive the
calls, which change them in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from tiltpy.abi.signature import CONTROL, LEFT, NO_STRING, Signature
from tiltpy.array_address import address
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import Vocabulary, encode
from tiltpy.runtime.execution.state_strings import CodeArray, StateStrings
from tiltpy.types import STRING, Scalar

StateKinds = tuple[tuple[str, Scalar], ...]
"""The names and types of a kernel's state arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class CallStates:
    """State arrays of a kernel whose states are `kinds`, with an entry for each call.

    That of call `k` is `entries[k]`, or `entries` where there is one call. `strings`
    are those of all entries.
    """

    kinds: StateKinds
    arrays: Sequence[Array]
    entries: I64Array | int = 0
    strings: StateStrings = field(default_factory=StateStrings)

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

    def encode(
        self, vocabulary: Vocabulary, rows: Mapping[str, SnapshotBuffer]
    ) -> tuple[Mapping[str, SnapshotBuffer], Strings]:
        """Encode the rows of inputs with one dictionary for these states, too."""
        arrays = self._string_arrays()
        if not arrays:
            return encode(vocabulary, rows)
        return self.strings.encode(vocabulary, rows, arrays, self._every_entry())

    def keep(self, strings: Strings) -> None:
        """Keep the strings of an evaluation, which `encode` began."""
        arrays = self._string_arrays()
        if arrays:
            self.strings.keep(strings, arrays, self._every_entry())

    def _string_arrays(self) -> list[CodeArray]:
        pairs = zip(self.kinds, self.arrays, strict=True)
        return [a.view(np.int32) for (_, scalar), a in pairs if scalar == STRING]

    def _every_entry(self) -> I64Array:
        return np.atleast_1d(np.asarray(self.entries))

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


def encode_rows(
    vocabulary: Vocabulary,
    rows: Mapping[str, SnapshotBuffer],
    states: CallStates | None,
) -> tuple[Mapping[str, SnapshotBuffer], Strings]:
    """Encode the rows of inputs, and the states that there are, with one dictionary."""
    if states is None:
        return encode(vocabulary, rows)
    return states.encode(vocabulary, rows)


def fresh_arrays(kinds: StateKinds, count: int) -> list[Array]:
    """Make state arrays of entries that no call has written yet."""
    return [np.full(count, _first(*kind), dtype_of(kind[1])) for kind in kinds]


def _first(name: str, scalar: Scalar) -> int:
    if name == CONTROL:
        return LEFT
    return NO_STRING if scalar == STRING else 0
