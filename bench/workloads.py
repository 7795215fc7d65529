"""The workloads: seeded data, and the query that runs over it.

Values are multiples of 1/8, so that sums of floats are exact in any order and a peer
must give the same bits. All streams start at time 0 and have no gaps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.float32]

WINDOW = 1000
"""Events in a window of the sliding and tumbling reductions."""
SHORT, LONG = 20, 50
"""Events in the windows of the trading query."""
LONGEST = 10
"""The longest event of the joined streams, in ticks."""
LARGEST = 8000
"""The largest magnitude of a value, in eighths."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Event `i` has the value `values[i]` over `(ends[i-1], ends[i]]`."""

    ends: Times
    values: Values

    @property
    def starts(self) -> Times:
        """Where the events start."""
        starts = np.empty_like(self.ends)
        starts[:1] = 0
        starts[1:] = self.ends[:-1]
        return starts

    def frame(self, name: str) -> pa.Table:
        """The events as a table with the columns `start`, `end` and the name."""
        return pa.table({"start": self.starts, "end": self.ends, name: self.values})


Streams = Mapping[str, Stream]


def sampled_stream(events: int, seed: int) -> dict[str, Stream]:
    """One stream `x` with an event for every tick."""
    ends = np.arange(1, events + 1, dtype=np.int64)
    return {"x": Stream(ends, _values(events, np.random.default_rng(seed)))}


def unaligned_streams(events: int, seed: int) -> dict[str, Stream]:
    """Two streams `a` and `b`, of half the events each, that last 1 to 10 ticks."""
    random = np.random.default_rng(seed)
    streams = {}
    for name in ("a", "b"):
        lengths = random.integers(1, LONGEST + 1, events // 2)
        streams[name] = Stream(np.cumsum(lengths), _values(events // 2, random))
    return streams


def _values(count: int, random: np.random.Generator) -> Values:
    eighths = random.integers(-LARGEST, LARGEST + 1, count, dtype=np.int16)
    return eighths.astype(np.float32) / np.float32(8)


@dataclass(frozen=True, slots=True)
class Workload:
    """A query with its data; its output is called `out`."""

    name: str
    query: str
    streams: Callable[[int, int], Streams]


_SAMPLED = "input x : f32 time end sampled 1\n"
_JOINED = """\
input a : f32 interval (start, end)
input b : f32 interval (start, end)
"""

WORKLOADS = (
    Workload("select", _SAMPLED + "~out[t] = ~x[t] + 1\n", sampled_stream),
    Workload("where", _SAMPLED + "~out[t] = ~x[t] > 0 ? ~x[t] : φ\n", sampled_stream),
    Workload(
        "join",
        _JOINED + "~out[t] = (~a[t] != φ && ~b[t] != φ) ? ~a[t] + ~b[t] : φ\n",
        unaligned_streams,
    ),
    Workload(
        "sliding sum",
        _SAMPLED + f"~out[t] = sum(~x[t-{WINDOW} : t])\n",
        sampled_stream,
    ),
    Workload(
        "sliding max",
        _SAMPLED + f"~out[t] = max(~x[t-{WINDOW} : t])\n",
        sampled_stream,
    ),
    Workload(
        "trading",
        _SAMPLED
        + f"~gap[t] = mean(~x[t-{SHORT} : t]) - mean(~x[t-{LONG} : t])\n"
        + "~out[t] = ~gap[t] > 0 ? ~gap[t] : φ\n",
        sampled_stream,
    ),
    Workload(
        "tumbling sum",
        _SAMPLED
        + f"w = TDom(-∞, ∞, {WINDOW})\n"
        + f"~out[w] = sum(~x[w-{WINDOW} : w])\n",
        sampled_stream,
    ),
)
