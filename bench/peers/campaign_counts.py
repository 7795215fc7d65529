"""A matrix of counts, by window and campaign, as loops fill it, and its snapshots.

Peers in C and Numba count in such a matrix, a row for each window and a column for each
campaign. Its times are found afterwards, as tiltpy's are when they are asked for.
"""

import numpy as np
import pyarrow as pa

from bench.outcome import Array, Table
from bench.workloads.campaigns import WINDOW
from bench.workloads.streams import Stream


def keys_of(stream: Stream) -> Array:
    """The campaign of each event."""
    assert stream.keys is not None
    found: Array = stream.keys.to_numpy()
    return found


def outcome_of(stream: Stream, counts: Array) -> Table:
    """A matrix of counts, by window and campaign, as snapshots.

    A campaign's begin with its first event, and end with the window that has its last.
    Windows without a view that follow each other are one.
    """
    keys = keys_of(stream)
    windows, campaigns = counts.shape
    last_rows, first_rows = np.full(campaigns, -1), np.full(campaigns, len(keys))
    last_rows[keys] = np.arange(len(keys))
    first_rows[keys[::-1]] = np.arange(len(keys))[::-1]
    window = np.arange(windows)
    first, last = first_rows // WINDOW, last_rows // WINDOW
    inside = (window >= first[:, None]) & (window <= last[:, None])
    by_campaign = np.ascontiguousarray(counts.T)
    begins = inside.copy()
    begins[:, 1:] &= (by_campaign[:, 1:] > 0) | (by_campaign[:, :-1] > 0)
    begins[np.arange(campaigns), np.minimum(first, windows - 1)] = last_rows >= 0
    key, place = np.nonzero(begins)
    starts = np.maximum(place * WINDOW, first_rows[key])
    next_key = np.append(key[1:], -1)
    next_place = np.append(place[1:], 0)
    ends = np.where(next_key == key, next_place, last[key] + 1) * WINDOW
    found = by_campaign[key, place].astype(np.int64)
    return Table(starts, ends, (found,), pa.array(key.astype(np.int32)))
