"""The rows of inputs in traced loops."""

from typing import Any

from tiltpy.array_address import address
from tiltpy.loops.nodes import Array
from tiltpy.routines.routine import Argument
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution.traced_loops import LoopNumber, LoopTrace, write
from tiltpy.runtime.execution.traced_operands import Operand, Side


class LoopTimes:
    """The times of rows, which are looked up in a traced loop."""

    itemsize = 8

    def __init__(
        self, trace: LoopTrace, times: Array, address: LoopNumber | None = None
    ) -> None:
        self.address = address
        self._trace = trace
        self._times = times
        self._stop: Operand = None
        """The number of them in use, where that is known."""

    def __getitem__(self, item: Operand) -> Any:
        if not isinstance(item, slice):
            return self._trace.load(self._times, write(item))
        assert not item.start
        part = LoopTimes(self._trace, self._times, self.address)
        part._stop = item.stop
        return part

    def search(self, wanted: Operand, side: Side = "left") -> LoopNumber:
        """Trace the search of a time."""
        return self.search_slices(0, self._stop, wanted, side)

    def search_slices(
        self, first: Operand, stop: Operand, wanted: Operand, side: Side
    ) -> LoopNumber:
        """Trace the search of a time in a slice of each row."""
        return self._trace.search(self._times, first, stop, wanted, side)

    def least_since(self, first: Operand, count: Operand, bound: Operand) -> LoopNumber:
        """Trace the least time in a slice of each row that is no earlier than a bound.

        `ENDLESS` where there is none.
        """
        return self._trace.least_since(self._times, first, count, bound)


class LoopValues:
    """The values of rows, or the bits of those that are not null, by their address."""

    def __init__(self, address: LoopNumber, itemsize: int) -> None:
        self.address = address
        self.itemsize = itemsize


class LoopColumn:
    """A payload column of an input; `offset` is where the bits of the first row are."""

    def __init__(self, trace: LoopTrace, column: Column) -> None:
        self.values = LoopValues(trace.number(), column.values.itemsize)
        self.validity = LoopValues(trace.number(), 1)
        self.offset = trace.number()


class LoopBuffer:
    """A snapshot buffer of an input, the form of which is fixed.

    It traces the arguments that `list_arguments` lists.
    """

    def __init__(self, trace: LoopTrace, buffer: SnapshotBuffer) -> None:
        self.layout = buffer.layout
        self.fifo = buffer.fifo
        self.points = buffer.points
        self.row_object = buffer.row_object
        self.before = buffer.before
        self.period = buffer.period
        self.n, self.start = trace.number(), trace.number()
        self.starts, self.ends, self._ordered_ends = (
            None if times is None else LoopTimes(trace, trace.table(), trace.number())
            for times in (buffer.starts, buffer.ends, _order_ends(buffer))
        )
        self.columns = [LoopColumn(trace, column) for column in buffer.columns]

    def ordered_ends(self) -> LoopTimes:
        """Return the ends in order."""
        ends = self._ordered_ends or self.ends
        assert ends is not None
        part: LoopTimes = ends[: self.n]
        return part


def list_arguments(buffer: SnapshotBuffer) -> list[Argument]:
    """List what a traced buffer stands for."""
    arguments: list[Argument] = [buffer.n, buffer.start]
    for times in (buffer.starts, buffer.ends, _order_ends(buffer)):
        if times is not None:
            place = address(times)
            arguments += place, place
    for column in buffer.columns:
        validity = column.validity
        arguments.append(address(column.values))
        arguments.append(0 if validity is None else address(validity))
        arguments.append(column.offset)
    return arguments


def _order_ends(buffer: SnapshotBuffer) -> Any:
    """Order the ends of rows, where those of later ones may be earlier."""
    return None if buffer.fifo or buffer.ends is None else buffer.ordered_ends()
