"""Rows of the objects that all keys share, computed before the keys are.

`compiler.shared_objects` makes the two queries.
"""

from collections.abc import Mapping

import numpy as np

from tiltpy.costs import KeyCosts
from tiltpy.engines.engine import Engine
from tiltpy.engines.keyed_engine import KeyedEngine
from tiltpy.ir.nodes import Query
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.execution.output_group import OutputGroup, SharedGroups
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.stitch import events_of, with_times
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.incremental.concat import gather
from tiltpy.runtime.keyed.keyed_run import KeyedRun, SharedObjects
from tiltpy.types import MAX_TIME


def pays_to_share(run: KeyedRun, objects: Query, costs: KeyCosts) -> bool:
    """Estimate whether keys look at far more rows than the inputs without keys have."""
    read = {each.name: run.inputs[each.name] for each in objects.inputs}
    buffers = {n: rows for n, rows in read.items() if isinstance(rows, SnapshotBuffer)}
    rows = sum(buffer.n for buffer in buffers.values())
    most = 2 * rows + costs.shared_looks
    if rows * run.count <= most:
        return False
    span = max(map(_mean_ticks, run.ranges.values()))
    looks = 0.0
    for _, reach in resolve_boundaries(objects).boundaries:
        for name, boundary in reach:
            bounds = buffers[name].bounds()
            if bounds is not None:
                ticks = span + boundary.back.ticks + boundary.ahead.ticks
                share = min(1.0, ticks / max(1, bounds[1] - bounds[0]))
                looks += share * buffers[name].n * run.count
    return looks > most


def _mean_ticks(ranges: KeyedRanges) -> float:
    """Average the ticks over which keys are computed."""
    if not len(ranges.domains.start):
        return 0.0
    return float(np.mean(ranges.domains.end - ranges.domains.start, dtype=np.float64))


def share_objects(
    run: KeyedRun,
    rows: Mapping[str, RowsByKey],
    shared: SharedGroups[Kernels],
    request: Request,
    options: RunOptions,
) -> KeyedRun:
    """Compute what the keys of a run share, and plan the run that reads that.

    `rows` are those of all inputs. Domains are those of the run, which follow from
    inputs that the other one need not read.
    """
    read = {name: rows[name] for name in shared.keyed.inputs if name in rows}
    limits = _limit(shared, run.ranges, request)
    made = _compute(shared.objects, rows, limits, options)
    engine = KeyedEngine(shared.keyed, request, options)
    known = SharedObjects(tuple(made), run.ranges)
    return engine.run_over(run.keys, read | made, shared=known)


def _compute(
    objects: OutputGroup[Kernels],
    rows: Mapping[str, RowsByKey],
    limits: Request,
    options: RunOptions,
) -> dict[str, SnapshotBuffer]:
    """Compute objects without keys."""
    buffers = {}
    for name in objects.inputs:
        buffer = rows[name]
        assert isinstance(buffer, SnapshotBuffer)
        buffers[name] = buffer
    evaluation = Engine(objects, limits, options).evaluate(None, buffers)
    return {
        name: gather(
            [
                with_times(events_of(piece, of))
                for piece in evaluation.pieces.get(name, ())
            ],
            of,
        )
        for name, of in objects.types.items()
    }


def _limit(
    shared: SharedGroups[Kernels],
    ranges: Mapping[str, KeyedRanges],
    request: Request,
) -> Request:
    """Limit the objects to the times at which keys read them."""
    low, high = MAX_TIME, -MAX_TIME
    for name, reach in resolve_boundaries(shared.keyed.query).boundaries:
        domains = ranges[name].domains
        wanted = domains.wanted
        if not wanted.any():
            continue
        first = int(domains.start[wanted].min())
        last = int(np.maximum(domains.end, ranges[name].high)[wanted].max())
        for read, boundary in reach:
            if read in shared.objects.outputs:
                cell = shared.objects.outputs[read].tdom.longest
                low = min(low, first - boundary.back.ticks)
                high = max(high, last + boundary.ahead.ticks + cell)
    low, high = max(low, -MAX_TIME), min(high, MAX_TIME)
    return Request(min(low, high), high, request.bounds)
