"""Queries over trades, which have more columns than are wanted, in files or pieces."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.workloads.offpath.draws import US, walk

SYMBOLS = 100
_TRADE = "unit us\ninput trade : { price: f64, size: f64 } time ts point\n"
_BY_SYMBOL = "unit us\ninput trade by symbol : { price: f64 } time ts point\n"
_BARS = """w = TDom(-∞, ∞, 1m)
~out[w] = {
    open = first(~trade[w-1m : w].price), high = max(~trade[w-1m : w].price),
    low = min(~trade[w-1m : w].price), close = last(~trade[w-1m : w].price),
    volume = sum(~trade[w-1m : w].size)
}
"""


@dataclass(frozen=True, slots=True)
class FileWorkload:
    """A query over one file, whose result has times and the columns of its payload."""

    name: str
    query: str


FILES = (
    FileWorkload(
        "filter",
        f"{_TRADE}e = Rows(~trade)\n~out[e] = ~trade[e].price > 1250 "
        "? { price = ~trade[e].price, size = ~trade[e].size } : φ\n",
    ),
    FileWorkload("bars", f"{_TRADE}{_BARS}"),
    FileWorkload(
        "by key",
        f"{_BY_SYMBOL}w = TDom(-∞, ∞, 1h)\n"
        "~out[w] = { mean = mean(~trade[w-1h : w].price) }\n",
    ),
)
"""From a file of `trades` to another."""

PIECES = (
    *FILES[:2],
    FileWorkload(
        "sliding mean",
        f"{_TRADE}~out[t] = ~trade[t] != φ ? mean(~trade[t-1s : t].price) : φ\n",
    ),
    FILES[2],
)
"""From pieces in memory."""


def trades(events: int, seed: int) -> pa.Table:
    """Trades of all symbols, in order of time, in microseconds."""
    random = np.random.default_rng(seed)
    stamps = np.cumsum(random.integers(1, 2 * US, events))
    symbols = pa.array([f"S{number:03}" for number in range(SYMBOLS)])
    codes = pa.array(random.integers(0, SYMBOLS, events, dtype=np.int32))
    return pa.table(
        {
            "ts": pa.array(stamps, pa.timestamp("us")),
            "symbol": pa.DictionaryArray.from_arrays(codes, symbols).cast(pa.string()),
            "price": walk(events, random),
            "size": random.integers(1, 1000, events).astype(np.float64),
            "venue": random.integers(0, 10, events, dtype=np.int32),
            "order": random.integers(0, 1 << 40, events),
        }
    )
