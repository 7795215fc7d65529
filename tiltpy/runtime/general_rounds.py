"""Rounds of a run without a grid kernel: as `rounds`, for calls of the general one.

A round ends where its outputs could be large: their memory is taken before the first
call. What they do not need of it is never touched.
"""

from collections.abc import Iterable, Iterator, Sequence
from threading import Event

from tiltpy.runtime.calls import Calls
from tiltpy.runtime.domain import Part
from tiltpy.runtime.execute import Chunk, Kernel, Needed
from tiltpy.runtime.memory import Array, Scratches
from tiltpy.runtime.rounds import ROUND, Done

MUCH = 1 << 23
"""Snapshots that a round of several chunks may have."""

Chunks = Sequence[tuple[Part, Chunk]]


def in_rounds(chunks: Iterable[tuple[Part, Chunk]]) -> Iterator[Chunks]:
    """The chunks in rounds."""
    some: list[tuple[Part, Chunk]] = []
    most = 0
    for part, chunk in chunks:
        if some and (len(some) == ROUND or most + chunk.most > MUCH):
            yield some
            some, most = [], 0
        some.append((part, chunk))
        most += chunk.most
    if some:
        yield some


class GeneralRound:
    """Chunks in order, for one thread that leads and any number that help."""

    def __init__(self, kernel: Kernel, chunks: Chunks, scratch: Scratches) -> None:
        self.kernel = kernel
        self.chunks = chunks
        self._scratch = scratch
        self._calls: Calls | None = None
        self._ready = Event()

    def lead(self, *, helped: bool) -> None:  # noqa: ARG002 - alone it does the same
        """Prepare the calls, and make those that nobody else makes."""
        code = self.kernel.code
        try:
            self._calls = Calls([chunk.prepare(code) for _, chunk in self.chunks])
        finally:
            self._ready.set()
        self._share()

    def help(self) -> None:
        """Make the calls that nobody else makes."""
        self._ready.wait()
        self._share()

    def stop(self) -> None:
        """Have everybody cease after what they are doing."""
        self._ready.set()
        if self._calls is not None:
            self._calls.stop()

    def results(self) -> Iterator[Done]:
        """The chunks' outputs, in order."""
        assert self._calls is not None
        self._calls.settle()
        for (part, chunk), call in zip(self.chunks, self._calls, strict=True):
            yield part, chunk.pieces_of(call)

    def _share(self) -> None:
        if self._calls is not None:
            self._calls.share(self._arrays())

    def _arrays(self) -> dict[int, Array]:
        """A thread's scratch, which is enough for each of the calls."""
        most: dict[int, Needed] = {}
        for _, chunk in self.chunks:
            for index, needed in chunk.needed(self.kernel.code).items():
                if index not in most or most[index].size < needed.size:
                    most[index] = needed
        return {index: needed.of(self._scratch.own) for index, needed in most.items()}
