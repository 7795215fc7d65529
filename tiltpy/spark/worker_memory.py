"""Garbage collection of Spark's Python workers: not of what lives as long as they do.

Spark collects all garbage of a worker after each task. That visits each module, and all
of the compiler's objects: 40 to 100 ms, as long as a task takes for 100,000 rows.
"""

import gc
from collections.abc import Callable, Iterator
from functools import wraps

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def spare_old_objects(
    worker: Callable[[Batches], Batches],
) -> Callable[[Batches], Batches]:
    """Let the collection after a task visit its own objects alone.

    Those of before are what the collection after the last task has left.
    """

    @wraps(worker)  # its name is in Spark's plan
    def spare(batches: Batches) -> Batches:
        gc.freeze()
        yield from worker(batches)

    return spare


def visit_old_objects() -> None:
    """Let the next collection visit all objects: some may have been dropped."""
    gc.unfreeze()
