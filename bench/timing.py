"""Measuring on a machine that others use too: in turns, medians, ratios within a turn.

Rates are of wall time. Ratios of two runs on one thread are of processor time, which
the load of others changes least; all others are of wall time.
"""

import resource
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import median, quantiles

Runner = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Spread:
    """Some measurements of one thing, in the order in which they were made."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    def show(self) -> str:
        """The median, and in percent how far the values lie around it, half of them.

        That is half the distance between the first and the third quartile.
        """
        middle = self.median
        digits = 0 if middle >= 10 else 1 if middle >= 1 else 2
        return f"{middle:,.{digits}f} ±{100 * self._half() / middle:.0f}%"

    def _half(self) -> float:
        if len(self.values) < 2:
            return 0.0
        first, _, third = quantiles(self.values, method="inclusive")
        return (third - first) / 2


@dataclass(frozen=True, slots=True)
class Seconds:
    """Times of one run; `children` is the processor time of ended processes."""

    wall: float
    processor: float
    children: float = 0.0


Turns = tuple[Seconds, ...]


LEAST = 0.02
"""Seconds of a turn: a run that is shorter repeats, and the turn has the mean.

The first run after a pause finds cold caches, which take up to 0.5 ms with Python and
0.04 ms without: by one run alone, that were most of its time.
"""


def timed(runner: Runner, least: float = 0.0) -> Seconds:
    """Run once, or for `least` seconds: the mean of the runs.

    What a run returns is dropped while the clocks stand.
    """
    runs, wall, processor = 0, 0.0, 0.0
    children = _children()
    while not runs or wall < least:
        began, used = time.perf_counter(), time.process_time()
        result = runner()
        processor += time.process_time() - used
        wall += time.perf_counter() - began
        del result
        runs += 1
    return Seconds(wall / runs, processor / runs, (_children() - children) / runs)


def _children() -> float:
    """Processor seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


PAUSE = 0.002
"""Seconds over which the threads of this process must be idle before a run."""
PATIENCE = 100
"""Pauses after which a run begins in any case."""


def _wait_for_threads() -> None:
    """Wait until the threads of the runner before are idle.

    Those of Polars go on for some milliseconds, which were the next runner's otherwise.
    """
    for _ in range(PATIENCE):
        used = time.process_time()
        time.sleep(PAUSE)
        if time.process_time() - used < PAUSE / 10:
            return


def take_turns(runners: Mapping[str, Runner], repeat: int) -> dict[str, Turns]:
    """Time the runners in turns, each when the threads of those before are idle.

    Each runs once beforehand, to be compiled and to have its memory. Short runs repeat.
    """
    for runner in runners.values():
        runner()
    found: dict[str, list[Seconds]] = {name: [] for name in runners}
    for _ in range(repeat):
        for name, runner in runners.items():
            _wait_for_threads()
            found[name].append(timed(runner, LEAST))
    return {name: tuple(seconds) for name, seconds in found.items()}


def rate(events: int, seconds: Turns) -> Spread:
    """Million events per second."""
    return Spread(tuple(events / one.wall / 1e6 for one in seconds))


def speedup(ours: Turns, theirs: Turns, *, one_thread: bool) -> Spread:
    """Return our speed over theirs, turn by turn."""
    turns = zip(ours, theirs, strict=True)
    if one_thread:
        return Spread(tuple(b.processor / a.processor for a, b in turns))
    return Spread(tuple(b.wall / a.wall for a, b in turns))


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean that treats twice as fast and half as fast alike."""
    logarithms = [log(ratio) for ratio in ratios]
    return exp(sum(logarithms) / len(logarithms))
