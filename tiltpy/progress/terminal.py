"""Progress on a terminal: rich's bar, or a percentage."""

import sys

from tiltpy.progress.progress_bar import ProgressDisplay


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


def open_terminal() -> ProgressDisplay:
    """Begin a bar on the terminal."""
    try:
        return _Bar()
    except ImportError:
        return _Percent()
