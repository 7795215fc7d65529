"""Times in text, as Arrow writes them, whose years have 16 bits.

Beyond those years it writes other times where there is a zone, and else that the value
is out of range.
"""

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.runtime.arrays.views import integers_of
from tiltpy.runtime.arrow.timestamps import stamp_type
from tiltpy.types import NANOSECONDS

_FIRST, _LAST = (
    int(np.datetime64(date, "s").astype(np.int64))
    for date in ("-32767-01-02", "32767-12-31")
)
"""Seconds from 1970 between which times have a text, in whatever zone."""


def check_texts(times: pa.Array) -> None:
    """Refuse times that have no text, by an error of Arrow: who writes names the file.

    `times` are timestamps or dates.
    """
    if not _all_have_texts(times) and not pc.all(_have_texts(times)).as_py():
        raise pa.ArrowInvalid(
            "a time beyond the year 32767 has no text; write Parquet or Arrow, or mend "
            "the unit of the times"
        )


def write_times(times: pa.Array) -> pa.Array:
    """Write times as text; those that have none as a count of their unit."""
    texts = times.cast(pa.string())
    kind = times.type
    if not pa.types.is_timestamp(kind) or kind.tz is None or _all_have_texts(times):
        return texts
    counts = times.view(pa.timestamp(kind.unit)).cast(pa.string())
    return pc.if_else(_have_texts(times), texts, counts)


def _all_have_texts(times: pa.Array) -> bool:
    """Tell whether all times have texts, and what stands in the place of nulls."""
    counts, (first, last) = integers_of(times), _bounds(times.type)
    return not len(counts) or (first <= counts.min() and counts.max() <= last)


def _have_texts(times: pa.Array) -> pa.Array:
    """Tell of each time whether it has a text."""
    first, last = _bounds(times.type)
    counts = integers_of(times)
    inside = (counts >= first) & (counts <= last)
    return pc.fill_null(pc.if_else(times.is_null(), None, pa.array(inside)), True)


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    """Find the first and the last time of a type that have texts."""
    stamp = stamp_type(kind)
    assert stamp is not None
    assert stamp.unit is not None
    size = NANOSECONDS[stamp.unit]
    first, last = (time * NANOSECONDS["s"] // size for time in (_FIRST, _LAST))
    limits = np.iinfo(np.int64)
    return max(first, int(limits.min)), min(last, int(limits.max))
