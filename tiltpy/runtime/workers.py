"""Sharing work out among threads, of which the caller's is one.

So there is a thread less to be started, and nobody has to be woken for each result:
with few processors both would take as long as some of the work.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

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


def share_out(work: Callable[[T], R], items: Iterable[T], workers: int) -> Generator[R]:
    """The results of some work, in order of the items, which are begun in order too.

    Closing it stops the workers after what they are doing, as an error of one does.
    """
    if workers == 1:
        yield from map(work, items)
        return
    queue, ready = _Queue(work, items), 0
    with ThreadPoolExecutor(workers - 1, "tiltpy") as pool:
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


class Task(Protocol):
    """Work that threads do together."""

    def lead(self, *, helped: bool) -> None:
        """What the caller's thread does."""

    def help(self) -> None:
        """What each of the others does."""

    def stop(self) -> None:
        """Have all of them cease after what they are doing."""


class Crew:
    """A number of threads, the caller's among them, for one task after the other."""

    def __init__(self, workers: int) -> None:
        self._helpers = workers - 1
        self._pool = (
            ThreadPoolExecutor(self._helpers, "tiltpy") if workers > 1 else None
        )

    def work(self, task: Task) -> None:
        """Do a task; an error of one thread stops all."""
        if self._pool is None:
            task.lead(helped=False)
            return
        helpers = [self._pool.submit(task.help) for _ in range(self._helpers)]
        try:
            task.lead(helped=True)
            for helper in helpers:
                helper.result()
        finally:
            task.stop()
            wait(helpers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
