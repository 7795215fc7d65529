"""Shares of a run: the processor time that several threads can share, or only one.

The wall time of two workers on a machine that others use says little. Processor time
says more: what no thread shares is done by one, however many there are. So the two ways
to share work out, `map_ordered` and a `CallQueue`, are timed by the clock of each
thread, and the rest of the process is serial.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from threading import local
from typing import Any, TypeVar

from bench.timing import Runner
from tiltpy.routines import routine
from tiltpy.runtime.concurrency import workers
from tiltpy.runtime.execution import call_queue, call_table

R = TypeVar("R")


@dataclass(slots=True)
class Region:
    """Work that threads share: processor seconds in all, and the parts they take."""

    seconds: float = 0.0
    parts: int = 0

    def modelled(self, threads: int) -> float:
        """Model the seconds that so many threads take, if all parts are alike."""
        rounds = -(-self.parts // threads)
        return self.seconds * rounds / self.parts if self.parts else 0.0


@dataclass(frozen=True, slots=True)
class SharedWork:
    """A run in seconds: of wall time, of processor time, and what of that is shared.

    `called` are those of the shared ones in machine code of ours; in the rest, Python,
    NumPy and Arrow, threads may wait for the interpreter's lock.
    """

    wall: float
    processor: float
    regions: tuple[Region, ...]
    called: float

    @property
    def shared(self) -> float:
        """Seconds of processor time that any thread could have taken."""
        return sum(region.seconds for region in self.regions)

    @property
    def serial(self) -> float:
        """The share of processor time that one thread has to do."""
        return max(0.0, 1 - self.shared / self.processor)

    @property
    def interpreted(self) -> float:
        """The share that threads have, but not in machine code of ours."""
        return max(0.0, self.shared - self.called) / self.processor

    def speedup(self, threads: int) -> float:
        """Model the speedup of so many threads: Amdahl's law, by region."""
        alone = self.processor - self.shared
        shared = sum(region.modelled(threads) for region in self.regions)
        return self.processor / (alone + shared)


class _Depth(local):
    """The depth of a thread in shared work: calls in there count once."""

    shared = 0
    called = 0


@dataclass(slots=True)
class _Clock:
    """Regions by what owns them, and seconds in calls of machine code."""

    regions: dict[int, Region] = field(default_factory=dict)
    owners: list[object] = field(default_factory=list)
    called: list[float] = field(default_factory=list)
    depth: _Depth = field(default_factory=_Depth)

    def share(self, owner: object, task: Callable[[], R], parts: int) -> R:
        """Do a task of a region, which is a number of its parts."""
        if self.depth.shared:
            return task()
        if id(owner) not in self.regions:
            self.owners.append(owner)  # so that no other object gets its id
        region = self.regions.setdefault(id(owner), Region())
        begun = time.thread_time()
        self.depth.shared += 1
        try:
            return task()
        finally:
            self.depth.shared -= 1
            region.seconds += time.thread_time() - begun
            region.parts += parts

    def call(self, task: Callable[[], R]) -> R:
        """Call machine code."""
        if not self.depth.shared or self.depth.called:
            return task()
        begun = time.thread_time()
        self.depth.called += 1
        try:
            return task()
        finally:
            self.depth.called -= 1
            self.called.append(time.thread_time() - begun)


def measure_shared(runner: Runner) -> SharedWork:
    """Run once, with two workers or more, and tell what of it was shared."""
    with _clock() as clock:
        wall, processor = time.perf_counter(), time.process_time()
        result = runner()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    del result
    regions = tuple(clock.regions.values())
    return SharedWork(wall, processor, regions, sum(clock.called))


@contextmanager
def _clock() -> Iterator[_Clock]:
    """Time all that is shared, and the machine code in it."""
    clock = _Clock()
    several: set[int] = set()

    def step(original: Any, queue: Any) -> bool:
        part = partial(original, queue)
        return bool(clock.share(queue, part, int(bool(queue.pending))))

    def make(original: Any, code: Any, pairs: Any, owner: object) -> None:
        if len(pairs) > 1:
            several.add(id(owner))
            clock.share(owner, lambda: None, len(pairs[0]))
        original(code, pairs, owner)

    def take(original: Any, *arguments: Any) -> None:
        owner = arguments[-1]
        called = partial(clock.call, partial(original, *arguments))
        if id(owner) in several:
            clock.share(owner, called, 0)
        else:
            called()

    def call(original: Any, *arguments: Any, **options: Any) -> None:
        clock.call(partial(original, *arguments, **options))

    with (
        _replaced(workers, "_Queue.step", step),
        _replaced(call_queue, "_make", make),
        _replaced(call_queue, "_take", take),
        _replaced(call_table, "CallTable.run_in_order", call),
        _replaced(routine, "Routine.__call__", call),
    ):
        yield clock


@contextmanager
def _replaced(module: object, path: str, by: Callable[..., Any]) -> Iterator[None]:
    """Have a function replaced by one that gets it before its arguments."""
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, module)
    original = getattr(owner, name)

    def called(*arguments: Any, **options: Any) -> Any:
        return by(original, *arguments, **options)

    setattr(owner, name, called)
    try:
        yield
    finally:
        setattr(owner, name, original)
