"""The peers: what one would write by hand for each workload, compiled by Numba.

Every function fills arrays that it is given and returns the number of results: of
values alone where tiltpy's result has implied times, otherwise of `starts`, `ends` and
values. They are plain Python until `compiled` turns them into machine code, so that
tests can run them without Numba. Where there are several, the fastest one counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bench.workloads import LONG, SHORT, WINDOW, Streams, Times, Values

Function = TypeVar("Function", bound=Callable[..., int])


def select(x: Values, out: Values) -> int:
    """`x + 1`."""
    for i in range(len(x)):
        out[i] = x[i] + np.float32(1)
    return len(x)


def where(x: Values, starts: Times, ends: Times, out: Values) -> int:
    """Keep what is positive."""
    count = 0
    for i in range(len(x)):
        if x[i] > 0:
            starts[count] = i
            ends[count] = i + 1
            out[count] = x[i]
            count += 1
    return count


def where_branchless(x: Values, starts: Times, ends: Times, out: Values) -> int:
    """Write always, count what is positive."""
    count = 0
    for i in range(len(x)):
        starts[count] = i
        ends[count] = i + 1
        out[count] = x[i]
        count += int(x[i] > 0)
    return count


def join(
    a_ends: Times,
    a: Values,
    b_ends: Times,
    b: Values,
    starts: Times,
    ends: Times,
    out: Values,
) -> int:
    """Merge two streams: a result for every stretch in which neither changes."""
    i, j, count, start = 0, 0, 0, 0
    while i < len(a) and j < len(b):
        end = min(a_ends[i], b_ends[j])
        starts[count] = start
        ends[count] = end
        out[count] = a[i] + b[j]
        count += 1
        start = end
        if a_ends[i] == end:
            i += 1
        if b_ends[j] == end:
            j += 1
    return count


def join_branchless(
    a_ends: Times,
    a: Values,
    b_ends: Times,
    b: Values,
    starts: Times,
    ends: Times,
    out: Values,
) -> int:
    """The same, with comparisons added instead of branched on."""
    i, j, count, start = 0, 0, 0, 0
    while i < len(a) and j < len(b):
        a_end, b_end = a_ends[i], b_ends[j]
        end = min(a_end, b_end)
        starts[count] = start
        ends[count] = end
        out[count] = a[i] + b[j]
        count += 1
        start = end
        i += a_end == end
        j += b_end == end
    return count


def sliding_sum(x: Values, out: Values) -> int:
    """A running sum that takes a difference."""
    total = 0.0
    for i in range(min(WINDOW, len(x))):
        total += x[i]
        out[i] = total
    for i in range(WINDOW, len(x)):
        total += x[i] - x[i - WINDOW]
        out[i] = total
    return len(x)


def sliding_sum_two_steps(x: Values, out: Values) -> int:
    """A running sum that adds what comes and subtracts what goes."""
    total = 0.0
    for i in range(min(WINDOW, len(x))):
        total += x[i]
        out[i] = total
    for i in range(WINDOW, len(x)):
        total += x[i]
        total -= x[i - WINDOW]
        out[i] = total
    return len(x)


def sliding_max(x: Values, out: Values) -> int:
    """A queue of candidates in falling order: the textbook's way."""
    queue = np.empty(WINDOW, np.int64)
    head, size = 0, 0
    for i in range(len(x)):
        if size > 0 and queue[head] <= i - WINDOW:
            head = (head + 1) % WINDOW
            size -= 1
        while size > 0 and x[queue[(head + size - 1) % WINDOW]] <= x[i]:
            size -= 1
        queue[(head + size) % WINDOW] = i
        size += 1
        out[i] = x[queue[head]]
    return len(x)


def sliding_max_blocks(x: Values, out: Values) -> int:
    """Maxima of the end of one block and the beginning of the next (van Herk)."""
    suffixes = np.full(WINDOW + 1, -np.inf, np.float32)
    for first in range(0, len(x), WINDOW):
        last = min(first + WINDOW, len(x))
        running = x[first]
        for i in range(first, last):
            running = max(running, x[i])
            out[i] = max(running, suffixes[i - first + 1])
        running = x[last - 1]
        for i in range(last - 1, first - 1, -1):
            running = max(running, x[i])
            suffixes[i - first] = running
    return len(x)


def trading(x: Values, starts: Times, ends: Times, out: Values) -> int:
    """Two running means; keep where the short one is above the long one."""
    short, long, count = 0.0, 0.0, 0
    for i in range(len(x)):
        short += x[i]
        long += x[i]
        if i >= SHORT:
            short -= x[i - SHORT]
        if i >= LONG:
            long -= x[i - LONG]
        fast = np.float32(short / min(i + 1, SHORT))
        slow = np.float32(long / min(i + 1, LONG))
        if fast - slow > 0:
            starts[count] = i
            ends[count] = i + 1
            out[count] = fast - slow
            count += 1
    return count


def trading_branchless(x: Values, starts: Times, ends: Times, out: Values) -> int:
    """The same without a branch, and with the beginning apart."""
    short, long, count = 0.0, 0.0, 0
    for i in range(min(LONG, len(x))):
        short += x[i]
        long += x[i]
        if i >= SHORT:
            short -= x[i - SHORT]
        gap = np.float32(short / min(i + 1, SHORT)) - np.float32(long / (i + 1))
        starts[count] = i
        ends[count] = i + 1
        out[count] = gap
        count += int(gap > 0)
    for i in range(LONG, len(x)):
        short += x[i] - x[i - SHORT]
        long += x[i] - x[i - LONG]
        gap = np.float32(short / SHORT) - np.float32(long / LONG)
        starts[count] = i
        ends[count] = i + 1
        out[count] = gap
        count += int(gap > 0)
    return count


def tumbling_sum(x: Values, starts: Times, ends: Times, out: Values) -> int:
    """A sum for each block."""
    count = 0
    for first in range(0, len(x), WINDOW):
        total = 0.0
        for i in range(first, min(first + WINDOW, len(x))):
            total += x[i]
        starts[count] = first
        ends[count] = first + WINDOW
        out[count] = total
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Peer:
    """Ways to compute a workload by hand.

    `writes_times`: whether they write the times of the results too.
    """

    functions: tuple[Callable[..., int], ...]
    writes_times: bool


PEERS = {
    "select": Peer((select,), writes_times=False),
    "where": Peer((where, where_branchless), writes_times=True),
    "join": Peer((join, join_branchless), writes_times=True),
    "sliding sum": Peer((sliding_sum, sliding_sum_two_steps), writes_times=False),
    "sliding max": Peer((sliding_max, sliding_max_blocks), writes_times=False),
    "trading": Peer((trading, trading_branchless), writes_times=True),
    "tumbling sum": Peer((tumbling_sum,), writes_times=True),
}


Arrays = tuple[Times | Values, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A peer's inputs, and how many results there may be."""

    inputs: Arrays
    size: int
    writes_times: bool

    def memory(self) -> Arrays:
        """New arrays for results: the times where they are written, and values."""
        values = np.empty(self.size, np.float32)
        if not self.writes_times:
            return (values,)
        return np.empty(self.size, np.int64), np.empty(self.size, np.int64), values

    def run(self, function: Callable[..., int], memory: Arrays | None = None) -> Arrays:
        """The results, in memory of their own unless some is given."""
        arrays = self.memory() if memory is None else memory
        count = function(*self.inputs, *arrays)
        return tuple(array[:count] for array in arrays)

    def with_times(self, results: Arrays) -> Arrays:
        """The starts, ends and values of results, implied times among them."""
        if self.writes_times:
            return results
        times = np.arange(len(results[0]) + 1, dtype=np.int64)
        return times[:-1], times[1:], *results


def call_of(peer: Peer, streams: Streams) -> Call:
    """How to call a workload's peer over its streams."""
    inputs: list[Times | Values] = []
    for stream in streams.values():
        if len(streams) > 1:
            inputs.append(stream.ends)
        inputs.append(stream.values)
    size = sum(len(stream.values) for stream in streams.values()) + 1
    return Call(tuple(inputs), size, peer.writes_times)


def compiled(function: Function) -> Function:
    """A peer as machine code."""
    import numba  # noqa: PLC0415 - optional, and slow to import

    made: Function = numba.njit(function)
    return made
