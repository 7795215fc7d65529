"""`python -m bench scaling`: what two workers gain, and what more could.

Each workload has up to three lines: a run over rows that are bound, the same and the
table of its results, and a first run over rows that nobody has looked at, with its
table. Workloads get as many events as take 20 ms, by fours.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import tiltpy as tilt
from bench.compare_offpath import Subject as OffPathSubject
from bench.measure import BenchOptions
from bench.shared_work import SharedWork, measure_shared
from bench.subject import Subject
from bench.timing import timed
from bench.workloads.offpath.rows import OffPath
from bench.workloads.streams import Workload

LEAST = 0.02
"""Seconds of one worker that sharing is worth."""
MOST = 20_000_000
"""Events of a workload, at most."""
MODELLED = 2, 4, 8, 16
HEADER = ("1", "2/1", "serial", "Python", *map(str, MODELLED))
NAME, CELL = 46, 9

Run = Callable[[int], object]
"""A run with some workers."""


def lines(chosen: Sequence[Workload | OffPath], options: BenchOptions) -> Iterator[str]:
    """A line for each way to run each workload that takes long enough."""
    yield f"{'':<{NAME}}{'measured':>{4 * CELL}}{'modelled':>{4 * CELL}}"
    yield _line("workers", HEADER)
    for workload in chosen:
        for name, run in _long_enough(workload, options).items():
            yield _measure(f"{workload.name}{name}", run, options.repeat)


def _long_enough(workload: Workload | OffPath, options: BenchOptions) -> dict[str, Run]:
    """The ways to run a workload, over as many events as take `LEAST`."""
    events = workload.events if isinstance(workload, OffPath) else options.events
    while True:
        runs = _ways_to_run(workload, events, options.seed)
        alone = partial(runs[""], 1)
        alone()
        if timed(alone).processor >= LEAST or 4 * events > MOST:
            return runs
        events *= 4


def _ways_to_run(
    workload: Workload | OffPath, events: int, seed: int
) -> dict[str, Run]:
    """A run over bound rows, one with its tables, and one over rows not seen before."""
    subject: Subject | OffPathSubject
    if isinstance(workload, OffPath):
        subject = OffPathSubject(workload, workload.inputs(events, seed))
    else:
        subject = Subject(workload, workload.make(events, seed))
    return {
        "": subject.run,
        ", table": lambda workers: _tables(subject.run(workers)),
        ", first look": lambda workers: _tables(subject.first(workers)),
    }


def _tables(result: tilt.Result) -> list[object]:
    return [output.to_arrow() for output in result.values()]


def _measure(name: str, run: Run, repeat: int) -> str:
    """Measure a run by turns; what it shares is taken from the median turn."""
    run(2)
    alone, both = [], []
    shared: list[SharedWork] = []
    for _ in range(repeat):
        alone.append(timed(partial(run, 1)))
        both.append(timed(partial(run, 2)))
        shared.append(measure_shared(partial(run, 2)))
    typical = sorted(shared, key=lambda each: each.serial)[len(shared) // 2]
    ratio = median(a.wall / b.wall for a, b in zip(alone, both, strict=True))
    cells = [
        f"{1000 * median(each.processor for each in alone):,.0f} ms",
        f"{ratio:.2f}",
        f"{typical.serial:.0%}",
        f"{typical.interpreted:.0%}",
        *(f"{typical.speedup(threads):.1f}" for threads in MODELLED),
    ]
    return _line(name, cells)


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
