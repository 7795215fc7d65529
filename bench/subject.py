"""tiltpy as the benchmarks call it: over ingested buffers, and from frame to result."""

from functools import partial

import numpy as np

import tiltpy as tilt
from bench.workloads import Streams, Times, Values, Workload
from tiltpy.compiler import Compiler
from tiltpy.runtime.bind import Binding
from tiltpy.runtime.domain import Request
from tiltpy.runtime.ingest import Ingested
from tiltpy.runtime.run import RunOptions, bind_inputs, run


class Subject:
    """A workload's query and data, and the kernels that serve all its runs."""

    def __init__(self, workload: Workload, streams: Streams) -> None:
        query = tilt.parse(workload.query, name=workload.name).query
        self.compiler = Compiler(query)
        self.bindings = {n: Binding(one.frame(n)) for n, one in streams.items()}
        self.bound = self._read()

    def _read(self) -> dict[str, Ingested]:
        query = self.compiler.query
        return bind_inputs(query, self.bindings, Request(), allow_sort=True)

    def _run(self, bound: dict[str, Ingested], workers: int) -> tilt.Result:
        return run(
            self.compiler.query,
            bound,
            self.compiler.specialised,
            Request(),
            RunOptions(workers=workers),
        )

    def over_buffers(self, workers: int) -> partial[tilt.Result]:
        """A run over what was read beforehand."""
        return partial(self._run, self.bound, workers)

    def over_frames(self, workers: int) -> tilt.Result:
        """A run from Arrow tables to the result: what `CompiledQuery.run` does."""
        return self._run(self._read(), workers)


def results(result: tilt.Result) -> tuple[Times, Times, Values]:
    """The starts, ends and values of a result."""
    table = result.to_arrow()
    starts, ends, values = (column.to_numpy() for column in table.columns)
    return (
        starts.astype(np.int64, copy=False),
        ends.astype(np.int64, copy=False),
        values,
    )
