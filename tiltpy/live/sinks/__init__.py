"""Sinks: where the results of a live query go.

A sink of your own needs four methods; see `Sink`.
"""

import sys
from collections.abc import Callable
from os import PathLike
from typing import Any

from tiltpy.argument_checks import check_path
from tiltpy.errors import TiltError
from tiltpy.live.sinks.callable_sink import CallableSink
from tiltpy.live.sinks.encoder import GROWING
from tiltpy.live.sinks.file_sink import FileSink, check_growing
from tiltpy.live.sinks.parquet_folder import ParquetFolder
from tiltpy.live.sinks.pipe_sink import PipeSink, TextPipe
from tiltpy.live.sinks.sink import Sink
from tiltpy.runtime.arrow.formats import for_pipes, named_format

__all__ = ["Sink", "call", "file", "folder", "stdout"]


def file(path: str | PathLike[str], *, format: str | None = None) -> Sink:
    """Append rows to a file: .jsonl, .csv, .tsv or .arrows (an Arrow stream).

    `format` is one of "jsonl", "csv", "tsv" and "arrows" where the suffix does not
    tell. Each row is there once, also after a crash: `run_live` with a state folder
    cuts the file back to its last checkpoint and goes on. Without one the file begins
    anew.
    """
    checked = check_path("path", path)
    form = None if format is None else named_format(format)
    return FileSink(checked, check_growing(checked, form))


def folder(path: str | PathLike[str]) -> Sink:
    """Write a folder of Parquet files, one for each checkpoint that has rows.

    A file is visible only when its checkpoint is safe, so a reader sees each row once,
    and none that disappears.
    """
    return ParquetFolder(check_path("path", path))


def call(function: Callable[[Any], object]) -> Sink:
    """Call a function with each Arrow table of rows.

    After a crash it sees those since the last checkpoint again.
    """
    if not callable(function):
        raise TiltError(f"call() takes a function of a table, found {function!r}")
    return CallableSink(function)


def stdout(format: str = "jsonl") -> Sink:
    """Write rows to the standard output as "jsonl", "csv", "tsv" or "arrow".

    After a crash those since the last checkpoint are written again.
    """
    form = for_pipes(named_format(format))
    if form.name not in GROWING or form.compression is not None:
        raise TiltError(f"stdout('{format}'): use 'jsonl', 'csv', 'tsv' or 'arrow'")
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # that of a notebook has text alone
        if not form.is_text:
            raise TiltError("stdout('arrow'): this standard output takes text alone")
        stream = TextPipe(sys.stdout)
    return PipeSink(stream, form)
