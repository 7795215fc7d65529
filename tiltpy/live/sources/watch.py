"""Waiting for files to change: by the system's notifications, or by looking again.

With watchfiles (`pip install 'tiltpy[live]'`) a change is seen at once; without, after
a tenth of a second.
"""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

POLL = 0.1
"""Seconds between looks at a file, without notifications."""
PATIENCE = 1.0
"""Seconds after which files are looked at although nothing was notified: a network
drive notifies nothing."""


class FolderWatch:
    """Waits until something in a folder has changed, or may have."""

    def __init__(self, folder: Path, stopped: Event, poll: float = POLL) -> None:
        self._stopped = stopped
        self._poll = poll
        self._changes = _watch(folder, stopped)

    def wait(self, longest: float = PATIENCE) -> None:
        """Wait for a change, or `longest` seconds; soon over once it is stopped."""
        if self._changes is None or longest < PATIENCE:
            self._stopped.wait(min(self._poll, longest))
        else:
            try:
                next(self._changes)
            except (OSError, StopIteration):  # the system watches no more folders
                self._changes = None


def _watch(folder: Path, stopped: Event) -> Iterator[object] | None:
    try:
        from watchfiles import watch  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    return watch(
        folder,
        watch_filter=None,
        debounce=50,
        step=5,
        stop_event=stopped,
        rust_timeout=int(PATIENCE * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        recursive=False,
    )
