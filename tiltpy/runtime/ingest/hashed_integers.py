"""Integers far apart as codes: few are distinct, so that hashing beats sorting rows."""

from math import expm1

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.block_passes import cache_blocks
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.concurrency.workers import map_shared, portions
from tiltpy.runtime.ingest.value_codes import NumberCodes

Integers = NDArray[np.integer]
COSTS = DEFAULT_COSTS.reading


def are_few_distinct(values: Integers) -> bool:
    """Tell whether few of many integers seem to be distinct.

    A sample shows no more than it would of the most that are few.
    """
    rows = len(values)
    most = min(rows // COSTS.rows_per_hashed, COSTS.most_hashed)
    sample = values[:: max(1, rows // COSTS.hash_sample)]
    if rows < COSTS.hash_sample or not most:
        return False
    known = NumberCodes(pa.int64())
    known.encode_rows(_widen(np.ascontiguousarray(sample)))
    return known.count <= most * -expm1(-len(sample) / most)


def rank_distinct(values: Integers) -> tuple[NDArray[np.unsignedinteger], Integers]:
    """Find the rank of each integer among the distinct ones, and list these in order.

    Threads share the rows; each portion has a table of its own.
    """
    parts = map_shared(
        lambda rows: _encode(values[rows]), list(portions(len(values), each=2))
    )
    joined = NumberCodes(pa.int64())
    recodings = [joined.encode_rows(numbers) for _, numbers in parts]
    distinct = joined.numbers(np.arange(joined.count)).astype(values.dtype)
    order = distinct.argsort()
    kind: np.dtype[np.unsignedinteger] = np.min_scalar_type(max(0, len(order) - 1))
    ranks, codes = np.empty(len(order), kind), np.empty(len(values), kind)
    ranks[order] = np.arange(len(order))
    stops = np.cumsum([len(own) for own, _ in parts]).tolist()

    def recode(number: int) -> None:
        own, stop = parts[number][0], stops[number]
        np.take(
            *(ranks[recodings[number]], own),
            out=codes[stop - len(own) : stop],
            mode="clip",
        )

    map_shared(recode, range(len(parts)))
    return codes, distinct[order]


def _encode(values: Integers) -> tuple[NDArray[np.uint32], I64Array]:
    """Find the codes of integers, and the integer of each code."""
    known, codes = NumberCodes(pa.int64()), np.empty(len(values), np.uint32)
    for rows in cache_blocks(len(values)):
        codes[rows] = known.encode_rows(_widen(values[rows]))
    return codes, known.numbers(np.arange(known.count))


def _widen(values: Integers) -> I64Array:
    """View integers as signed ones of 64 bits."""
    wide = values if values.itemsize == np.dtype(np.int64).itemsize else None
    return values.astype(np.int64) if wide is None else wide.view(np.int64)
