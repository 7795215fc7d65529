"""tiltpy as its users call it: a query over data in memory, from it to a result."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

import tiltpy as tilt
from bench.timing import Runner
from bench.workloads.streams import Stream, Workload


def bound(workload: Workload, streams: Mapping[str, Stream]) -> dict[str, Any]:
    """Bind what a workload's query runs over: columns without times where it can be.

    Tables are bound once, as one does who asks more than one question: their times are
    looked at in the first run, which is not timed.
    """
    return {name: _bound(workload, name, one) for name, one in streams.items()}


def _bound(workload: Workload, name: str, stream: Stream) -> object:
    if stream.ends is None:
        found = stream.column()
        if stream.keys is not None:
            found = pa.table({"k": stream.keys, name: found})
        return tilt.sampled(found, start=0, period=stream.period)
    starts, ends = stream.times()
    if stream.keys is not None:
        return tilt.bind(pa.table({"k": stream.keys, "end": ends, name: stream.values}))
    if workload.family == "points":
        return tilt.bind(pa.table({"end": ends, name: stream.column()}))
    return tilt.bind(pa.table({"start": starts, "end": ends, name: stream.column()}))


class Subject:
    """A workload's query over its data; its kernels serve all runs."""

    def __init__(
        self,
        workload: Workload,
        streams: Mapping[str, Stream],
        options: tilt.CompileOptions | None = None,
    ) -> None:
        self._query = tilt.parse(workload.query, name=workload.name, options=options)
        self._inputs = bound(workload, streams)

    def run(self, workers: int) -> tilt.Result:
        """Run what is timed: all of `query.run`."""
        return self._query.run(workers=workers, **self._inputs)

    def runner(self, workers: int) -> Runner:
        """A run with some workers."""
        return partial(self.run, workers)

    def first(self, workers: int) -> tilt.Result:
        """A run over rows that nobody has looked at before: keys come in any order."""
        again = {name: replace(binding) for name, binding in self._inputs.items()}
        return self._query.run(workers=workers, **again)

    def with_grouping(self, workers: int) -> Callable[[], tilt.Result]:
        """A first look with some workers."""
        return partial(self.first, workers)

    def with_times(self, workers: int) -> Runner:
        """The same, and then a table of the result, with columns `start` and `end`."""
        return lambda: self.run(workers).to_arrow()
