"""A folder of Parquet files: one for each checkpoint that has rows.

A file is written under a hidden name, made durable by `flush`, and gets its visible
name by `commit`, when the checkpoint that counts it is safe. So a reader of the folder
sees each row once, and no row disappears. After a crash `restore` publishes what the
checkpoint counts, and removes what it does not.
"""

import re
from pathlib import Path
from typing import TypedDict

import pyarrow as pa

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.runtime.arrow.files import reason, sync_folder, sync_path
from tiltpy.runtime.arrow.formats import FileFormat
from tiltpy.runtime.arrow.table_writers import TableWriter, make_writer

ROW_GROUP = DEFAULT_COSTS.reading.row_group
"""Rows of a row group."""
_OURS = re.compile(r"(\.?)part-(\d{8})\.parquet")


class FolderPosition(TypedDict):
    """The files of a folder that count, and the bytes of the last of them."""

    files: int
    bytes: int


class ParquetFolder:
    """A sink of Parquet files `part-00000001.parquet`, and so on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = self._bytes = self._visible = 0
        """The files that are durable, the bytes of the last, those that are visible."""
        self._rows = _RowGroups()

    def restore(self, position: FolderPosition | None) -> None:
        """Keep the files that a position counts, and remove all later ones."""
        try:
            self._restore(position or FolderPosition(files=0, bytes=0))
        except OSError as error:
            raise self._not_written(error) from error

    def _restore(self, position: FolderPosition) -> None:
        if self._folder.exists() and not self._folder.is_dir():
            raise DataError(
                f"{self._folder}: is a file; Parquet files need a folder of their own"
            )
        if not self._folder.parent.is_dir():
            raise DataError(
                f"{self._folder}: there is no directory {self._folder.parent}; make it "
                "first"
            )
        self._folder.mkdir(exist_ok=True)
        self._rows = _RowGroups()
        self._files, self._bytes = position["files"], position["bytes"]
        ours = self._list_files()
        self._check_last(ours)
        for name, number in ours.items():
            if number > self._files:
                (self._folder / name).unlink()
        numbers = [number for name, number in ours.items() if name.startswith(".")]
        self._visible = min([self._files, *(number - 1 for number in numbers)])
        self.commit()

    def _list_files(self) -> dict[str, int]:
        """List our files with their numbers; refuse Parquet files of others."""
        ours = {}
        for path in self._folder.iterdir():
            name = _OURS.fullmatch(path.name)
            if name is not None:
                ours[path.name] = int(name[2])
            elif path.suffix == ".parquet":
                raise DataError(
                    f"{self._folder}: found {path.name}, which is not of this output; "
                    "name a folder of its own"
                )
        return ours

    def _check_last(self, ours: dict[str, int]) -> None:
        if not self._files:
            return
        names = (_visible_name(self._files), _hidden_name(self._files))
        last = next((self._folder / name for name in names if name in ours), None)
        if last is None or last.stat().st_size != self._bytes:
            what = "is not there" if last is None else "has another size"
            raise DataError(
                f"{self._folder}: {names[0]} {what}, which the last checkpoint counts; "
                "bring it back, or begin anew: remove the state folder and the outputs"
            )

    def write(self, table: pa.Table) -> None:
        """Collect rows for the file of this checkpoint."""
        if table.num_rows:
            try:
                self._rows.add(table, self._folder / _hidden_name(self._files + 1))
            except (OSError, pa.ArrowException) as error:
                raise self._not_written(error) from error

    def flush(self) -> FolderPosition:
        """Complete the file of this checkpoint, still hidden, and make it durable."""
        if self._rows.path is not None:
            path = self._rows.path
            try:
                self._rows.finish()
                sync_path(path)
                self._bytes = path.stat().st_size
                sync_folder(self._folder)
            except (OSError, pa.ArrowException) as error:
                raise self._not_written(error) from error
            self._files += 1
            self._rows = _RowGroups()
        return FolderPosition(files=self._files, bytes=self._bytes)

    def commit(self) -> None:
        """Give the files that are durable their visible names."""
        if self._visible == self._files:
            return
        try:
            for number in range(self._visible + 1, self._files + 1):
                hidden = self._folder / _hidden_name(number)
                if hidden.exists():
                    hidden.replace(self._folder / _visible_name(number))
            sync_folder(self._folder)
        except OSError as error:
            raise self._not_written(error) from error
        self._visible = self._files

    def is_empty(self) -> bool:
        """Tell whether no file of ours is there, also none that is hidden."""
        return not self._folder.is_dir() or not self._list_files()

    def close(self) -> None:
        """Remove the file that is not complete."""
        self._rows.abandon()
        self._rows = _RowGroups()

    def _not_written(self, error: Exception) -> DataError:
        return DataError(
            f"{self._folder}: not written: {reason(error)}; mend that and start again: "
            "with a state folder it goes on where it was"
        )

    def __repr__(self) -> str:
        return str(self._folder)


class _RowGroups:
    """Rows on their way into one file, in row groups of one size but for the last.

    So the bytes of a file follow from its rows, however they came.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._sink: pa.OSFile | None = None
        self._writer: TableWriter | None = None
        self._tables: list[pa.Table] = []
        self._count = 0

    def add(self, table: pa.Table, path: Path) -> None:
        """Collect rows for a file; whole row groups are written."""
        self.path = path
        self._tables.append(table)
        self._count += table.num_rows
        while self._count >= ROW_GROUP:
            rows = pa.concat_tables(self._tables)
            self._write(rows.slice(0, ROW_GROUP))
            self._tables = [rows.slice(ROW_GROUP)]
            self._count -= ROW_GROUP

    def finish(self) -> None:
        """Write what is left, and close the file."""
        rest = pa.concat_tables(self._tables)
        if self._writer is None or rest.num_rows:
            self._write(rest)
        assert self._writer is not None
        assert self._sink is not None
        self._writer.close()
        self._sink.close()

    def abandon(self) -> None:
        """Remove a file that is not complete."""
        if self._sink is not None and self.path is not None:
            self._sink.close()
            self.path.unlink(missing_ok=True)

    def _write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._sink = pa.OSFile(str(self.path), "wb")
            self._writer = make_writer(self._sink, FileFormat("Parquet"), rows.schema)
        self._writer.write_table(rows.combine_chunks())


def _visible_name(number: int) -> str:
    return f"part-{number:08}.parquet"


def _hidden_name(number: int) -> str:
    return f".{_visible_name(number)}"
