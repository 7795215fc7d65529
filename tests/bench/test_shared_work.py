"""Processor time of a run, divided into that of shared work and that of one thread."""

import numpy as np
import pytest

import tiltpy as tilt
from bench.shared_work import Region, SharedWork, measure_shared
from tiltpy.runtime.concurrency import workers
from tiltpy.runtime.concurrency.workers import map_ordered


def spin(seconds: float) -> float:
    """Use processor time."""
    return sum(float(np.arange(1000).sum()) for _ in range(int(seconds * 2e5)))


def test_parts_of_a_map_are_shared() -> None:
    found = measure_shared(lambda: list(map_ordered(spin, [0.02] * 6, 2)))
    (region,) = found.regions
    assert region.parts == 6
    assert 0 < found.shared <= found.processor
    assert found.serial < 0.5


def test_what_one_thread_does_is_serial() -> None:
    found = measure_shared(lambda: [spin(0.01), *map_ordered(spin, [0.01] * 3, 1)])
    assert not found.regions
    assert found.serial == 1


def test_calls_of_kernels_are_shared_and_no_python() -> None:
    query = tilt.parse(
        "input x : f64 sampled 1\n~out[t] = median(~x[t-100 : t])\noutput ~out\n"
    )
    x = tilt.sampled(np.arange(300_000.0), start=0, period=1)
    query.run(x=x, workers=2)
    found = measure_shared(lambda: query.run(x=x, workers=2))
    assert found.regions
    assert 0 < found.called <= found.shared
    alone = measure_shared(lambda: query.run(x=x, workers=1))
    assert alone.serial == 1


def test_functions_are_as_before() -> None:
    before = workers.map_ordered, vars(workers._Queue)["step"]
    measure_shared(lambda: None)
    assert before == (workers.map_ordered, vars(workers._Queue)["step"])


@pytest.mark.parametrize(("threads", "speedup"), [(1, 1), (2, 10 / 6), (4, 10 / 4)])
def test_model(threads: int, speedup: float) -> None:
    """Two seconds alone; eight in four parts, of which each thread takes some."""
    work = SharedWork(10, 10, (Region(8, 4),), 0)
    assert work.serial == pytest.approx(0.2)
    assert work.speedup(threads) == pytest.approx(speedup)
    assert work.speedup(16) == work.speedup(4)
