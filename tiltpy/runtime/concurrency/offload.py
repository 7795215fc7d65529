"""Long work beside the caller's thread, which stays open to interrupts.

Python handles a signal in the main thread, between two bytecodes: while that thread
sorts a column, compiles or runs a kernel, Ctrl-C has no effect. So it hands long work
to another thread and waits for the outcome, and a signal ends the wait at once. Code of
the caller stays in the caller's thread: frames that run Python code when they are read
(`in_caller`), and `progress`.

An interrupt sets the work's stop flag, which kernels and the loops over their calls
poll (`codegen.llvm.drivers`), and raises `StopWork` in its thread. A call into another
library continues there to its end, and its result is dropped.
"""

import atexit
import ctypes
import gc
import sys
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from threading import current_thread, get_ident, local, main_thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import numpy as np

from tiltpy.errors import TiltError
from tiltpy.forks import ForkSafe
from tiltpy.runtime.concurrency.threads import StopWork, start

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]

HEARTBEAT = 0.2
"""Seconds without a report after which `progress` is called with the latest one again,
and signals that came to another thread are handled."""
GRACE = 0.05
"""Seconds that stopped work has to end, before its caller abandons it."""
POLL = 0.1
"""Seconds after which work that waits for its caller polls the stop flag."""


class StopFlag:
    """A flag for kernels to poll, at an `address`; they end when it is set."""

    __slots__ = ("_flag", "address")

    def __init__(self) -> None:
        self._flag = np.zeros(1, np.int64)
        self.address = int(self._flag.ctypes.data)

    def set(self) -> None:
        """Have the kernels end."""
        self._flag[0] = 1

    @property
    def is_set(self) -> bool:
        """Return whether the kernels shall end."""
        return bool(self._flag[0])


_NEVER_SET = StopFlag()


class Work(ForkSafe, Generic[T]):
    """A task in another thread, and the messages between it and its caller."""

    def __init__(self, task: Callable[[], T], *, attended: bool) -> None:
        super().__init__()
        self.flag = StopFlag()
        self.attended = attended
        """Whether the caller wants reports of progress."""
        self._task: Callable[[], T] | None = task
        self._threads = _here.threads
        self._messages: SimpleQueue[Callable[[], None] | tuple[int, int] | None] = (
            SimpleQueue()
        )
        """Tasks for the caller, or reports of progress; None at the end."""
        self.is_over = False
        """Whether its thread has finished."""
        self._thread: int | None = None
        self._left = self._ended = False
        self._result: list[T] = []
        self._error: BaseException | None = None

    def after_fork(self) -> None:
        """Fail in a forked child: the work is the parent's."""
        super().after_fork()
        self._error = TiltError("the process that runs this query forked this one")
        self._messages = SimpleQueue()
        self._messages.put(None)

    # In its thread

    def run(self) -> None:
        """Do the task; `StopWork` if nobody waits any more, so that the thread ends."""
        with self._lock:
            if self._left:
                return
            self._thread = get_ident()
        _here.work, _here.threads = self, self._threads
        try:
            task, self._task = self._task, None
            assert task is not None
            self._result.append(task())
        except BaseException as error:
            self._error = error
        finally:
            del task
            _here.work, _here.threads = None, 1
        with self._lock:
            self._ended = True
        if self._left:
            self._error = None
            raise StopWork

    def tell(self) -> None:
        """Tell the caller that the work has ended."""
        self.is_over = True
        self._messages.put(None)

    def report(self, done: int, total: int) -> None:
        """Report progress to the caller."""
        self._messages.put((done, total))

    def ask(self, task: Callable[[], R]) -> R:
        """Have the caller do a task, and wait for its result."""
        answers: SimpleQueue[tuple[list[R], Exception | None]] = SimpleQueue()

        def answer() -> None:
            try:
                answers.put(([task()], None))
            except Exception as error:
                answers.put(([], error))

        self._messages.put(answer)
        while True:
            try:
                result, error = answers.get(timeout=POLL)
            except Empty:
                self.check()
            else:
                break
        if error is not None:
            raise error
        return result[0]

    def check(self) -> None:
        """Raise `StopWork`, if the work has been stopped."""
        if self.flag.is_set:
            raise StopWork

    # In the caller's

    def outcome(self, progress: Progress | None, latest: tuple[int, int]) -> T:
        """Wait for the end, and return the result or raise the error."""
        while True:
            try:
                message = self._messages.get(timeout=HEARTBEAT)
            except Empty:
                message = latest
            match message:
                case None:
                    break
                case tuple():
                    latest = message
                    if progress is not None:
                        progress(*latest)
                case _:
                    message()
        try:
            if self._error is not None:
                raise self._error
            return self._result.pop()
        finally:
            self._error = None  # whose traceback would keep this frame, and that this

    def leave(self) -> None:
        """Stop the work, and wait a little for its end."""
        self.flag.set()
        with self._lock:
            if self._ended:
                return
            self._left = True
            if self._thread is None:  # it will not begin any more
                self.is_over = True
                return
            _raise_in(self._thread)
        try:
            while self._messages.get(timeout=GRACE) is not None:
                pass
        except Empty:
            _abandoned.add(self)


_abandoned: WeakSet[Work[Any]] = WeakSet()


def is_abandoned() -> bool:
    """Tell whether any abandoned work still runs."""
    return not all(work.is_over for work in _abandoned)


class _Here(local):
    """The work of each thread, and how many threads it may be shared among."""

    work: Work[Any] | None = None
    threads: int = 1


_here = _Here()


def offload(
    task: Callable[[], T],
    progress: Progress | None = None,
    latest: tuple[int, int] = (0, 1),
) -> T:
    """Do a long task, beside the caller's thread if that must handle signals.

    That is the main thread, and any that is to call `progress`: for each report of the
    task, and at least a few times a second with the latest one.
    """
    if _here.work is not None:
        return task()
    if progress is None and current_thread() is not main_thread():
        return task()
    work = Work(task, attended=progress is not None)
    try:
        try:
            start(work.run, work.tell)
        except RuntimeError:  # no more threads
            return task()
        return work.outcome(progress, latest)
    except BaseException:
        work.leave()
        raise


def in_caller(task: Callable[[], T]) -> T:
    """Do a task of the caller's in its thread, which waits for the work done here."""
    return task() if _here.work is None else _here.work.ask(task)


def call_in_caller(progress: Progress) -> Progress:
    """Wrap `progress` so that it runs in the caller's thread."""
    return partial(_report, progress)


def _report(progress: Progress, done: int, total: int) -> None:
    work = _here.work
    if work is None or not work.attended:
        progress(done, total)
    else:
        work.report(done, total)


def stop_flag() -> StopFlag:
    """Return the stop flag for kernels that this thread calls."""
    work = _here.work
    return _NEVER_SET if work is None else work.flag


def current_work() -> Work[Any] | None:
    """Return the work of this thread, for its helpers to `adopt`."""
    return _here.work


def adopt(work: Work[Any] | None) -> None:
    """Have this thread help with work of another."""
    _here.work = work


def allowed_threads() -> int:
    """Return how many threads may share what this thread does, itself among them."""
    return _here.threads


class allow_threads:  # noqa: N801 - reads as a function
    """Allow so many threads to share what this thread does in the context."""

    __slots__ = ("_before", "_count")

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> None:
        self._before, _here.threads = _here.threads, self._count

    def __exit__(self, *_: object) -> None:
        _here.threads = self._before


def _raise_in(thread: int) -> None:
    """Raise `StopWork` in a thread when it returns to Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(StopWork)
    )


@atexit.register
def _exit_soon() -> None:
    """Skip the last garbage collection of a script that Ctrl-C ended.

    Over all that is imported it takes 0.1 to 0.4 s. Objects in cycles are not finalized
    then, which nothing promises; functions registered with `atexit` run as ever.
    """
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        gc.freeze()
