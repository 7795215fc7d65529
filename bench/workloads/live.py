"""Live queries: rows as they arrive, in order or not, and what is computed of them.

There is about a row for each tick. Values are multiples of 1/8, so that sums are exact.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.workloads.disorder import DISORDERS, Disorder

WINDOW = 1_000
KEYS = 10_000
ARRIVALS = DISORDERS[:2]
"""In order, and with 30 % of the rows moved back."""
Frames = Mapping[str, pa.Table]

_MAP = """\
input x : f64 time ts point
e = Rows(~x)
~out[e] = ~x[e] * 2 + 1
output ~out
"""
_SUM = f"""\
input x : f64 time ts point
w = TDom(-∞, ∞, {WINDOW})
~out[w] = sum(~x[w-{WINDOW} : w])
output ~out
"""
_MEAN = f"""\
input x : f64 time ts point
~out[t] = mean(~x[t-{WINDOW} : t])
output ~out
"""
_JOIN = """\
input x : f64 time ts point
input y : f64 time ts until_next
e = Rows(~x)
~out[e] = ~x[e] - ~y[e]
output ~out
"""
_COUNT = f"""\
input x by k : f64 time ts point
w = TDom(-∞, ∞, {10 * WINDOW})
~out[w] = count(~x[w-{10 * WINDOW} : w])
output ~out
"""


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """A query, and its rows in the order in which they arrive."""

    name: str
    query: str
    make: Callable[[int, Disorder, int], Frames]


def _make_one(rows: int, disorder: Disorder, seed: int) -> Frames:
    random = np.random.default_rng(seed)
    return {"x": _draw_rows(rows, disorder, random, "x")}


def _make_two(rows: int, disorder: Disorder, seed: int) -> Frames:
    random = np.random.default_rng(seed)
    return {name: _draw_rows(rows // 2, disorder, random, name) for name in ("x", "y")}


def _make_keyed(rows: int, disorder: Disorder, seed: int) -> Frames:
    random = np.random.default_rng(seed)
    keys = pa.array(random.integers(0, KEYS, rows, dtype=np.int32))
    return {"x": _draw_rows(rows, disorder, random, "x").append_column("k", keys)}


def _draw_rows(
    rows: int, disorder: Disorder, random: np.random.Generator, name: str
) -> pa.Table:
    stamps = disorder.draw(rows, random)
    return pa.table({"ts": stamps, name: random.integers(0, 800, rows) / 8})


MAP = LiveWorkload("map", _MAP, _make_one)
TUMBLING = LiveWorkload("tumbling sum", _SUM, _make_one)
SLIDING = LiveWorkload("sliding mean", _MEAN, _make_one)
JOIN = LiveWorkload("as-of join", _JOIN, _make_two)
BY_KEY = LiveWorkload(f"count by {KEYS:,} keys", _COUNT, _make_keyed)
LIVE = (MAP, TUMBLING, SLIDING, JOIN, BY_KEY)
WINDOWS = {TUMBLING.name: WINDOW, BY_KEY.name: 10 * WINDOW}
"""The ticks of tumbling windows."""
