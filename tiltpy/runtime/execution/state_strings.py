"""Strings among the states of calls, which outlive the dictionaries of evaluations.

Between evaluations a state has a code of a dictionary that only grows, but is written
anew where most of its strings have left all states. An evaluation takes the strings of
the states that it touches into its own dictionary.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi.signature import NO_STRING
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import Vocabulary, encode
from tiltpy.types import STRING

CodeArray = NDArray[np.int32]
_STATES = ""
"""The name of the rows of states, which no input has."""
_LEAST_STRINGS = 1024


class StateStrings:
    """The strings of state arrays by their codes there."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._codes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def list_texts(self) -> list[str]:
        """List the strings in the order of their codes."""
        return list(self._texts)

    def restore(self, texts: Sequence[str]) -> None:
        """Take over strings in the order of their codes."""
        self._texts = list(texts)
        self._codes = {text: code for code, text in enumerate(texts)}

    def encode(
        self,
        vocabulary: Vocabulary,
        rows: Mapping[str, SnapshotBuffer],
        arrays: Sequence[CodeArray],
        entries: I64Array,
    ) -> tuple[Mapping[str, SnapshotBuffer], Strings]:
        """Encode rows and some entries of state arrays with one dictionary.

        The arrays are changed in place.
        """
        columns = self._columns(arrays, entries)
        states = {_STATES: SnapshotBuffer.empty(STRING).with_columns(columns)}
        coded, strings = encode(vocabulary, {**rows, **states})
        for array, column in zip(arrays, coded[_STATES].columns, strict=True):
            codes = column.values.view(np.int32)[: len(entries)]
            array[entries] = np.where(array[entries] == NO_STRING, NO_STRING, codes)
        return {name: coded[name] for name in rows}, strings

    def _columns(
        self, arrays: Sequence[CodeArray], entries: I64Array
    ) -> tuple[Column, ...]:
        """Make columns of the arrays' entries."""
        codes = np.stack([array[entries] for array in arrays])
        used, places = np.unique(codes, return_inverse=True)
        strings = Strings.of([self._texts[c] for c in used if c != NO_STRING])
        places = np.minimum(places.reshape(codes.shape), len(strings) - 1)
        return tuple(Column(row, strings=strings) for row in places.astype(np.int32))

    def keep(
        self, strings: Strings, arrays: Sequence[CodeArray], entries: I64Array
    ) -> None:
        """Take over the strings that an evaluation with `strings` has left."""
        for array in arrays:
            codes = array[entries]
            known = codes < len(strings)
            used, places = np.unique(codes[known], return_inverse=True)
            texts = strings.values.take(pa.array(used)).to_pylist()
            ours = np.array([self._code(text) for text in texts], np.int32)
            codes[:] = NO_STRING
            codes[known] = ours[places]
            array[entries] = codes
        if len(self._texts) > _LEAST_STRINGS + 2 * sum(map(len, arrays)):
            self._forget(arrays)

    def _code(self, text: str) -> int:
        code = self._codes.setdefault(text, len(self._texts))
        if code == len(self._texts):
            self._texts.append(text)
        return code

    def _forget(self, arrays: Sequence[CodeArray]) -> None:
        """Forget the strings that no state has."""
        used = distinct(np.concatenate(arrays))
        used = used[used != NO_STRING]
        for array in arrays:
            array[:] = np.where(array == NO_STRING, NO_STRING, used.searchsorted(array))
        self._texts = [self._texts[code] for code in used]
        self._codes = {text: code for code, text in enumerate(self._texts)}
