"""Work shared among threads, of which the caller's is one.

So one thread less is started, and none has to be woken for each result: with few
processors both would take as long as some of the work.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

from tiltpy.runtime.concurrency.offload import adopt, current_work
from tiltpy.runtime.concurrency.threads import start

T = TypeVar("T")
R = TypeVar("R")


class _Queue(Generic[T, R]):
    """Items that no worker has begun, and results, by their numbers."""

    def __init__(self, work: Callable[[T], R], items: Iterable[T]) -> None:
        self.work = work
        self.pending = deque(enumerate(items))
        self.done: dict[int, R] = {}

    def step(self) -> bool:
        """Do the next item; False if there is none."""
        try:
            number, item = self.pending.popleft()
        except IndexError:
            return False
        self.done[number] = self.work(item)
        return True

    def drain(self) -> None:
        """Do all items that others leave; after an error no worker begins another."""
        try:
            while self.step():
                pass
        finally:
            self.pending.clear()


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
    with ThreadPoolExecutor(workers - 1, "tiltpy", adopt, (current_work(),)) as pool:
        helpers = [pool.submit(queue.drain) for _ in range(workers - 1)]
        try:
            while queue.step():
                while ready in queue.done:
                    yield queue.done.pop(ready)
                    ready += 1
            for helper in helpers:
                helper.result()
        finally:
            queue.pending.clear()
    for number in sorted(queue.done):
        yield queue.done.pop(number)


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
