"""Work shared among threads, of which the caller's is one.

So one thread less is started, and none has to be woken for each result: with few
processors both would take as long as some of the work. What a thread shares its work
among is told by `allowed_threads`: a run allows its workers, and parts of shared work
are not shared once more.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.concurrency.offload import (
    Work,
    adopt,
    allow_threads,
    allowed_threads,
    current_work,
)
from tiltpy.runtime.concurrency.threads import StopWork, start

T = TypeVar("T")
R = TypeVar("R")


class _Queue(Generic[T, R]):
    """Items that no worker has begun, and results, by their numbers."""

    def __init__(self, work: Callable[[T], R], items: Iterable[T]) -> None:
        self.work = work
        self.pending = deque(enumerate(items))
        self.done: dict[int, R] = {}
        self.errors: list[BaseException] = []

    def step(self) -> bool:
        """Do the next item; False if there is none."""
        try:
            number, item = self.pending.popleft()
        except IndexError:
            return False
        with allow_threads(1):
            self.done[number] = self.work(item)
        return True

    def help(self, work: Work[Any] | None) -> None:
        """Do all items that others leave; after an error no worker begins another."""
        adopt(work)
        try:
            while self.step():
                pass
        except StopWork:
            self.errors.append(StopWork())  # without frames, which hold this queue
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.pending.clear()
            adopt(None)


def map_ordered(
    work: Callable[[T], R], items: Iterable[T], workers: int
) -> Generator[R]:
    """Map a function over items by several workers; results come in order of items.

    Closing it stops the workers after what they are doing, as an error of one does.
    """
    if workers == 1:
        yield from map(work, items)
        return
    queue, ready = _Queue(work, items), 0
    ended: SimpleQueue[None] = SimpleQueue()
    begun = 0
    try:
        with suppress(RuntimeError):  # no more threads: those that there are do it all
            for _ in range(min(workers, len(queue.pending)) - 1):
                start(partial(queue.help, current_work()), partial(ended.put, None))
                begun += 1
        while queue.step():
            while ready in queue.done:
                yield queue.done.pop(ready)
                ready += 1
    finally:
        queue.pending.clear()
        for _ in range(begun):
            ended.get()
        # The frames of an error hold the queue: it must not hold the error.
        errors = [*queue.errors]
        queue.errors.clear()
    if errors:
        raise errors.pop(0)
    for number in sorted(queue.done):
        yield queue.done.pop(number)


def portions(rows: int, least: int | None = None, each: int = 4) -> Iterator[slice]:
    """Divide rows into portions for the threads that may share them.

    A portion has `least` rows or more, by default as many as sharing takes; a thread
    gets `each` of them, so that none waits long for another. One thread has them all.
    """
    threads, least = allowed_threads(), least or DEFAULT_COSTS.run.portion_rows
    count = max(1, min(threads * each, rows // least)) if threads > 1 else 1
    for first, stop in pairwise(rows * number // count for number in range(count + 1)):
        yield slice(first, stop)


def map_portions(work: Callable[[slice], R], rows: int) -> list[R]:
    """Map a function over portions of rows, which threads share; results in order."""
    if rows < 2 * DEFAULT_COSTS.run.portion_rows:
        return [work(slice(0, rows))]
    return map_shared(work, list(portions(rows)))


def map_shared(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Map a function over items, shared among as many threads as are allowed."""
    if len(items) == 1:
        return [work(items[0])]
    return list(map_ordered(work, items, min(allowed_threads(), max(1, len(items)))))


def run_all(tasks: Sequence[Callable[[], object]], stop: Callable[[], object]) -> None:
    """Do some tasks, none of which fails, each in a thread.

    The first is done in the caller's. When it ends, or is interrupted, the others are
    told to `stop` after what they are doing, and waited for.
    """
    if len(tasks) == 1:
        tasks[0]()
        return
    done: SimpleQueue[None] = SimpleQueue()
    begun = 0
    try:
        with suppress(RuntimeError):  # no more threads: those that there are do it all
            for task in tasks[1:]:
                start(task, partial(done.put, None))
                begun += 1
        tasks[0]()
    finally:
        stop()
        for _ in range(begun):
            done.get()
