"""The keys of an output that a picture shows, and their rows.

A picture has room for few keys. Where there are more, the first are drawn, or those
that its user chooses: by values of the key columns, tuples of them where there are
several, or the texts of legends.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass
from tiltpy.plot.series import FEW_KEYS, MOST_KEYS, MOST_MULTIPLES, KeyStyle
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrow.display import PHI, format_values
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.results.key_columns import KeyColumns


@dataclass(frozen=True, slots=True)
class PlottedKey:
    """The text of a key, and its rows in a table in order of key."""

    key: str
    rows: slice


@dataclass(frozen=True, slots=True)
class KeyCount:
    """Numbers of keys of an output: drawn ones, all, and names of the first."""

    name: str
    drawn: int
    total: int
    first: tuple[str, ...]


class KeySelection:
    """The keys that are drawn: the first, or those chosen; tracks which are missing."""

    def __init__(self, wanted: Sequence[object] | None) -> None:
        self._wanted = None if wanted is None else list(wanted)
        self._missing = dict.fromkeys(range(len(self._wanted or ())))
        self._counts: dict[str, KeyCount] = {}
        self._examples: dict[str, None] = {}

    def of(self, name: str, columns: KeyColumns) -> list[PlottedKey]:
        """Choose the keys of an output to draw."""
        keys = columns.keys
        offsets = columns.offsets()
        drawn = np.flatnonzero(np.diff(offsets))
        if self._wanted is not None:
            examples = (_format_key(keys, key) for key in drawn[:3].tolist())
            self._examples |= dict.fromkeys(examples)
            drawn = drawn[np.isin(drawn, self._numbers(keys))]
        total = len(drawn)
        if self._wanted is None:
            drawn = drawn[:MOST_MULTIPLES]
        plotted = [
            PlottedKey(_format_key(keys, key), slice(offsets[key], offsets[key + 1]))
            for key in drawn.tolist()
        ]
        first = tuple(each.key for each in plotted[:2])
        self._counts[name] = KeyCount(name, len(drawn), total, first)
        return plotted

    def choose_style(self, style: KeyStyle | None) -> KeyStyle:
        """Choose between lines and panels; `TiltError` if they are too many for lines.

        `style` is what the caller asks for, None for what suits the number of keys.
        """
        counts = sorted(self._counts.values(), key=lambda count: -count.total)
        largest = counts[0].total if counts else 0
        if style is None:
            return "lines" if largest <= FEW_KEYS else "panels"
        if style == "lines" and largest > MOST_KEYS:
            first = ", ".join(map(repr, counts[0].first))
            raise TiltError(
                f"output '{counts[0].name}' has snapshots of {largest:,} keys, and a "
                f"panel shows {MOST_KEYS} lines at most; choose some: "
                f"plot(keys=[{first}, ...]), or --key on the command line, or draw "
                "them with by_key='panels'"
            )
        return style

    def notes(self) -> tuple[str, ...]:
        """Say which outputs have more keys than are drawn, and how to choose."""
        return tuple(
            f"~{count.name}: the first {count.drawn} of {count.total:,} keys; choose "
            f"with keys=[{count.first[0]!r}, ...] or --key"
            for count in self._counts.values()
            if count.drawn < count.total
        )

    def check(self) -> None:
        """Raise a `TiltError` for a chosen key that no output has."""
        for number in self._missing:
            assert self._wanted is not None
            listed = ", ".join(map(repr, self._examples)) or "none"
            raise TiltError(
                f"no output has the key {self._wanted[number]!r}; the first are "
                f"{listed}; values of several columns are a tuple in Python, and have "
                "commas between them on the command line"
            )

    def _numbers(self, keys: Keys) -> I64Array:
        """Find the numbers of the chosen keys among those of an output."""
        numbers = [np.zeros(0, np.int64)]
        for number, wanted in enumerate(self._wanted or ()):
            values = wanted if isinstance(wanted, tuple) else (wanted,)
            if len(values) == len(keys.columns):
                numbers.append(_match_keys(keys, values))
                if len(numbers[-1]):
                    self._missing.pop(number, None)
        return np.concatenate(numbers)


def _match_keys(keys: Keys, values: Sequence[object]) -> I64Array:
    """Find the numbers of the keys with these values, or texts of values."""
    same = np.ones(len(keys), np.bool_)
    for column, value in zip(keys.columns, values, strict=True):
        text = value if isinstance(value, str) else _format_value(value, column.type)
        texts = column.cast(pa.string())
        equal = pc.fill_null(pc.equal(texts, text), text == PHI)
        same &= equal.to_numpy(zero_copy_only=False)
    return np.flatnonzero(same)


def _format_value(value: object, kind: pa.DataType) -> str:
    """Format a value of a key column, or any other by `str`."""
    try:
        (text,) = format_values(pa.chunked_array([pa.array([value], kind)]))
    except (pa.ArrowException, TypeError, ValueError):
        return str(value)
    return text


def _format_key(keys: Keys, key: int) -> str:
    slices = (pa.chunked_array([column.slice(key, 1)]) for column in keys.columns)
    return ", ".join(text for column in slices for text in format_values(column))
