"""Reading and writing beside computing: one item ahead, one task behind.

A run in parts computes a span while another thread decodes the rows of the next one,
and a third encodes the results of the one before. At most one item waits on each side,
so that memory stays bounded. Threads are abandoned, not waited for, where an error or
an interrupt ends the run: what they own they close themselves.
"""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Semaphore
from typing import Generic, TypeVar

from tiltpy.errors import TiltError
from tiltpy.forks import ForkSafe
from tiltpy.runtime.concurrency.threads import start

T = TypeVar("T")


class _Producer(ForkSafe, Generic[T]):
    """Draws from an iterator in its thread while the consumer has room for an item."""

    def __init__(self, items: Iterator[T]) -> None:
        super().__init__()
        self._items = items
        self._room = Semaphore(1)
        self._stopped = False
        self.drawn: SimpleQueue[tuple[list[T], BaseException | None]] = SimpleQueue()
        """An item each; none at the end, with the error that ended it."""

    def after_fork(self) -> None:
        """Fail in a forked child: the thread is the parent's."""
        super().after_fork()
        self.drawn = SimpleQueue()
        self.drawn.put(([], TiltError("the process that reads this forked this one")))

    def run(self) -> None:
        """Draw all items, unless stopped."""
        error: BaseException | None = None
        try:
            while True:
                self._room.acquire()
                item = [] if self._stopped else list(islice(self._items, 1))
                if not item:
                    break
                self.drawn.put((item, None))
                del item
        except BaseException as raised:
            error = raised
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
        self.drawn.put(([], error))

    def take(self) -> list[T]:
        """Wait for the next item; none at the end."""
        item, error = self.drawn.get()
        if error is not None:
            raise error
        self._room.release()
        return item

    def stop(self) -> None:
        """Have the thread end after the item that it draws."""
        self._stopped = True
        self._room.release()


def draw_ahead(items: Iterator[T]) -> Generator[T]:
    """Draw from an iterator in another thread, an item ahead of the consumer.

    The iterator runs no code of a caller's. Closing this, or an error, closes it.
    """
    producer = _Producer(items)
    try:
        start(producer.run, lambda: None)
    except RuntimeError:  # no more threads
        yield from items
        return
    try:
        while item := producer.take():
            yield from item
            del item
    finally:
        producer.stop()


class TaskBehind(ForkSafe):
    """A place for one task that is done beside the caller's thread."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._begun = False

    def after_fork(self) -> None:
        """Fail in a forked child: the task is the parent's."""
        super().after_fork()
        self._ended = SimpleQueue()
        self._ended.put(TiltError("the process that writes this forked this one"))

    @property
    def is_busy(self) -> bool:
        """Return whether a task may still be running."""
        return self._begun and self._ended.empty()

    def begin(self, task: Callable[[], object]) -> None:
        """Begin a task after the one before, whose error is raised here."""
        self.wait()
        try:
            start(partial(self._run, task), lambda: None)
        except RuntimeError:  # no more threads
            task()
        else:
            self._begun = True

    def wait(self) -> None:
        """Wait for the task, and raise its error."""
        if self._begun:
            error = self._ended.get()
            self._begun = False
            if error is not None:
                raise error

    def _run(self, task: Callable[[], object]) -> None:
        error: BaseException | None = None
        try:
            task()
        except BaseException as raised:
            error = raised
        del task
        self._ended.put(error)
