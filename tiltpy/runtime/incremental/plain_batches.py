"""Batches that are read as they lie: small ones are copied, large ones shared.

A batch that is copied stands in one piece with the rows that are held. It costs that
copy and nothing else, where its types alone say that its rows are events.
"""

import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import record
from tiltpy.lifetimes import Lifetime
from tiltpy.runtime.arrays.dtypes import Steps
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.select_columns import Choice
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.ingest.event_times import lay_out_events
from tiltpy.runtime.ingest.plain_frames import PlainFrames, is_plain
from tiltpy.runtime.ingest.read_input import select_events
from tiltpy.types import Unit


@record(frozen=True, slots=True, eq=False)
class SharedRows:
    """The rows of a batch but for those of its last stamp.

    The others begin at row `rest`; their events start at `last`.
    """

    buffer: SnapshotBuffer
    rest: int
    last: int


class PlainBatches:
    """Reads batches of one schema, which have the columns of a choice alone.

    Their events have one length, by a lifetime.
    """

    def __init__(
        self, declared: Input, lifetime: Lifetime, frames: PlainFrames
    ) -> None:
        self.declared = declared
        self.lifetime = lifetime
        self._frames = frames

    def write(self, table: pa.Table, rows: GrowingRows, watermark: int) -> int | None:
        """Write a batch behind other rows, where it waits; its last start.

        None if it cannot be, or a row starts before the watermark.
        """
        columns = None if self._frames.has_bits else self._frames.locate(table)
        written = None if columns is None else rows.write(table.num_rows, columns)
        if written is None:
            return None
        first, last, _ = written
        before = self.lifetime.before
        if first < watermark or not self._frames.allows(first + before, last + before):
            return None
        rows.take_written()
        return last

    def share(self, table: pa.Table, watermark: int) -> SharedRows | None:
        """View the rows of a batch, all of which start behind the watermark.

        None if it cannot be, or there is one stamp alone.
        """
        frame = self._frames.read(table)
        before = self.lifetime.before
        if frame is None or frame.steps is None:
            return None
        stamps = frame.stamps
        rest = int(stamps.searchsorted(stamps[-1]))
        if not rest or stamps.item(0) - before <= watermark:
            return None
        steps: Steps | None = frame.steps
        if stamps.item(rest) - stamps.item(rest - 1) in frame.steps:
            steps = None  # those before it may have narrower bounds
        payload = tuple([column.slice(0, rest) for column in frame.payload])
        buffer = lay_out_events((stamps[:rest],), self.lifetime, payload, steps=steps)
        buffer = select_events(buffer, None, self.declared.type)
        return SharedRows(buffer, rest, stamps.item(-1) - before)


def find_plain(
    declared: Input, choice: Choice, schema: pa.Schema, unit: Unit | None
) -> PlainBatches | None:
    """Find how batches of a schema are read as they lie; None if they cannot be."""
    lifetime = declared.lifetime
    assert lifetime is not None
    if declared.keys or lifetime.columns or lifetime.needs_next_row:
        return None
    if not is_plain(declared, choice, schema):
        return None
    frames = PlainFrames(declared, choice, schema, unit)
    return PlainBatches(declared, lifetime, frames) if frames.serves else None
