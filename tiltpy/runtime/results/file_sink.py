"""Files and pipes of the results of a run, written span by span, files all or none.

Another thread writes what one span made while the next one is computed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrow.files import reason, replace_files
from tiltpy.runtime.arrow.formats import FileFormat, format_of
from tiltpy.runtime.arrow.table_writers import Pipe, TableWriter, make_writer
from tiltpy.runtime.concurrency.pipeline import TaskBehind
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file that an output goes to, whole or not at all."""

    path: Path
    format: FileFormat

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PipeTarget:
    """A stream of bytes that an output goes to as it is computed."""

    stream: BinaryIO
    name: str
    format: FileFormat

    def __str__(self) -> str:
        return self.name


Target = FileTarget | PipeTarget


def file_target(path: Path) -> FileTarget:
    """Make the target of a file, whose suffix tells the format."""
    return FileTarget(path, format_of(path))


class _OutputFile:
    """A file or a pipe that tables are appended to; small tables are collected."""

    def __init__(
        self, sink: pa.NativeFile, target: Target, schema: pa.Schema, limit: int | None
    ) -> None:
        self._sink = sink
        self._writer: TableWriter = make_writer(sink, target.format, schema)
        self._behind = TaskBehind()
        """What is being written, which may outlast an interrupt."""
        at_once = isinstance(target, PipeTarget)  # whose reader waits for rows
        self._collected = 1 if at_once else DEFAULT_COSTS.reading.row_group
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._limit = limit
        self.total = 0

    @property
    def is_full(self) -> bool:
        """Return whether it has all rows that are wanted."""
        return self.total == self._limit

    def add(self, table: pa.Table) -> None:
        """Append a table, which may be written later."""
        if self._limit is not None:
            table = table.slice(0, self._limit - self.total)
        self._tables.append(table)
        self._rows += table.num_rows
        self.total += table.num_rows
        if self._rows >= self._collected:
            self._flush()

    def finish(self) -> None:
        """Write the collected tables, and close the file."""
        self._flush()
        self._behind.begin(self._close)
        self._behind.wait()

    def abandon(self) -> None:
        """Close an incomplete file, unless another thread still writes to it."""
        if not self._behind.is_busy:
            with suppress(pa.ArrowException, OSError):
                self._close()

    def _flush(self) -> None:
        if self._tables:
            table = pa.concat_tables(self._tables)
            self._behind.begin(partial(self._append, table))
            self._tables.clear()
            self._rows = 0

    def _append(self, table: pa.Table) -> None:
        self._writer.write_table(table)
        self._sink.flush()

    def _close(self) -> None:
        self._writer.close()
        self._sink.close()


def write_results(
    results: Iterable[Result],
    targets: Mapping[str, Target],
    limit: int | None = None,
    table_of: Callable[[OutputTable], pa.Table] = OutputTable.to_arrow,
) -> dict[str, int]:
    """Write outputs to their targets; returns the number of rows of each.

    Files are replaced when everything is written: after an error or Ctrl-C they are
    unchanged. `limit` is the most rows of each output; no results are computed of which
    none is wanted. `table_of` makes the table of an output.
    """
    files: dict[str, _OutputFile] = {}
    with _open_sinks(targets) as sinks, ExitStack() as left_open:
        for result in results:
            for name, target in targets.items():
                table = table_of(result[name])
                with _name_target(target):
                    if name not in files:
                        file = _OutputFile(sinks[name](), target, table.schema, limit)
                        left_open.callback(file.abandon)
                        files[name] = file
                    files[name].add(table)
            if all(file.is_full for file in files.values()):
                break
        for name, file in files.items():
            with _name_target(targets[name]):
                file.finish()
    return {name: file.total for name, file in files.items()}


@contextmanager
def _open_sinks(
    targets: Mapping[str, Target],
) -> Iterator[dict[str, Callable[[], pa.NativeFile]]]:
    """Give what opens the sink of each target; files are replaced at the end."""
    files = {n: t.path for n, t in targets.items() if isinstance(t, FileTarget)}
    with replace_files(*files.values()) as drafts:
        sinks: dict[str, Callable[[], pa.NativeFile]] = {
            name: partial(pa.OSFile, str(draft), "wb")
            for name, draft in zip(files, drafts, strict=True)
        }
        for name, target in targets.items():
            if isinstance(target, PipeTarget):
                sinks[name] = partial(pa.PythonFile, Pipe(target.stream), "w")
        yield sinks


@contextmanager
def _name_target(target: Target) -> Iterator[None]:
    """Name the target in errors of Arrow."""
    try:
        yield
    except pa.ArrowException as error:
        raise DataError(f"{target}: not written: {reason(error)}") from error


def extend_head(head: pa.Table | None, table: pa.Table, rows: int) -> pa.Table:
    """Extend the first rows of an output by those of a later table."""
    tables = [table] if head is None else [head, table]
    return pa.concat_tables(tables).slice(0, rows)
