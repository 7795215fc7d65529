"""Threads that are reused: to start one takes as long as some of the work."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread


class StopWork(BaseException):
    """Ends abandoned work in its thread."""


Inbox = SimpleQueue[tuple[Callable[[], object], Callable[[], object]]]
_idle: deque[Inbox] = deque()


def start(work: Callable[[], object], done: Callable[[], object]) -> None:
    """Do some work in an idle thread, or a new one, which then calls `done`.

    `RuntimeError` if there can be no more threads. The work raises nothing but
    `StopWork`, with which the thread ends.
    """
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        Thread(target=_help, args=(inbox,), name="tiltpy", daemon=True).start()
    inbox.put((work, done))


def _help(inbox: Inbox) -> None:
    with suppress(StopWork):  # which may come late: no other work shall meet it
        while True:
            work, done = inbox.get()
            try:
                work()
                del work  # and with it what it holds
                _idle.append(inbox)
            finally:
                try:
                    done()
                except StopWork:  # which comes once, wherever the thread is by then
                    done()
                    raise


# A forked process has none of them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
