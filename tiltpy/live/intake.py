"""The rows of all sources, in the order in which they come.

Each source is iterated in a thread of its own. What has come waits until the loop takes
all of it at once: while a push takes long, more comes together, and the next push is
larger. Sources wait where the queue is full.
"""

from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Condition, Thread

from tiltpy.lean_dataclass import dataclass
from tiltpy.live.sinks.sink import Position
from tiltpy.live.sources.source import Batch, ClosableSource, RowSource
from tiltpy.runtime.arrow.parquet_scan import RowBatch
from tiltpy.runtime.arrow.read_frame import read_frame
from tiltpy.time_literals import Moment

FULL = 64 << 20
"""Bytes of rows that wait at most."""
_OVERHEAD = 512
"""Bytes that a batch takes besides its rows."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A batch of a source that has come; or its end, or the error that ended it."""

    input: str
    rows: RowBatch | None = None
    position: Position = None
    promise: Moment | None = None
    ended: bool = False
    error: BaseException | None = None

    @property
    def size(self) -> int:
        """The bytes that it takes in the queue."""
        return _OVERHEAD + (0 if self.rows is None else self.rows.table.nbytes)


class Intake:
    """Takes the batches of sources, by input, as they come."""

    def __init__(
        self, sources: Mapping[str, RowSource], full: int | None = None
    ) -> None:
        self._sources = sources
        self._full = FULL if full is None else full
        self._waiting: SimpleQueue[Delivery | None] = SimpleQueue()
        self._room = Condition()
        self._held = 0
        self._stopped = False

    def start(self) -> None:
        """Begin to iterate the sources."""
        for name, source in self._sources.items():
            Thread(
                target=self._iterate,
                args=(name, source),
                name=f"tiltpy source of {name}",
                daemon=True,
            ).start()

    def _iterate(self, name: str, source: RowSource) -> None:
        try:
            for batch in source:
                if not self._put(_deliver(name, batch)):
                    return
            self._put(Delivery(name, ended=True))
        except BaseException as error:
            self._put(Delivery(name, error=error))

    def _put(self, delivery: Delivery) -> bool:
        """Queue a delivery, once there is room; False if nobody takes it any more."""
        with self._room:
            self._room.wait_for(lambda: self._held < self._full or self._stopped)
            self._held += delivery.size
            if self._stopped:
                return False
        self._waiting.put(delivery)
        return True

    def take(self, timeout: float | None) -> list[Delivery]:
        """Take all that has come; wait for the first for `timeout` seconds at most."""
        taken: list[Delivery | None] = []
        with suppress(Empty):
            taken.append(self._waiting.get(timeout=timeout))
            while True:
                taken.append(self._waiting.get_nowait())
        deliveries = [delivery for delivery in taken if delivery is not None]
        with self._room:
            self._held -= sum(delivery.size for delivery in deliveries)
            self._room.notify_all()
        return deliveries

    @property
    def is_empty(self) -> bool:
        """Return whether nothing waits that has come."""
        return self._waiting.empty()

    def wake(self) -> None:
        """End the wait of `take`; a signal handler may call this."""
        self._waiting.put(None)

    def stop(self) -> None:
        """Have the sources end; a thread that waits for the system is left behind."""
        with self._room:
            self._stopped = True
            self._room.notify_all()
        for source in self._sources.values():
            if isinstance(source, ClosableSource):
                source.close()


def _deliver(name: str, batch: Batch) -> Delivery:
    rows = None
    if batch.frame is not None:
        rows = RowBatch(read_frame(name, batch.frame), batch.origin, batch.first)
    return Delivery(name, rows, batch.position, batch.promise)
