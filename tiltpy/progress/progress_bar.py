"""The bar of a long run: where it is shown, and since when."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, TypeVar

T = TypeVar("T")
Report = Callable[[int, int], None]
"""Called with what is done, and all there is."""
PATIENCE = 2.0
"""Seconds before anything is shown."""


class ProgressDisplay(Protocol):
    """Somewhere a bar is drawn."""

    def show(self, done: int, total: int) -> None:
        """Draw it anew."""

    def close(self) -> None:
        """Take it away."""


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Draws a bar; called with the chunks done and the chunks in all.

    On a terminal, or below the cell of a notebook; elsewhere nothing is shown.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._display: ProgressDisplay | None = None
        self._is_shown = True

    def __call__(self, done: int, total: int) -> None:
        if not self._is_shown or time.monotonic() - self._began < PATIENCE:
            return
        if self._display is None:
            self._display = _open_display()
            self._is_shown = self._display is not None
        if self._display is not None:
            self._display.show(done, max(total, 1))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away; it is not shown again."""
        self._is_shown = False
        if self._display is not None:
            self._display.close()
            self._display = None


class RunProgress(AbstractContextManager["RunProgress"]):
    """The progress of a run: a function of the caller, or a bar where that is True.

    `report` is what the run calls, if anything.
    """

    def __init__(self, progress: Report | bool | None) -> None:
        self._bar = ProgressBar() if progress is True else None
        chosen = None if isinstance(progress, bool) else progress
        self.report: Report | None = self._bar or chosen

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def around(self, results: Iterator[T]) -> Iterator[T]:
        """Yield results; the bar is taken away at the end, or after an error."""
        with self:
            yield from results


def _open_display() -> ProgressDisplay | None:
    if sys.stderr is not None and sys.stderr.isatty():
        from tiltpy.progress.terminal import open_terminal  # noqa: PLC0415 - late

        return open_terminal()
    if "IPython" in sys.modules:  # else it is no notebook, and an import takes long
        from tiltpy.progress.notebook_bar import open_notebook  # noqa: PLC0415 - late

        return open_notebook()
    return None
