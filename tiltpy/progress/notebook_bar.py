"""Progress below the cell of a notebook: an HTML element that is updated in place.

rich's bar needs ipywidgets there; this one needs nothing but the kernel.
"""

import time
from html import escape
from uuid import uuid4

from IPython import get_ipython
from IPython.display import publish_display_data

from tiltpy.progress.progress_bar import ProgressDisplay

INTERVAL = 0.2
"""Seconds between two updates, each of which is a message to the browser."""


class _NotebookBar:
    """A bar that is updated in place, and emptied at the end."""

    def __init__(self) -> None:
        self._id = f"tilt-progress-{uuid4().hex}"
        self._is_open = False
        self._shown_at = -INTERVAL

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._shown_at < INTERVAL:
            return
        self._shown_at = now
        percent = f"{done * 100 // total} %"
        bar = f'<progress value="{done}" max="{total}"></progress>'
        self._publish(f"running {bar} {escape(percent)}", f"running: {percent}")

    def close(self) -> None:
        if self._is_open:
            self._publish("", "")

    def _publish(self, html: str, text: str) -> None:
        publish_display_data(
            {"text/html": html, "text/plain": text},
            transient={"display_id": self._id},
            update=self._is_open,
        )
        self._is_open = True


def open_notebook() -> ProgressDisplay | None:
    """Begin a bar below the cell that runs; None outside of notebooks."""
    shell = get_ipython()
    return None if getattr(shell, "kernel", None) is None else _NotebookBar()
