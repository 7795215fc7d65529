"""The settled rows of an input that the outputs of a session still need."""

from collections.abc import Mapping
from typing import Any

from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrivals.live_source import LiveSource
from tiltpy.runtime.incremental.concat import drop_before, gather
from tiltpy.runtime.incremental.state import (
    InputBuffer,
    KeyedInputBuffer,
    buffer_bytes,
)
from tiltpy.runtime.ingest.read_input import InputRows

FEW_ROWS = 64
"""Rows that may stay whether they are needed or not."""


def _ignore(rows: InputRows) -> None:
    """Look at no rows."""


class LiveBuffer(InputBuffer):
    """Rows without keys, behind them those that nothing ends yet."""

    def __init__(self, source: LiveSource) -> None:
        super().__init__(source.declared, source, _ignore)
        self.source = source
        self._needed = 0
        """The rows that stayed when some were forgotten last."""

    def rows(self) -> SnapshotBuffer:
        """Return all rows, in one piece."""
        held, tail = super().rows(), self.source.tail_events()
        return held if tail is None else gather([held, tail], self.payload)

    @property
    def domain(self) -> tuple[int, int] | None:
        """The first start and the greatest end that counts for a domain."""
        tail = self.source.tail_events()
        bounds = [self.bounds, None if tail is None else tail.bounds()]
        some = [each for each in bounds if each is not None]
        if not some:
            return None
        return min(low for low, _ in some), max(high for _, high in some)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        return {"rows": super().rows(), "bounds": self.bounds}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on with saved rows."""
        self._rows, self.bounds = saved["rows"], saved["bounds"]

    def drop_before(self, time: int | None, last_rows: int) -> int:
        """Forget events that end by a time, or all; the bytes of those that stay.

        Not before as many came as stayed the last time: each is moved once or twice.
        """
        if time is None:
            self._needed = 0
            return super().drop_before(None, last_rows)
        count = self._rows.n + sum(piece.n for piece in self._fresh)
        if count > 2 * self._needed + FEW_ROWS:
            self._rows = drop_before(super().rows(), time, last_rows, self.payload)
            self._needed = self._rows.n
        return buffer_bytes(self._rows)


class LiveKeyedBuffer(KeyedInputBuffer):
    """Rows by key that came since an engine took the rows before."""

    def __init__(self, source: LiveSource) -> None:
        super().__init__(source.declared, source, _ignore)

    @property
    def domain(self) -> tuple[int, int] | None:
        """The first start and the greatest end that counts for a domain."""
        return self.bounds

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        assert not self.is_waiting, "rows came that no engine has taken"
        return {"bounds": self.bounds}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on behind the rows before."""
        self.bounds = saved["bounds"]


def open_input(source: LiveSource) -> LiveBuffer | LiveKeyedBuffer:
    """Open the rows of an input whose schema is known."""
    return (LiveKeyedBuffer if source.declared.keys else LiveBuffer)(source)
