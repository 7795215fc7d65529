"""The interface of sources: rows as they come, and where to go on."""

from collections.abc import Iterator
from threading import Event
from typing import Protocol, runtime_checkable

from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.sinks.sink import Position
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.time_literals import Moment
from tiltpy.types import Unit


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that came together, and the position of their source behind them.

    `frame` is anything with the Arrow PyCapsule interface, or None where there is only
    a `promise`: no row that comes later starts before it. Errors call the first row
    number `first` of an `origin`, like a file.
    """

    frame: object | None
    position: Position
    promise: Moment | None = None
    origin: str = ""
    first: int = 0


@runtime_checkable
class RowSource(Protocol):
    """Rows of one input: an iterable of batches, which may wait for the next one.

    `run_live` iterates in a thread of its own. It calls `seek` before, where it resumes
    a run: with the position of the last batch whose rows are in the checkpoint.
    """

    def __iter__(self) -> Iterator[Batch]: ...

    def seek(self, position: Position | None) -> None:
        """Go to what follows a position; None: to the beginning."""


@runtime_checkable
class ClosableSource(RowSource, Protocol):
    """A source that can be told to end, while another thread waits in it."""

    def close(self) -> None:
        """Have the iteration end soon."""


@dataclass(frozen=True, slots=True)
class ExpectedInput:
    """An input that rows are for: what the query declares, and what is bound to it."""

    declared: Input
    binding: InputBinding
    unit: Unit | None


@runtime_checkable
class TypedSource(RowSource, Protocol):
    """A source of rows without types, which asks the query for them."""

    def expect(self, expected: ExpectedInput) -> None:
        """Give columns the types that the input has."""


class WaitingSource:
    """A source that waits for rows, and can be told to end meanwhile."""

    def __init__(self) -> None:
        self.stopped = Event()
        self.expected: ExpectedInput | None = None

    def expect(self, expected: ExpectedInput) -> None:
        """Give columns the types that the input has."""
        self.expected = expected

    def close(self) -> None:
        """Have the iteration end soon."""
        self.stopped.set()
