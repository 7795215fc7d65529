"""Sources: where the rows of a live query come from.

A source of your own is an iterable of `Batch`es with a method `seek`; see `RowSource`.
Sources of text take `delimiter=";"`, `decimal=","` and `date_format="%d.%m.%Y"`, as on
the command line.
"""

import os
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from tiltpy.argument_checks import check_argument, check_flag, check_path
from tiltpy.errors import ArgumentError, DataError, TiltError
from tiltpy.live.sources.file_source import FileSource
from tiltpy.live.sources.folder_source import SETTLED, FolderSource
from tiltpy.live.sources.frame_source import Frames, FrameSource
from tiltpy.live.sources.pipe_source import PipeSource, Resume
from tiltpy.live.sources.replay_source import ReplaySource
from tiltpy.live.sources.source import Batch, RowSource
from tiltpy.live.sources.tail_source import TailSource
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle, format_of, named_format

__all__ = [
    "Batch", "RowSource", "file", "folder", "frames", "replay", "stdin", "tail",
]  # fmt: skip

PathArgument = str | PathLike[str]


class StyleOptions(TypedDict, total=False):
    """The style of values in text files, as on the command line."""

    delimiter: str | None
    decimal: str
    date_format: str | None


def frames(frames: Frames | Callable[[], Frames]) -> RowSource:
    """Take frames from an iterator, an async iterator, or a function that makes one.

    A frame is anything with the Arrow PyCapsule interface, or a `Batch` with a
    promise. After a resume the first frames are skipped: the iterator must give the
    same ones again. An async iterator runs in an event loop of its own.
    """
    return FrameSource(frames)


def file(
    path: PathArgument, *, format: str | None = None, **style: Unpack[StyleOptions]
) -> RowSource:
    """Read a file that is complete: Parquet, Arrow, CSV, TSV or JSON lines."""
    checked = check_path("path", path)
    form = _read_format(checked, format)
    if not checked.is_file():
        raise DataError(f"{checked}: there is no such file")
    return FileSource(checked, form, _read_style(style))


def tail(
    path: PathArgument,
    *,
    format: str | None = None,
    follow: bool = True,
    **style: Unpack[StyleOptions],
) -> RowSource:
    """Follow a file that grows: JSON lines, CSV or TSV.

    A line is read once its newline is there. A file that is cut, removed or replaced is
    an error. `follow=False` ends at the end of what is there.
    """
    checked = check_path("path", path)
    form = _read_format(checked, format)
    if not form.is_text or form.compression is not None:
        raise DataError(
            f"{checked}: only text that is not compressed can be followed: JSON lines, "
            "CSV or TSV; put files of other formats into a folder, and read that"
        )
    check_flag("follow", follow)
    return TailSource(checked, form, _read_style(style), follow=follow)


def folder(
    path: PathArgument,
    pattern: str = "*",
    *,
    format: str | None = None,
    follow: bool = True,
    settled: float = SETTLED,
    **style: Unpack[StyleOptions],
) -> RowSource:
    """Read the files of a folder, each once in order of name, and those that arrive.

    Parquet and Arrow files count when they are complete, others when they have not
    changed for `settled` seconds; rename them into the folder, and say `settled=0`.
    Hidden files, and those ending in .tmp or .part, are left alone. `follow=False` ends
    with the last file that is there.
    """
    checked = check_path("path", path)
    form = None if format is None else named_format(format)
    if not checked.is_dir():
        raise DataError(f"{checked}: there is no such directory")
    check_flag("follow", follow)
    return FolderSource(
        checked,
        pattern,
        form,
        _read_style(style),
        follow=follow,
        settled=settled,
    )


def stdin(
    *,
    format: str | None = None,
    resume: Resume = "refuse",
    **style: Unpack[StyleOptions],
) -> RowSource:
    """Read the standard input as it comes: JSON lines, CSV or an Arrow stream.

    Where a run resumes, `resume="skip"` says that the writer of the pipe begins again,
    and "continue" that it goes on behind the rows that were read.
    """
    if sys.stdin is None:
        raise DataError("-: the standard input is closed")
    form = None if format is None else named_format(format)
    # A thread may wait in it when the process ends, which would wait for `sys.stdin`.
    pipe = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    return PipeSource(pipe, "<stdin>", form, _read_style(style), resume=resume)


def replay(
    path: PathArgument,
    *,
    speed: float = 1.0,
    time: str | None = None,
    format: str | None = None,
) -> RowSource:
    """Replay an archive, a file or a folder of them, as if its rows came now.

    In one second come as many seconds of rows as `speed` says; `float("inf")` does not
    wait. `time` is the column of timestamps, where no query declares it.
    """
    checked = check_path("path", path)
    check_argument("speed", speed, int | float, "a number, like 60")  # type: ignore[arg-type]
    if not speed > 0:
        raise TiltError(f"speed={speed!r}: expected a number above 0")
    form = None if format is None else named_format(format)
    if checked.is_dir():
        archive: FileSource | FolderSource = FolderSource(
            checked, "*", form, follow=False
        )
    elif checked.is_file():
        archive = FileSource(checked, form or format_of(checked))
    else:
        raise DataError(f"{checked}: there is no such file or directory")
    return ReplaySource(archive, speed, time)


def _read_format(path: Path, name: str | None) -> FileFormat:
    return format_of(path) if name is None else named_format(name)


def _read_style(style: StyleOptions) -> TextStyle:
    known = StyleOptions.__optional_keys__
    for name in style:
        if name not in known:
            raise ArgumentError(
                f"there is no option '{name}'; text has {', '.join(sorted(known))}"
            )
    read = TextStyle(**style)
    fault = read.find_fault()
    if fault is not None:
        raise TiltError(f"{fault[0]}={getattr(read, fault[0])!r}: {fault[1]}")
    return read
