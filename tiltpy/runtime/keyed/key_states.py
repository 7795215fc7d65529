"""The states of windows that fold on, for each key of a run in parts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.execution.call_states import CallStates, StateKinds, fresh_arrays
from tiltpy.runtime.execution.state_strings import StateStrings


class KeyStates:
    """State arrays of a kernel with an entry for each key, by its code."""

    def __init__(self, kinds: StateKinds) -> None:
        self.kinds = kinds
        self.strings = StateStrings()
        self._arrays = fresh_arrays(kinds, 0)

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        room = len(self._arrays[0])
        if codes > room:
            more = fresh_arrays(self.kinds, max(codes - room, room))
            pairs = zip(self._arrays, more, strict=True)
            self._arrays = [np.concatenate(pair) for pair in pairs]

    def of(self, codes: I64Array) -> CallStates:
        """Return the states of some keys, which calls change in place."""
        return CallStates(self.kinds, self._arrays, codes, self.strings)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        return {"arrays": self._arrays, "strings": self.strings.list_texts()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from saved states."""
        self._arrays = list(saved["arrays"])
        self.strings.restore(saved["strings"])
