"""The peers for keys in Numba: a loop over rows that lie key after key.

Windows are running sums. Loops write starts, ends, values and the number of the key;
where every row has a value, and rows are sampled, values alone.
"""

from functools import partial

import numpy as np

from bench.outcome import Array
from bench.peers.grouped import grouped
from bench.peers.numba.calls import Fill, compiled
from bench.peers.peer import Peer
from bench.workloads.keyed import RECENT, TEN_DAYS
from bench.workloads.streams import Stream, Workload


def fraud(
    x: Array,
    times: Array,
    offsets: Array,
    starts: Array,
    ends: Array,
    out: Array,
    keys: Array,
) -> int:
    """Test whether an event is far above those of its key in the ten days before."""
    count = 0
    for key in range(len(offsets) - 1):
        drop = offsets[key]
        total, squares = 0.0, 0.0
        for i in range(offsets[key], offsets[key + 1]):
            while times[drop] < times[i] - TEN_DAYS:
                total -= x[drop]
                squares -= np.float64(x[drop]) * x[drop]
                drop += 1
            if drop < i:
                mean = total / (i - drop)
                deviation = np.sqrt(max(0.0, squares / (i - drop) - mean * mean))
                starts[count] = times[i] - 1
                ends[count] = times[i]
                out[count] = x[i] > mean + 3 * deviation
                keys[count] = key
                count += 1
            total += x[i]
            squares += np.float64(x[i]) * x[i]
    return count


def mean(
    x: Array,
    times: Array,
    offsets: Array,
    starts: Array,
    ends: Array,
    out: Array,
    keys: Array,
) -> int:
    """The mean of those rows of a key that are not too long ago."""
    for key in range(len(offsets) - 1):
        drop = offsets[key]
        total = 0.0
        for i in range(offsets[key], offsets[key + 1]):
            total += x[i]
            while times[drop] <= times[i] - RECENT:
                total -= x[drop]
                drop += 1
            starts[i] = times[i] - 1
            ends[i] = times[i]
            out[i] = total / (i + 1 - drop)
            keys[i] = key
    return len(x)


def trading(x: Array, _times: Array, offsets: Array, out: Array) -> int:
    """Two running sums over samples, compared as means."""
    for key in range(len(offsets) - 1):
        first = offsets[key]
        short, long = 0.0, 0.0
        for i in range(first, offsets[key + 1]):
            short += x[i]
            long += x[i]
            if i >= first + 20:
                short -= x[i - 20]
            if i >= first + 50:
                long -= x[i - 50]
            shorter, longer = min(i + 1 - first, 20), min(i + 1 - first, 50)
            out[i] = short * longer > long * shorter
    return len(x)


LOOPS: dict[str, Fill] = {"fraud": fraud, "mean": mean, "trading": trading}


def peer(workload: Workload, stream: Stream, *, plain: bool = False) -> Peer:
    """The loop over the data; `plain` leaves it as it is, which needs no Numba."""
    rows = grouped(stream)
    arrays = rows.memory(workload)
    loop = LOOPS[workload.base]
    fill = loop if plain else compiled(loop)
    inputs = (rows.values, rows.ends, rows.offsets)
    return Peer(partial(fill, *inputs, *arrays), partial(rows.outcome, arrays))
