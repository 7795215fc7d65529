"""The Yahoo query by campaign: how many views each has in windows of 10,000 events.

An event has one of three types and belongs to a campaign, drawn by chance; there is one
at each tick.
"""

from functools import partial

import numpy as np
import pyarrow as pa

from bench.workloads.streams import Stream, Workload

WINDOW = 10_000
"""Events in a window."""
TYPES = 3
VIEW = 1
CAMPAIGNS = (100, 10_000)

_QUERY = f"""\
input x by k : i32 sampled 1
w = TDom(-∞, ∞, {WINDOW})
~out[w] = count(v for v in ~x[w-{WINDOW} : w] if v == {VIEW})
output ~out
"""


def _make(campaigns: int, events: int, seed: int) -> dict[str, Stream]:
    random = np.random.default_rng(seed)
    values = random.integers(0, TYPES, events, dtype=np.int32)
    keys = random.integers(0, campaigns, events, dtype=np.int32)
    return {"x": Stream(values, keys=pa.array(keys))}


BY_CAMPAIGN = tuple(
    Workload(
        f"Yahoo by {count:,} campaigns", _QUERY, partial(_make, count), "keyed", "Yahoo"
    )
    for count in CAMPAIGNS
)
"""A campaign has 33 views in a window, or one in three windows."""
