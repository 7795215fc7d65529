"""Workers keep old objects out of the collections between tasks, but not for good."""

import gc
from collections.abc import Iterator
from weakref import ref

import pyarrow as pa
import pytest

from tiltpy.compiler.options import CompileOptions
from tiltpy.spark.worker_memory import spare_old_objects
from tiltpy.spark.worker_task import group_of


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_a_task_leaves_its_own_garbage_alone_to_be_collected() -> None:
    seen = []

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen.append(ref(Cycle()))
        yield from batches

    batch = pa.record_batch({"x": [1]})
    gc.collect()
    before = gc.get_freeze_count()
    assert list(spare_old_objects(worker)(iter([batch]))) == [batch]
    assert gc.get_freeze_count() > before
    gc.collect()
    assert seen[0]() is None


@pytest.mark.usefixtures("thawed")
def test_a_new_query_lets_old_ones_be_collected() -> None:
    old = Cycle()
    seen = ref(old)
    gc.freeze()
    del old
    gc.collect()
    assert seen() is not None
    group_of(
        "input x : f64\n~y[t] = ~x[t] + 1\noutput ~y\n", CompileOptions(), by_key=False
    )
    gc.collect()
    assert seen() is None
