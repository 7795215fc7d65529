"""Durations as texts, like 1h30m: text formats have no type for them.

A number would be one of ticks to who reads it, and of the stamps' unit to who wrote it.
"""

import re

import pyarrow as pa

from tiltpy.types import NANOSECONDS, Unit, format_duration

_DURATION = re.compile(r"(-?)((?:\d+[a-z]+)+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_PART = re.compile(r"(\d+)([a-z]+)", re.ASCII)


def format_durations(durations: pa.Array) -> pa.Array:
    """Format durations in the coarsest units that hold them; nulls stay null."""
    encoded = durations.cast(pa.int64()).dictionary_encode()
    tick = NANOSECONDS[durations.type.unit]
    texts = [format_duration(each * tick) for each in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def parse_durations(texts: pa.ChunkedArray, unit: Unit) -> pa.ChunkedArray:
    """Parse texts like 1h30m as ticks of a unit; numbers are ticks already.

    Raises `pa.ArrowInvalid` if one is no duration of whole ticks.
    """
    encoded = texts.combine_chunks().dictionary_encode()
    ticks = [_parse(text, unit) for text in encoded.dictionary.to_pylist()]
    try:
        values = pa.array(ticks, pa.int64())
    except OverflowError:
        raise pa.ArrowInvalid("a duration beyond 64 bits") from None
    return pa.chunked_array([values.take(encoded.indices)])


def _parse(text: str, unit: Unit) -> int:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        if _INTEGER.fullmatch(text):
            return int(text)
        raise pa.ArrowInvalid("no duration")
    nanoseconds = 0
    for count, name in _PART.findall(found[2]):
        if name not in NANOSECONDS:
            raise pa.ArrowInvalid("no unit")
        nanoseconds += int(count) * NANOSECONDS[name]
    ticks, rest = divmod(nanoseconds, NANOSECONDS[unit])
    if rest:
        raise pa.ArrowInvalid("no whole ticks")
    return -ticks if found[1] else ticks
