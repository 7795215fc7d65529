"""The progress of long runs: shown on a terminal, after two seconds."""

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType

PATIENCE = 2.0
"""Seconds before anything is shown."""


class Progress(AbstractContextManager["Progress"]):
    """Draws a bar; called with the chunks done and the chunks in all."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._bar: _Bar | _Percent | None = None

    def __call__(self, done: int, total: int) -> None:
        if not self._terminal or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            self._bar = _bar()
        self._bar.show(done, max(total, 1))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class _Percent:
    """A percentage, written over in place, where rich is not installed."""

    def show(self, done: int, total: int) -> None:
        print(f"\r{done * 100 // total} %", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(f"\r{' ' * 6}\r", end="", file=sys.stderr, flush=True)


class _Bar:
    """rich's progress bar; it disappears when the run is over."""

    def __init__(self) -> None:
        # Part of the extra `cli`, and too slow to import for runs that end at once.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import Progress as RichProgress  # noqa: PLC0415

        self._progress = RichProgress(console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("running", total=None)
        self._progress.start()

    def show(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)

    def close(self) -> None:
        self._progress.stop()


def _bar() -> _Bar | _Percent:
    try:
        return _Bar()
    except ImportError:
        return _Percent()
