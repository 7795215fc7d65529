"""Files of the results of a streamed run, written span by span, all or none."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.runtime.arrow.files import (
    format_of,
    parquet_options,
    reason,
    replace_files,
)
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.results.result import OutputTable, Result


class _Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


class _OutputFile:
    """A file that tables are appended to; small tables are collected first."""

    def __init__(self, path: Path, form: str, schema: pa.Schema) -> None:
        self._flat = form == "CSV"  # which has no structs: `bid.price` is a column
        schema = schema.empty_table().flatten().schema if self._flat else schema
        self._sink = pa.OSFile(str(path), "wb")
        self._writer: _Writer | None = _writer(self._sink, form, schema)
        """None while another thread writes, which may outlast an interrupt."""
        self._tables: list[pa.Table] = []
        self._rows = 0
        self.total = 0

    def add(self, table: pa.Table) -> None:
        """Append a table, which may be written later."""
        self._tables.append(table.flatten() if self._flat else table)
        self._rows += table.num_rows
        self.total += table.num_rows
        if self._rows >= DEFAULT_COSTS.reading.row_group:
            self._flush()

    def finish(self) -> None:
        """Write the collected tables, and close the file."""
        self._flush()
        self._write(self._close)

    def abandon(self) -> None:
        """Close an incomplete file, unless another thread still writes to it."""
        if self._writer is not None:
            with suppress(pa.ArrowException, OSError):
                self._close(self._writer)

    def _flush(self) -> None:
        if self._tables:
            table = pa.concat_tables(self._tables)
            self._write(lambda writer: writer.write_table(table))
            self._tables.clear()
            self._rows = 0

    def _write(self, work: Callable[[_Writer], None]) -> None:
        """Use the writer beside the caller's thread."""
        writer, self._writer = self._writer, None
        assert writer is not None
        offload(partial(work, writer))
        self._writer = writer

    def _close(self, writer: _Writer) -> None:
        writer.close()
        self._sink.close()


def write_results(
    results: Iterable[Result], paths: Mapping[str, Path]
) -> dict[str, int]:
    """Write outputs to their paths; returns the number of snapshots of each.

    The paths are replaced when everything is written: after an error or Ctrl-C their
    files are unchanged.
    """
    forms = {name: format_of(path) for name, path in paths.items()}
    files: dict[str, _OutputFile] = {}
    with replace_files(*paths.values()) as drafts, ExitStack() as left_open:
        draft_of = dict(zip(paths, drafts, strict=True))
        for result in results:
            for name, path in paths.items():
                table = result[name].to_arrow()
                try:
                    if name not in files:
                        file = _OutputFile(draft_of[name], forms[name], table.schema)
                        left_open.callback(file.abandon)
                        files[name] = file
                    files[name].add(table)
                except pa.ArrowException as error:
                    raise _write_error(path, error) from error
        for name, file in files.items():
            try:
                file.finish()
            except pa.ArrowException as error:
                raise _write_error(paths[name], error) from error
    return {name: file.total for name, file in files.items()}


def extend_head(head: pa.Table | None, output: OutputTable, rows: int) -> pa.Table:
    """Extend the first rows of an output by those of a later table."""
    table = output.to_arrow()
    tables = [table] if head is None else [head, table]
    return pa.concat_tables(tables).slice(0, rows)


def _write_error(path: Path, error: Exception) -> DataError:
    return DataError(f"{path}: not written: {reason(error)}")


def _writer(sink: pa.OSFile, form: str, schema: pa.Schema) -> _Writer:
    match form:
        case "Parquet":
            writer: _Writer = pq.ParquetWriter(sink, schema, **parquet_options(schema))
        case "CSV":
            writer = pc.CSVWriter(sink, schema)
        case _:
            writer = pi.new_file(sink, schema)
    return writer
