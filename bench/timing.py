"""Measuring on a machine that others use too: in turns, medians, ratios within a turn.

Rates are of wall time. Ratios of two runs on one thread are of processor time, which
the load of others changes least.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

Runner = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Spread:
    """Some measurements of one thing, in the order in which they were made."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    def show(self, digits: int = 0) -> str:
        """The median, and in parentheses the least and the most."""
        of = (self.median, min(self.values), max(self.values))
        middle, least, most = (f"{value:,.{digits}f}" for value in of)
        return f"{middle} ({least}-{most})"


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long one run took."""

    wall: float
    processor: float


def timed(runner: Runner) -> Seconds:
    """Run once; what it returns is dropped after the clocks stop."""
    wall, processor = time.perf_counter(), time.process_time()
    result = runner()
    taken = Seconds(time.perf_counter() - wall, time.process_time() - processor)
    del result
    return taken


def take_turns(
    runners: Mapping[str, Runner], repeat: int
) -> dict[str, tuple[Seconds, ...]]:
    """Time the runners in turns.

    Each runs once beforehand, to be compiled and to have its memory.
    """
    for runner in runners.values():
        runner()
    found: dict[str, list[Seconds]] = {name: [] for name in runners}
    for _ in range(repeat):
        for name, runner in runners.items():
            found[name].append(timed(runner))
    return {name: tuple(seconds) for name, seconds in found.items()}


def rate(events: int, seconds: tuple[Seconds, ...]) -> Spread:
    """Million events per second."""
    return Spread(tuple(events / one.wall / 1e6 for one in seconds))


def speedup(ours: tuple[Seconds, ...], theirs: tuple[Seconds, ...]) -> Spread:
    """How many times faster we are than they, turn by turn."""
    turns = zip(ours, theirs, strict=True)
    return Spread(tuple(b.processor / a.processor for a, b in turns))
