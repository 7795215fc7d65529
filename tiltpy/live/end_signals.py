"""Signals that end a process, deferred: the run makes a checkpoint first."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
)
"""Signals that end a run; Windows has no SIGHUP."""


class EndSignal:
    """A signal that has come, if any."""

    def __init__(self) -> None:
        self.number: int | None = None

    @property
    def is_near(self) -> bool:
        """Return whether the run shall end."""
        return self.number is not None


@contextmanager
def defer_signals(wake: Callable[[], None]) -> Iterator[EndSignal]:
    """Defer the signals that end a process to the end of the context.

    `wake` is called when the first one comes; the second ends the run at once. Outside
    of the main thread, which alone sees signals, nothing is deferred.
    """
    ending = EndSignal()
    if current_thread() is not main_thread():
        yield ending
        return
    before: dict[int, Any] = {
        number: signal.getsignal(number)
        for number in ENDING
        if signal.getsignal(number) is not signal.SIG_IGN
    }

    def end(number: int, frame: FrameType | None) -> None:
        if ending.number is not None:
            _deliver_to(before[number], number, frame)
        ending.number = number
        wake()

    for number in before:
        signal.signal(number, end)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if ending.number is not None:
        _deliver_to(before[ending.number], ending.number, None)


def _deliver_to(handler: Any, number: int, frame: FrameType | None) -> None:
    """Do what would have been done when the signal came."""
    if callable(handler):
        handler(number, frame)
    else:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
