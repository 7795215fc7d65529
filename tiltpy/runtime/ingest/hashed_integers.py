"""Integers far apart as codes: few are distinct, so that hashing beats sorting rows."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.distinct import expect_distinct
from tiltpy.runtime.arrays.views import plain_array
from tiltpy.runtime.arrow.value_codes import NumberCodes
from tiltpy.runtime.concurrency.workers import map_shared, portions

Integers = NDArray[np.integer]
READING_COSTS = DEFAULT_COSTS.reading


def are_few_distinct(values: Integers) -> bool:
    """Tell whether few of many integers seem to be distinct.

    A sample shows no more than it would of the most that are few.
    """
    rows = len(values)
    most = min(rows // READING_COSTS.rows_per_hashed, READING_COSTS.most_hashed)
    sample = values[:: max(1, rows // READING_COSTS.hash_sample)]
    if rows < READING_COSTS.hash_sample or not most:
        return False
    known, _ = _encode(sample)
    return known.count <= expect_distinct(len(sample), most)


def rank_distinct(values: Integers) -> tuple[NDArray[np.unsignedinteger], Integers]:
    """Find the rank of each integer among the distinct ones, and list these in order.

    Threads share the rows; each portion has a table of its own.
    """
    parts = map_shared(
        lambda rows: _encode(values[rows]), list(portions(len(values), each=2))
    )
    joined = _make_codes(values)
    recodings = [
        joined.encode_rows(known.numbers(np.arange(known.count))) for known, _ in parts
    ]
    distinct = joined.numbers(np.arange(joined.count)).astype(values.dtype)
    order = distinct.argsort()
    kind: np.dtype[np.unsignedinteger] = np.min_scalar_type(max(0, len(order) - 1))
    ranks, codes = np.empty(len(order), kind), np.empty(len(values), kind)
    ranks[order] = np.arange(len(order))
    stops = np.cumsum([len(own) for _, own in parts]).tolist()

    def recode(number: int) -> None:
        own, stop = parts[number][1], stops[number]
        np.take(
            *(ranks[recodings[number]], own),
            out=codes[stop - len(own) : stop],
            mode="clip",
        )

    map_shared(recode, range(len(parts)))
    return codes, distinct[order]


def _encode(values: Integers) -> tuple[NumberCodes, NDArray[np.int32]]:
    """Find the codes of integers."""
    known = _make_codes(values)
    return known, known.encode_as_int32(plain_array(values))


def _make_codes(values: Integers) -> NumberCodes:
    """Make codes of no integers of a type."""
    return NumberCodes(pa.from_numpy_dtype(values.dtype))
