"""The settled rows of an input that the outputs of a session still need."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiltpy.abi.layouts import Layout
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrivals.live_source import LiveSource
from tiltpy.runtime.arrivals.waiting_rows import TimedRows, list_plain
from tiltpy.runtime.incremental.growing_arrays import SHARED_ROWS
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.incremental.stamped_rows import EventLength, StampedRows
from tiltpy.runtime.incremental.state import (
    CameRows,
    KeyedInputBuffer,
    UnkeyedSource,
)
from tiltpy.runtime.ingest.read_input import InputRows

FEW_ROWS = 1 << 14
"""Rows that may stay whether they are needed or not, until they would be saved."""


def _ignore(rows: InputRows) -> None:
    """Look at no rows."""


class LiveBuffer(UnkeyedSource):
    """Rows without keys, behind them those that nothing ends yet."""

    def __init__(self, source: LiveSource) -> None:
        super().__init__(source.declared, source, _ignore)
        self.source = source
        self._needed = 0
        """The rows that stayed when some were forgotten last."""
        lifetime = source.reader.lifetime
        self._length = None if lifetime.columns else EventLength(lifetime)
        """The length of all events, if they have one, or hold until the next."""
        self._held = GrowingRows(source.declared.type, self._length)
        self._may_write = self._length is not None and source.reader.is_writable
        self._settled = 0
        """Rows that were settled since any waited in their memory."""

    def may_drop(self) -> bool:
        """Return whether so many rows have come that old ones may be forgotten.

        As many must have as stayed the last time: to find them takes a while. It takes
        less than to move them, where there is no room for others.
        """
        held, needed = self._held, 2 * self._needed
        count = held.rows.n
        return count > needed and (count > FEW_ROWS or held.is_full)

    def layout(self) -> Layout:
        return self.rows().abi_layout()

    def add(self, rows: CameRows) -> None:
        assert isinstance(rows, InputRows)
        self._held.append(rows.buffer)

    def receive_settled(self) -> None:
        """Take the rows that are settled."""
        if self._held.waiting:
            count = self._held.settle(self.source.watermark)
            if count:
                self._count_settled(count)
            return
        settled = self.source.release()
        if not settled:
            if self.source.ended:
                self.receive(self.source.lay_out(settled))
            return
        stamped = None if self._length is None else list_stamped(settled)
        if stamped is None or self._length is None or self._length.holds:
            self.receive(self.source.lay_out(settled))
            if stamped is None:
                return
            count = sum([len(rows.starts) for rows in stamped])
        else:
            count = self._held.append_stamped(stamped)
            first, last = stamped[0].starts.item(0), stamped[-1].starts.item(-1)
            self.count(count, (first, last + self._length.ticks))
        self._settled += count
        if self._may_write and count < SHARED_ROWS:  # as many of a push are not written
            self._write_waiting()

    def _count_settled(self, count: int) -> None:
        """Count the last rows, which waited: they follow others, and are as long."""
        rows, known = self._held.rows, self.bounds
        end = rows.domain_end
        assert end is not None
        if known is None:
            self.count(count, (rows.row(rows.n - count)[0], end))
        else:
            self.read += count
            self.bounds = known[0], end

    def _write_waiting(self) -> None:
        """Have rows wait here that wait at the source, and those that follow them.

        Not before as many were settled: to go back and forth costs as much as they.
        """
        rows = self.source.hand_over(self._settled)
        if rows is None:
            return
        self._settled = 0
        stamped = list_stamped(rows)
        count = sum(map(len, rows))
        if count and (stamped is None or not self._held.let_wait(stamped, count)):
            self.source.take_over(rows)
            return
        self.source.write_to(self._held)
        ended = self._held.settle(self.source.watermark)
        if ended:
            self._count_settled(ended)

    def rows(self) -> SnapshotBuffer:
        """Return all rows, in one piece."""
        tail = self.source.tail_events() if self.source.tail else None
        return self._held.rows if tail is None else self._held.view_with(tail)

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
        """Make what `restore` takes: no rows are the same, however they would lie."""
        rows = self._held.rows
        held = rows if rows.n else SnapshotBuffer.empty(self._held.payload)
        return {"rows": held, "bounds": self.bounds}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on with saved rows."""
        self._held.replace(saved["rows"])
        self.bounds = saved["bounds"]

    def drop_before(self, time: int | None, last_rows: int) -> int:
        """Forget events that end by a time, or all; the bytes of those that stay."""
        if time is None:
            self._held.forget()
        else:
            self._held.drop_before(time, last_rows)
            self._needed = self._held.rows.n
        return self._held.rows.n * self.row_bytes


def list_stamped(pieces: Sequence[TimedRows]) -> list[StampedRows] | None:
    """List rows whose payload was read without nulls; None if others are there."""
    parts, stamped = list_plain(pieces), []
    if parts is None:
        return None
    for piece, (source, rows) in zip(pieces, parts, strict=True):
        if piece.steps is None:
            return None
        values = [column.values[rows] for column in source.payload]
        stamped.append(StampedRows(piece.starts, values, piece.steps))
    return stamped


class LiveKeyedBuffer(KeyedInputBuffer):
    """Rows by key that came since an engine took the rows before."""

    def __init__(self, source: LiveSource) -> None:
        super().__init__(source.declared, source, _ignore)
        self.source = source

    def receive_settled(self) -> None:
        """Take the rows that are settled."""
        self.receive(self.source.pull())

    def may_drop(self) -> bool:
        """Return whether there are rows that no engine has taken."""
        return self.is_waiting

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
