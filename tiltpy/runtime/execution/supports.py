"""Between which grid points temporal objects may have snapshots, or change at all."""

from collections.abc import Mapping

import numpy as np

from tiltpy.abi.signature import Signature
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import (
    N,
    ceil_to,
    choose,
    floor_to,
    least,
    most,
)
from tiltpy.runtime.execution.key_domains import RowsByKey
from tiltpy.runtime.execution.row_slices import TimeRanges
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.types import ALL_FUTURE, ALL_PAST, MAX_TIME

FAR = MAX_TIME + MAX_TIME // 2
"""Later than all times; a whole lookback away from it still has 64 bits."""


def find_supports(
    signature: Signature, bounds: Mapping[str, tuple[N, N]], request: Request, zero: N
) -> dict[str, tuple[N, N]]:
    """Between which grid points each loop's object may have snapshots, for each key.

    `zero` is the number 0 of each. `bounds` are the first start and the last end of
    each input's rows, `(FAR, -FAR)` where it has none. An object that is φ without a
    snapshot of another one has none where that has none; so no loop goes further back
    than the rows do, however far its readers look.
    """
    covered = dict(bounds)
    supports: dict[str, tuple[N, N]] = {}
    for loop in signature.loops:
        first, last = zero - FAR, zero + FAR
        for read in loop.strict:
            low, high = covered[read.object]
            first = most(first, least(low - read.high + 1, FAR))
            last = least(last, most(high - read.low - 1, -FAR))
        start, end = request.resolve(loop.tdom.start), request.resolve(loop.tdom.end)
        if start is not None:
            first = most(first, start + 1)
        if end is not None:
            last = least(last, loop.tdom.ceil(end))
        first, last = ceil_to(loop.tdom, first), floor_to(loop.tdom, last)
        exists = first <= last
        first, last = choose(exists, first, FAR), choose(exists, last, -FAR)
        supports[loop.name] = first, last
        low = most(first - loop.tdom.precision, -FAR)
        covered[loop.name] = choose(exists, low, FAR), last
    return supports


def support_by_key(
    signature: Signature,
    inputs: Mapping[str, RowsByKey],
    keys: I64Array,
    request: Request,
) -> Mapping[str, TimeRanges]:
    """The grid points between which the objects of each key may have snapshots.

    Only loops that visit every cell must know.
    """
    if not any(loop.every_cell for loop in signature.loops):
        return {}
    zero = np.zeros(len(keys), np.int64)
    return find_supports(signature, bounds_by_key(inputs, keys), request, zero)


def bounds_by_key(
    inputs: Mapping[str, RowsByKey], keys: I64Array
) -> Mapping[str, TimeRanges]:
    """The first start and the last end of each key's rows, by input."""
    return {name: _bounds(rows, keys) for name, rows in inputs.items()}


def changes_by_key(
    signature: Signature,
    inputs: Mapping[str, RowsByKey],
    keys: I64Array,
    request: Request,
) -> Mapping[str, TimeRanges]:
    """The grid points between which the objects of each key change at all.

    Each object is the same at all grid points up to the first, and at all from the last
    on; `(FAR, -FAR)` where it never changes. Only kernels with reads without bound
    must know.
    """
    if not any(loop.is_unbounded for loop in signature.loops):
        return {}
    count = len(keys)
    ranges = {name: _changes_of(rows, keys) for name, rows in inputs.items()}
    for loop in signature.loops:
        low, high = np.full(count, FAR), np.full(count, -FAR)
        for read in loop.reads:
            begin, stop = ranges[read.object]
            some = begin <= stop
            # Rows without bound never leave, or are never yet to come.
            near = read.high if read.low <= ALL_PAST else read.low
            far = read.low if read.high >= ALL_FUTURE else read.high
            np.minimum(low, begin - far, out=low, where=some)
            np.maximum(high, stop - near, out=high, where=some)
        bounds = map(request.resolve, (loop.tdom.start, loop.tdom.end))
        for bound in (bound for bound in bounds if bound is not None):
            low, high = np.minimum(low, bound), np.maximum(high, bound)
        some = low <= high
        low = np.where(some, floor_to(loop.tdom, low), FAR)
        ranges[loop.name] = low, np.where(some, ceil_to(loop.tdom, high), -FAR)
    return ranges


def changes_of(
    signature: Signature, rows: Mapping[str, SnapshotBuffer], request: Request
) -> dict[str, tuple[int, int]]:
    """The grid points between which the objects of one run change at all."""
    ranges = changes_by_key(signature, rows, np.zeros(1, np.int64), request)
    return {name: (int(low[0]), int(high[0])) for name, (low, high) in ranges.items()}


def _changes_of(rows: RowsByKey, keys: I64Array) -> TimeRanges:
    """The first start and the last end of each key's rows.

    A last row that holds without end changes nothing but where it starts.
    """
    low, high = _bounds(rows, keys)
    buffer = rows.buffer if isinstance(rows, Groups) else rows
    if buffer.domain_end is None:
        return low, high
    if isinstance(rows, Groups):
        stop, held = rows.offsets[keys + 1], rows.lasts[keys]
        count = stop - rows.offsets[keys]
    else:
        _, last = rows.bounds() or (FAR, -FAR)
        stop = count = np.full(len(keys), rows.n)
        held = np.full(len(keys), last)
    if buffer.ends is not None:
        ends = buffer.ends[np.maximum(stop - 1, 0)]
    else:
        ends = low + count * min(buffer.period, MAX_TIME)
    held = np.where(ends < MAX_TIME, np.maximum(held, ends), held)
    return low, np.where(low <= high, held, -FAR)


def _bounds(rows: RowsByKey, keys: I64Array) -> TimeRanges:
    """The first start and the last end of each key's rows."""
    if isinstance(rows, Groups):
        nonempty = rows.offsets[keys] < rows.offsets[keys + 1]
        low, high = rows.firsts[keys], rows.lasts[keys]
        if rows.buffer.domain_end is not None:  # last rows may hold on
            high = np.full(len(keys), FAR)
        return np.where(nonempty, low, FAR), np.where(nonempty, high, -FAR)
    first, last = rows.bounds() or (FAR, -FAR)
    if rows.domain_end is not None:
        last = FAR
    return np.full(len(keys), first), np.full(len(keys), last)


def support_of(
    signature: Signature, rows: Mapping[str, SnapshotBuffer], request: Request
) -> dict[str, tuple[int, int]]:
    """The grid points between which the objects of one run may have snapshots."""
    supports = support_by_key(signature, rows, np.zeros(1, np.int64), request)
    return {
        name: (int(first[0]), int(last[0])) for name, (first, last) in supports.items()
    }
