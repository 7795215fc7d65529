"""Rounds of a run: some chunks, computed by all workers together.

All calls of the grid kernel are prepared before the first one, and then made without
Python in between. What Python needs has left the caches when a kernel is done: between
two chunks it would cost a tenth of them.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Event

from tiltpy.abi import SlotKind
from tiltpy.runtime.buffers import Column, SnapshotBuffer
from tiltpy.runtime.calls import Calls, wiring_of
from tiltpy.runtime.domain import Cells, Part
from tiltpy.runtime.grid import Grid, GridChunk
from tiltpy.runtime.layout import sampled
from tiltpy.runtime.memory import Scratches
from tiltpy.runtime.sheet import Sheet
from tiltpy.runtime.stitch import Piece
from tiltpy.runtime.strings import Strings
from tiltpy.types import columns

ROUND = 16
"""Chunks in a round: few enough for an interrupt to be heard in between."""

Done = tuple[Part, Mapping[str, Piece]]
"""A chunk and its outputs' pieces."""


class Round:
    """Chunks in order: the grid kernel computes those that it can, `alone` the others.

    One thread must `lead`; any number may `help`.
    """

    def __init__(
        self,
        grid: Grid,
        sheet: Sheet | None,
        rows: Mapping[str, SnapshotBuffer],
        strings: Strings,
        parts: Sequence[Part],
        alone: Callable[[Part], Done],
        scratch: Scratches,
    ) -> None:
        self.grid = grid
        self.sheet = sheet
        self.rows = rows
        self.strings = strings
        self.parts = parts
        self._alone = alone
        self._scratch = scratch
        self._fitting = [part for part in parts if grid.fits(part)]
        self._others = deque(part for part in parts if part not in self._fitting)
        self._done: dict[int, Done] = {}
        """What was computed alone, by the chunk's start."""
        self._chunks: list[GridChunk] = []
        self._calls: Calls | None = None
        self._ready = Event()

    def lead(self, *, helped: bool) -> None:
        """Prepare the calls, and compute what nobody else does.

        A leader without helpers begins with what is not a call: the rest can then be
        one piece of work.
        """
        try:
            if not helped:
                self._rest()
            self._prepare()
        finally:
            self._ready.set()
        self._share()
        self._rest()

    def help(self) -> None:
        """Compute what nobody else does."""
        self._rest()
        self._ready.wait()
        self._share()

    def stop(self) -> None:
        """Have everybody cease after what they are doing."""
        self._others.clear()
        self._ready.set()
        if self._calls is not None:
            self._calls.stop()

    def results(self) -> Iterator[Done]:
        """The chunks in order; full outputs that lie side by side are one."""
        made = deque(self._made())
        for part in self.parts:
            if part.low in self._done:
                yield self._done[part.low]
            elif made and made[0][0].low == part.low:
                yield made.popleft()

    def _rest(self) -> None:
        while self._others:
            try:
                part = self._others.popleft()
            except IndexError:  # another thread was faster
                return
            self._done[part.low] = self._alone(part)

    def _prepare(self) -> None:
        kernel = self.grid.kernel
        rows, sheet, strings = self.rows, self.sheet, self.strings
        self._chunks = [
            GridChunk(kernel.signature, rows, part.low, part.high, sheet, strings)
            for part in self._fitting
        ]
        if self._chunks:
            self._calls = Calls([chunk.prepare(kernel.code) for chunk in self._chunks])

    def _share(self) -> None:
        if self._calls is not None:
            longest = max(self._chunks, key=lambda chunk: chunk.multiples)
            code, own = self.grid.kernel.code, self._scratch.own
            self._calls.share(longest.scratch(code, own))

    def _made(self) -> Iterator[Done]:
        if self._calls is None:
            return
        self._calls.settle()
        if self.sheet is not None and self._is_whole():
            yield self._together(self.sheet)
            return
        for part, chunk, call in zip(
            self._fitting, self._chunks, self._calls, strict=True
        ):
            yield part, chunk.pieces_of(call)

    def _is_whole(self) -> bool:
        """Whether the calls fill one stretch with values alone."""
        signature = self.grid.kernel.signature
        outputs = wiring_of(signature, self.grid.kernel.code).outputs
        return all(
            slot.kind is SlotKind.OUT_VALUES and slot.loop.implicit_times
            for slot in outputs
        ) and all(one.high == other.low for one, other in pairwise(self._fitting))

    def _together(self, sheet: Sheet) -> Done:
        """All that the calls wrote, as if one had."""
        first, last = self._fitting[0], self._fitting[-1]
        cells, pieces = {}, {}
        for loop in self.grid.kernel.signature.loops:
            own, period = first.cells[loop.name], loop.tdom.precision
            final = last.cells[loop.name]
            cells[loop.name] = Cells(own.first, final.last, own.seam, final.final)
            n = (last.high - first.low) // period
            values = (
                Column(sheet.part(loop, number, first.low, last.high)[:n])
                for number in range(len(columns(loop.type)))
            )
            pieces[loop.name] = sampled(first.low, period, n, tuple(values))
        return Part(first.low, last.high, cells), pieces
