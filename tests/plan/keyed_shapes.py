"""`python -m tests.plan.keyed_shapes [FIRST LAST]`: which plans keyed queries get.

Like `shapes`, for what is made of keys: batches of calls, keys that are runs of their
own, rows that are folded without being grouped.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.keyed import KeyedSetting, run_keyed
from tests.random.keyed_queries import KeyedCase
from tests.semantics.test_keyed_properties import CASES
from tiltpy.plan.nodes import Refusal
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.vector_calls import VectorChunks
from tiltpy.runtime.execution.vector_range import has_covered
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.keyed.sweep_calls import SweepBatch
from tiltpy.runtime.keyed.vector_calls import VectorBatch
from tiltpy.runtime.preaggregation.finalize import PaneAggregate
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps
from tiltpy.types import Struct

Forms = Iterable[str]


def of_segments(batch: SweepBatch) -> Forms:
    calls = batch.coverage.count
    yield f"batch: {'one call' if calls == 1 else 'several calls'}"
    loops = batch.signature.loops
    yield f"batch: {'one loop' if len(loops) == 1 else 'several loops'}"
    owned = [np.atleast_1d(cells.some) for cells in batch.cells.values()]
    if any(some.any() and not some.all() for some in owned):
        yield "batch: an output without cells for a key"
    if any(np.any(one.seam) for one in batch.cells.values()):
        yield "batch: cells behind a seam"
    for loop in loops:
        yield f"batch: {loop.shape.value}"
        if loop.implicit_times:
            yield "batch: times of the input's rows"
        if loop.every_cell:
            yield "batch: a snapshot in every cell"
        if loop.name not in batch.cells:
            yield "batch: an object that is no output"
    for part in batch.coverage.slices.values():
        yield f"batch: {part.buffer.layout.value} rows"
        if np.any(part.count == 0):
            yield "batch: a key without rows in an input"
        if any(
            one.offset % 8 for one in part.buffer.columns if one.validity is not None
        ):
            yield "batch: validity that does not begin with a byte"


def of_grids(batch: VectorBatch) -> Forms:
    keys = len(batch.keys)
    yield f"grid batch: {'one key' if keys == 1 else 'several keys'}"
    for loop in batch.signature.loops:
        yield f"grid batch: {loop.shape.value}"
        if loop.implicit_times:
            yield "grid batch: a snapshot in every cell"
        elif has_covered(batch.signature, loop):
            yield "grid batch: snapshots longer than a cell"
        else:
            yield "grid batch: snapshots of a cell"
        if isinstance(loop.type, Struct):
            yield "grid batch: structs"
    for part in batch.slices.values():
        yield f"grid batch: {part.buffer.layout.value} rows"
    if len(batch.slices) > 1:
        yield "grid batch: several inputs"


def of_times(piece: KeyedBitmaps) -> Forms:
    places = piece.places
    if len(places.counts) > 1 and (places.counts == 0).any():
        yield "grid batch: a stretch without a snapshot"
    if (places.reach > EARLIEST).any():
        yield "grid batch: a snapshot that goes on behind a stretch"
    if piece.begins is not None and piece.covered is not None:
        heads = piece.begins.firsts
        goes_on = piece.covered.bits[heads] & ~piece.begins.bits[heads] & 1
        if goes_on.any():
            yield "grid batch: a snapshot that goes on into a stretch"


def of_keyed(job: KeyedRun) -> Forms:
    if any(isinstance(rows, SnapshotBuffer) for rows in job.inputs.values()):
        yield "an input without keys"
    if len(job.inputs) > 1:
        yield "several inputs"
    if len(job.query.outputs) > 1:
        yield "several outputs"
    yield ("no key", "one key", "several keys")[min(job.count, 2)]
    tasks = job.tasks
    if not tasks:
        yield "nothing wanted"
    batches = sum(not task.alone for task in tasks)
    if batches > 1:
        yield "several batches"
    joined = sum(task.concatenated for task in tasks)
    if joined:
        yield "concatenated keys"
        if (
            not isinstance(job.concatenation, Refusal)
            and job.concatenation.plan.restarts
        ):
            yield "concatenated keys, with which windows restart"
    if 0 < joined < len(tasks):
        yield "concatenated keys, and others"
    if 0 < batches < len(tasks):
        yield "batches, and keys alone"


def of_job(job: TimeRun) -> Forms:
    workers = job.options.workers or 1
    yield f"job: {'one worker' if workers == 1 else 'several workers'}"
    if job.vector is not None:
        yield "job: vector kernel"


OBSERVED: tuple[tuple[type, Callable[[Any], Forms]], ...] = (
    (KeyedRun, of_keyed),
    (SweepBatch, of_segments),
    (TimeRun, of_job),
    (VectorBatch, of_grids),
    (KeyedBitmaps, of_times),
    (VectorChunks, lambda _: ["vector kernel called"]),
    (PaneAggregate, lambda _: ["folded without grouping"]),
)


class Ways:
    """The number of runs that took each way."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._met: set[str] = set()

    @contextmanager
    def looking_on(self) -> Iterator[None]:
        """Count what is made in here, as of one run."""
        self._met.clear()
        with ExitStack() as stack:
            for kind, forms in OBSERVED:
                made = self._after(kind.__init__, forms)  # type: ignore[misc]
                stack.enter_context(patch.object(kind, "__init__", made))
            yield
        self.counts.update(self._met)

    def _after(
        self, make: Callable[..., None], forms: Callable[[Any], Forms]
    ) -> Callable[..., None]:
        def made(one: object, *given: object, **named: object) -> None:
            make(one, *given, **named)
            self._met.update(forms(one))

        return made


def count_ways(
    cases: Iterable[tuple[KeyedCase, KeyedSetting]], wanted: Collection[str] = ()
) -> Counter[str]:
    """Return what some cases reach.

    With ways that are wanted it is enough to take each of them once.
    """
    ways = Ways()
    for case, setting in cases:
        if wanted and ways.counts.keys() >= set(wanted):
            break
        with ways.looking_on():
            run_keyed(case, setting)
    return ways.counts


def main() -> None:
    first, last = (int(given) for given in sys.argv[1:] or ("0", "100"))
    for kind, draw in CASES.items():
        print(f"{kind}:")
        counts = count_ways(draw(seed) for seed in range(first, last))
        for form, count in sorted(counts.items()):
            print(f"{count:6} {form}")


if __name__ == "__main__":
    main()
