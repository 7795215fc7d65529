"""Live queries by csp: its statistics over time, in simulated time.

A *replay* is a curve of NumPy arrays, which csp reads by itself: all rows are there
before it starts, and it is the fastest input that it has. Rows that come are those of a
*pull adapter* in Python, which is asked for one after the other. A curve has the last
row of a time alone, so rows of one stamp are a microsecond apart, up to the stamp. A
tick is a second of its time.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import csp
import csp.stats
import numpy as np
from csp.impl.pulladapter import PullInputAdapter
from csp.impl.wiring import py_pull_adapter_def
from numpy.typing import NDArray

from bench.peers.live_peer import LivePeer, Values, by_window
from bench.workloads.live import (
    BY_KEY,
    MAP,
    SLIDING,
    TUMBLING,
    WINDOW,
    WINDOWS,
    Frames,
    LiveWorkload,
)

START = datetime(2026, 1, 1)
SECOND = 1_000_000
"""Of the microseconds of its times."""
Array = NDArray[Any]
Source = Callable[[type, Array], Any]


class _Rows(PullInputAdapter):  # type: ignore[misc]  # it has no types
    """The rows of batches, one after the other."""

    def __init__(self, _: type, batches: Sequence[tuple[Array, Array]]) -> None:
        super().__init__()
        self._rows = _list_rows(batches)

    def next(self) -> tuple[datetime, Any] | None:
        return next(self._rows, None)


def _list_rows(
    batches: Sequence[tuple[Array, Array]],
) -> Iterator[tuple[datetime, Any]]:
    for times, values in batches:
        yield from zip(times.tolist(), values.tolist(), strict=True)


_pull = py_pull_adapter_def(
    "rows", _Rows, csp.ts["T"], typ="T", batches=object, memoize=False
)


@csp.node  # type: ignore[untyped-decorator]  # noqa: RET503 - it need not return
def _count_keys(key: csp.ts[int], due: csp.ts[bool]) -> csp.ts[object]:
    """Count the rows of each key, and start anew when it is due."""
    with csp.state():
        s_counts = {}  # type: ignore[var-annotated]
    if csp.ticked(key):
        s_counts[key] = s_counts.get(key, 0) + 1
    if csp.ticked(due):
        counts = s_counts
        s_counts = {}
        return counts


def prepare(
    workload: LiveWorkload, frames: Frames, batch: int, *, replays: bool
) -> LivePeer:
    """Make a run over rows in order: a replay, or rows that come in batches."""
    table = frames["x"]
    stamps = table["ts"].to_numpy()
    behind = np.searchsorted(stamps, stamps, "right") - 1 - np.arange(len(stamps))
    times = np.datetime64(START, "us") + (stamps * SECOND - behind)

    def replay(kind: type, values: Array) -> Any:
        return csp.curve(kind, (times.astype("M8[ns]"), values))

    def pull(kind: type, values: Array) -> Any:
        cuts = range(0, len(times), batch)
        pieces = [slice(first, first + batch) for first in cuts]
        return _pull(kind, [(times[piece], values[piece]) for piece in pieces])

    graph = _graph(workload, table, replay if replays else pull)
    window = WINDOWS.get(workload.name, WINDOW)
    last = -(-int(stamps[-1]) // window) * window

    def run() -> Any:
        return csp.run(
            graph,
            starttime=START - timedelta(seconds=window),
            endtime=START + timedelta(seconds=last),
            output_numpy=workload is not BY_KEY,
        )["out"]

    return LivePeer(run, lambda found: _values(workload, found))


def _graph(workload: LiveWorkload, table: Any, source: Source) -> Callable[[], None]:
    """Make the function that wires a graph with the output `out`."""
    column = "k" if workload is BY_KEY else "x"
    kind, values = (int, "int64") if workload is BY_KEY else (float, "float64")
    rows = table[column].to_numpy().astype(values)

    def wire() -> None:
        x = source(kind, rows)
        window = timedelta(seconds=WINDOWS.get(workload.name, WINDOW))
        if workload is MAP:
            out = x * 2.0 + 1.0
        elif workload is SLIDING:
            out = csp.stats.mean(x, window)
        elif workload is TUMBLING:
            out = csp.stats.sum(x, window, trigger=csp.timer(window, True))
        else:
            out = _count_keys(x, csp.timer(window, True))
        csp.add_graph_output("out", out)

    return wire


def _values(workload: LiveWorkload, found: Any) -> Values:
    if workload is BY_KEY:
        return _counts(found)
    times, values = found
    if workload is MAP:
        return Values(np.arange(len(values)), values)
    stamps = (times - np.datetime64(START, "ns")).astype(np.int64) / (1000 * SECOND)
    if workload is SLIDING:  # the last row of each stamp has all of them
        whole = stamps == np.floor(stamps)
        return Values(stamps[whole].astype(np.int64), values[whole])
    windows = stamps.astype(np.int64) // WINDOWS[workload.name] - 1
    return by_window(np.zeros_like(windows), windows, values)


def _counts(found: Sequence[tuple[datetime, dict[int, int]]]) -> Values:
    window = timedelta(seconds=WINDOWS[BY_KEY.name])
    keys = np.array([key for _, counts in found for key in counts])
    values = np.array([n for _, counts in found for n in counts.values()], np.float64)
    windows = np.repeat(
        [(time - START) // window - 1 for time, _ in found],
        [len(counts) for _, counts in found],
    )
    return by_window(keys, windows, values)
