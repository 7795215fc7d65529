"""`python -m bench threads`: one worker, two, ... all CPUs (figure 8)."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.measure import BenchOptions, measure, tiltpy
from bench.workloads.streams import Workload
from bench.workloads.tuned import WORKLOADS


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each workload: the rates, and what more workers make of one."""
    processors = range(1, (os.cpu_count() or 1) + 1)
    options = replace(options, workers=tuple(processors), peers=())
    yield f"{'million events/s':<26}" + "".join(f"{n:>14}" for n in processors)
    for workload in chosen or sampled():
        found = measure(workload, options)
        cells = [found.rate(tiltpy(n)).show() for n in processors]
        yield f"{workload.name:<26}" + "".join(f"{cell:>14}" for cell in cells)
        ratios = [found.ratio(tiltpy(n), tiltpy(1)) for n in processors]
        shown = [f"{ratio.median:.2f}" for ratio in ratios if ratio is not None]
        yield f"{'  to one worker':<26}" + "".join(f"{cell:>14}" for cell in shown)


def sampled() -> list[Workload]:
    """The workloads without times."""
    return [workload for workload in WORKLOADS if workload.family == "sampled"]
