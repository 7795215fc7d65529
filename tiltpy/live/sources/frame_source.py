"""Frames of the caller's, from an iterator or an async iterator."""

from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from tiltpy.errors import TiltError
from tiltpy.live.sources.source import Batch, WaitingSource

Frames: TypeAlias = Iterable[Any] | AsyncIterable[Any]


class FrameSource(WaitingSource):
    """Frames in the order of an iterator; the position is how many there were."""

    def __init__(self, frames: Frames | Callable[[], Frames]) -> None:
        super().__init__()
        self._frames = frames
        self._seen = 0

    def seek(self, position: int | None) -> None:
        """Skip so many frames."""
        self._seen = position or 0

    def __iter__(self) -> Iterator[Batch]:
        skipped = self._seen
        for number, item in enumerate(_draw(self._frames), 1):
            if number > skipped:
                batch = item if isinstance(item, Batch) else Batch(item, number)
                yield replace(batch, position=number, origin=f"frame {number}")
            if self.stopped.is_set():
                return


def _draw(frames: Frames | Callable[[], Frames]) -> Iterator[Any]:
    opened = frames() if callable(frames) else frames
    if isinstance(opened, AsyncIterable):
        return _draw_async(opened)
    if _is_frame(opened):
        return iter([opened])
    if isinstance(opened, Iterable):
        return iter(opened)
    raise TiltError(
        f"expected an iterator of frames, found {type(opened).__name__}: give a list, "
        "a generator, an async generator, or a function that makes one"
    )


def _is_frame(value: object) -> bool:
    """Tell one frame from an iterator of them, such as a reader of batches."""
    frame = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return frame and not hasattr(value, "__next__")


def _draw_async(frames: AsyncIterable[Any]) -> Iterator[Any]:
    """Draw from an async iterator, in an event loop of this thread."""
    import asyncio  # noqa: PLC0415 - late

    loop = asyncio.new_event_loop()
    try:
        iterator = aiter(frames)
        while True:
            try:
                item = loop.run_until_complete(_next(iterator))
            except StopAsyncIteration:
                return
            yield item
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _next(iterator: Any) -> Any:
    return await anext(iterator)
