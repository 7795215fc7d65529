"""An input that is read piece by piece: rows that nothing can change any more."""

from collections.abc import Sequence
from typing import Protocol

from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.runtime.ingest.unread_rows import UnreadRows
from tiltpy.types import TDom, Unit


@dataclass(frozen=True, slots=True)
class Reading:
    """A specification of how to read an input.

    `rows` at most at once; the query's `unit`; and `low`: nobody asks for events that
    end by then (None: all are asked for). All that reads the input by key has the cells
    of `grid`, if it has one. Rows that come `unread` are those that will be read cell
    by cell.
    """

    rows: int
    unit: Unit | None
    low: int | None = None
    grid: TDom | None = None
    unread: bool = False


class EventSource(Protocol):
    """An input's rows, a piece at a time."""

    declared: Input
    """The input, completed by what it is bound with."""
    nothing: InputRows
    """No rows, with the kind of times and the types of keys that it has."""
    watermark: int
    """No event that starts earlier will arrive."""
    ended: bool

    def pull(
        self, rows: int, held: GrowingRows | None = None
    ) -> Sequence[InputRows | UngroupedRows | UnreadRows]:
        """Read on, about `rows` rows at most; none come where they have to wait.

        Instead rows may be written behind those `held`, and wait there: those that
        start before the watermark count then, and all once the source has ended. The
        rows that wait there come behind all others.
        """
