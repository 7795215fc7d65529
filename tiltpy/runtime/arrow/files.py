"""Tables in files: every format in, and out whole or not at all.

The format follows the file's suffix where nobody says it. Files are written as drafts
beside their targets, synced to the disk, and renamed when all are complete: after a
crash, a full disk or Ctrl-C the targets are unchanged. Arrow reads and writes beside
the caller's thread (`offload`), into files that are open already: a write that
continues after an interrupt goes to a file without a name.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.draft_files import open_draft
from tiltpy.runtime.arrow.formats import FileFormat, format_of
from tiltpy.runtime.arrow.sources import TableSource, file_source
from tiltpy.runtime.arrow.table_writers import open_writer
from tiltpy.runtime.arrow.text_files import read_text
from tiltpy.runtime.concurrency.offload import offload

_ARROW_FILE_MAGIC = b"ARROW1"
OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")
"""Prefixes of paths that stand for open files."""


def read_table(path: Path) -> pa.Table:
    """Read a whole file; `DataError` if it is missing, broken or of no known format."""
    return read_source(file_source(path))


def read_source(source: TableSource) -> pa.Table:
    """Read all rows of a source; `DataError` if it is missing or broken."""
    name, form = source.name, source.format.name
    try:
        return offload(partial(_read, source))
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{name}: not readable as {form}: {reason(error)}") from error


def _read(source: TableSource) -> pa.Table:
    if source.format.is_text:
        return read_text(source)
    with source.open() as file:
        if source.format.name == "Parquet":
            with pq.ParquetFile(file) as parquet:
                return parquet.read()
        return _read_arrow(file)


def write_tables(tables: Mapping[Path, pa.Table]) -> None:
    """Write each table to its path: all of them or, if anything goes wrong, none."""
    forms = [format_of(path) for path in tables]
    with replace_files(*tables) as drafts:
        for path, draft, form in zip(tables, drafts, forms, strict=True):
            _write_draft(tables[path], path, draft, form)


def write_table(table: pa.Table, path: Path, form: FileFormat) -> None:
    """Write a table in a format, whatever the suffix of its path."""
    with replace_files(path) as (draft,):
        _write_draft(table, path, draft, form)


def _write_draft(table: pa.Table, path: Path, draft: Path, form: FileFormat) -> None:
    try:
        _write(table, draft, form)
    except pa.ArrowException as error:
        raise DataError(f"{path}: not written: {reason(error)}") from error


@contextmanager
def replace_files(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Open drafts to write to, which at the end replace `paths`, all or none.

    What cannot be written is a `DataError`. If the body raises, nothing is replaced.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    for number, target in enumerate(targets):
        if target in targets[:number]:
            raise DataError(
                f"{paths[number]}: is to be written twice; name a file for each"
            )
    try:
        with ExitStack() as stack:
            drafts = tuple(
                stack.enter_context(_draft_like(path, target))
                for path, target in zip(paths, targets, strict=True)
            )
            yield drafts
            for draft in drafts:
                offload(partial(sync_path, draft))
            for target, draft in zip(targets, drafts, strict=True):
                draft.replace(target)
            for folder in {target.parent for target in targets}:
                sync_folder(folder)
    except BrokenPipeError:
        raise
    except OSError as error:
        names = ", ".join(str(path) for path in paths) or "the standard output"
        raise DataError(f"{names}: not written: {reason(error)}") from error


@contextmanager
def _draft_like(path: Path, target: Path) -> Iterator[Path]:
    """Open a draft with the permissions of the file that it will replace."""
    if target.is_dir():
        raise DataError(f"{path}: is a directory; name a file in it")
    if (target.exists() and not target.is_file()) or _is_of_system(path):
        raise DataError(
            f"{path}: is a device or a pipe, which no file replaces; name a file (or "
            "write --output - > FILE on the command line)"
        )
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}; make it first")
    with open_draft(target) as draft:
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        yield draft


def _is_of_system(path: Path) -> bool:
    """Tell whether a path names what the process has open, such as /dev/stdout."""
    return path.absolute().as_posix().startswith(OPEN_FILES)


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names in a directory."""
    if hasattr(os, "O_DIRECTORY"):  # Windows opens no directories
        sync_path(folder)


def sync_path(path: Path) -> None:
    """Have the disk hold what was written to a file or a directory."""
    # Windows syncs what may be written to
    flags = os.O_RDONLY if hasattr(os, "O_DIRECTORY") else os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_arrow(file: pa.NativeFile) -> pa.Table:
    magic = file.read(len(_ARROW_FILE_MAGIC))
    file.seek(0)
    is_file = magic == _ARROW_FILE_MAGIC
    table = (pi.open_file if is_file else pi.open_stream)(file).read_all()
    table.validate(full=True)
    return table


def _write(table: pa.Table, path: Path, form: FileFormat) -> None:
    offload(partial(_write_to, pa.OSFile(str(path), "wb"), table, form))


def _write_to(sink: pa.NativeFile, table: pa.Table, form: FileFormat) -> None:
    with sink, open_writer(sink, form, table.schema) as writer:
        writer.write_table(table)


def reason(error: Exception) -> str:
    """Return the first line of an error, without the name of its file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
