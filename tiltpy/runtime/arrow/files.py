"""Tables in files: Parquet, CSV and Arrow (Feather) in, and out whole or not at all.

The format follows the file's suffix. Files are written as drafts beside their targets,
synced to the disk, and renamed when all are complete: after a crash, a full disk or
Ctrl-C the targets are unchanged. Arrow reads and writes beside the caller's thread
(`offload`), into files that are open already: a write that continues after an interrupt
goes to a file without a name.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.draft_files import open_draft
from tiltpy.runtime.concurrency.offload import offload

FORMATS = {
    ".parquet": "Parquet",
    ".csv": "CSV",
    ".arrow": "Arrow",
    ".feather": "Arrow",
}
"""The format of each suffix. Feather (version 2) is another name of Arrow's files."""

TIMES = ("start", "end")
"""The columns of a result's times."""

_ARROW_FILE_MAGIC = b"ARROW1"


def format_of(path: Path) -> str:
    """Find the format that a path's suffix stands for; `DataError` if none does."""
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        what = f"the suffix '{path.suffix}'" if path.suffix else "a name without suffix"
        raise DataError(
            f"{path}: {what} says no format that is known; use {', '.join(FORMATS)}"
        )
    return form


def read_table(path: Path) -> pa.Table:
    """Read a whole file; `DataError` if it is missing, broken or of no known format."""
    form = format_of(path)
    try:
        return offload(partial(_read, path, form))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as {form}: {reason(error)}") from error


def _read(path: Path, form: str) -> pa.Table:
    match form:
        case "Parquet":
            with pq.ParquetFile(path) as file:
                return file.read()
        case "CSV":
            table = pc.read_csv(path)
            # Names that are no text raise here, where the file is known.
            return table.rename_columns(table.column_names)
        case _:
            return _read_arrow(path)


def read_texts(path: Path, names: Sequence[str]) -> pa.Table:
    """Read columns of a CSV file as unparsed texts."""
    options = pc.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=names,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        return offload(partial(pc.read_csv, path, convert_options=options))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as CSV: {reason(error)}") from error


def write_tables(tables: Mapping[Path, pa.Table]) -> None:
    """Write each table to its path: all of them or, if anything goes wrong, none."""
    forms = [format_of(path) for path in tables]
    with replace_files(*tables) as drafts:
        for path, draft, form in zip(tables, drafts, forms, strict=True):
            try:
                _write(tables[path], draft, form)
            except pa.ArrowException as error:
                raise DataError(f"{path}: not written: {reason(error)}") from error


@contextmanager
def replace_files(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Open drafts to write to, which at the end replace `paths`, all or none.

    What cannot be written is a `DataError`. If the body raises, nothing is replaced.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    try:
        with ExitStack() as stack:
            drafts = tuple(
                stack.enter_context(_draft_like(path, target))
                for path, target in zip(paths, targets, strict=True)
            )
            yield drafts
            for draft in drafts:
                offload(partial(_sync, draft))
            for target, draft in zip(targets, drafts, strict=True):
                draft.replace(target)
            for folder in {target.parent for target in targets}:
                _sync(folder)
    except OSError as error:
        names = ", ".join(str(path) for path in paths)
        raise DataError(f"{names}: not written: {reason(error)}") from error


@contextmanager
def _draft_like(path: Path, target: Path) -> Iterator[Path]:
    """Open a draft with the permissions of the file that it will replace."""
    if target.is_dir():
        raise DataError(f"{path}: is a directory; name a file in it")
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no directory {path.parent}; make it first")
    with open_draft(target) as draft:
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        yield draft


def _sync(path: Path) -> None:
    """Have the disk hold what was written to a file or a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_arrow(path: Path) -> pa.Table:
    # Not memory-mapped: a file that shrinks under a mapping kills the process.
    with pa.OSFile(str(path)) as file:
        magic = file.read(len(_ARROW_FILE_MAGIC))
        file.seek(0)
        is_file = magic == _ARROW_FILE_MAGIC
        table = (pi.open_file if is_file else pi.open_stream)(file).read_all()
    table.validate(full=True)
    return table


def _write(table: pa.Table, path: Path, form: str) -> None:
    offload(partial(_write_to, pa.OSFile(str(path), "wb"), table, form))


def _write_to(sink: pa.OSFile, table: pa.Table, form: str) -> None:
    with sink:
        match form:
            case "Parquet":
                pq.write_table(table, sink, **parquet_options(table.schema))
            case "CSV":
                pc.write_csv(table.flatten(), sink)  # `bid.price` for a field
            case _:
                with pi.new_file(sink, table.schema) as writer:
                    writer.write_table(table)


def parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Choose the encodings of Parquet columns: the times of results as differences.

    They are in order, or nearly, and hardly any is there twice: a dictionary of them
    takes twice as long to write, and twice the space.
    """
    times = [
        field.name for field in schema if field.name in TIMES and _is_time(field.type)
    ]
    others = [path for field in schema for path in _leaves(field)]
    return {
        "use_dictionary": [path for path in others if path not in times],
        "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    }


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_int64(kind) or pa.types.is_timestamp(kind))


def _leaves(field: pa.Field, above: str = "") -> Iterator[str]:
    """List the paths of a field's columns: of a struct those of its fields."""
    path = above + field.name
    if not pa.types.is_struct(field.type):
        yield path
        return
    for inner in field.type:
        yield from _leaves(inner, f"{path}.")


def reason(error: Exception) -> str:
    """Return the first line of an error, without the name of its file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
