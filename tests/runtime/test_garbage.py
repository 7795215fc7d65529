"""Memory that runs use is free when they end: none waits for the garbage collector."""

import gc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt

TRADES = pa.table(
    {
        "time": np.arange(20_000) // 2,
        "k": pa.array(np.arange(20_000) % 7).cast(pa.string()).dictionary_encode(),
        "price": np.arange(20_000) % 1000 / 8,
    }
)
KEYED = "input trade by k : { price: f64 } time time point\n"
UNKEYED = "input trade : { price: f64 } time time point\n"
PANES = "w = TDom(-∞, ∞, 100)\n~out[w] = mean(~trade[w-100 : w].price)\noutput ~out\n"
SLIDING = "~out[t] = max(~trade[t-100 : t].price)\noutput ~out\n"
ROWS = "e = Rows(~trade)\n~out[e] = ~trade[e].price > 9 ? ~trade[e].price : φ\n"
QUERIES = {
    f"{name} {kind}": head + body
    for kind, head in (("by key", KEYED), ("of all", UNKEYED))
    for name, body in (("panes", PANES), ("windows", SLIDING), ("rows", ROWS))
}


def _run(query: tilt.CompiledQuery, workers: int) -> None:
    query.run(trade=TRADES, workers=workers)["out"].to_arrow()


def _stream(query: tilt.CompiledQuery, workers: int) -> None:
    pieces = (TRADES.slice(row, 5_000) for row in range(0, 20_000, 5_000))
    for result in query.stream(trade=pieces, workers=workers):
        result["out"].to_arrow()


def _push(query: tilt.CompiledQuery, workers: int) -> None:
    with query.live(workers=workers) as live:
        for row in range(0, 20_000, 5_000):
            live.push(trade=TRADES.slice(row, 5_000))["out"].final.to_arrow()
        live.finish()["out"].final.to_arrow()


def find_garbage(work: Callable[[], None]) -> list[object]:
    """Find the arrays that some work leaves to the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        work()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = np.ndarray, pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table
        garbage = [*gc.garbage, *gc.get_referents(*gc.garbage)]
        return [each for each in garbage if isinstance(each, kinds)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("run", [_run, _stream, _push])
@pytest.mark.parametrize("name", QUERIES)
def test_no_array_waits_for_the_collector(
    name: str, run: Callable[[tilt.CompiledQuery, int], None], workers: int
) -> None:
    query = tilt.parse(QUERIES[name])
    run(query, workers)  # compiles, which leaves some
    assert not find_garbage(lambda: run(query, workers))


class _StopError(Exception):
    """An error of a caller's own function."""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", QUERIES)
def test_an_error_leaves_no_array_to_the_collector(name: str, workers: int) -> None:
    query = tilt.parse(QUERIES[name])
    _run(query, workers)

    def stop(done: int, total: int) -> None:
        raise _StopError(done, total)

    def fail() -> None:
        with pytest.raises(_StopError):
            query.run(trade=TRADES, workers=workers, chunk=500, progress=stop)

    fail()
    assert not find_garbage(fail)
