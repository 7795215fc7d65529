"""Sharing work out among threads, of which the caller's is one.

So there is a thread less to be started, and nobody has to be woken for each result:
with few processors both would take as long as some of the work.
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
    """Items that nobody has begun, and results, by their numbers."""

    def __init__(self, work: Callable[[T], R], items: Iterable[T]) -> None:
        self.work = work
        self.pending = deque(enumerate(items))
        self.done: dict[int, R] = {}

    def step(self) -> bool:
        """Do the next item; whether there was one."""
        try:
            number, item = self.pending.popleft()
        except IndexError:
            return False
        self.done[number] = self.work(item)
        return True

    def drain(self) -> None:
        """Do all items that others leave; after an error nobody begins another."""
        try:
            while self.step():
                pass
        finally:
            self.pending.clear()


def map_ordered(
    work: Callable[[T], R], items: Iterable[T], workers: int
) -> Generator[R]:
    """Map a function over items by several workers; begun and given in their order.

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


def run_all(work: Sequence[Callable[[], object]], stop: Callable[[], object]) -> None:
    """Do each of some work, none of which fails, in a thread of its own.

    The first is the caller's. When that is done, or interrupted, the others are told to
    `stop` after what they are doing, and waited for.
    """
    if len(work) == 1:
        work[0]()
        return
    done: SimpleQueue[None] = SimpleQueue()
    begun = 0
    try:
        with suppress(RuntimeError):  # no more threads: those that there are do it all
            for one in work[1:]:
                start(one, partial(done.put, None))
                begun += 1
        work[0]()
    finally:
        stop()
        for _ in range(begun):
            done.get()
