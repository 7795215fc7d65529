"""Parquet datasets that are read batch by batch: some columns, a time range.

Only the footers of the files are read at once. They say which columns there are, in
which order of time the files are to be read, and which row groups end before a time.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from glob import glob, has_magic
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tiltpy.argument_checks import check_path, has_items
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.concurrency.pipeline import draw_ahead
from tiltpy.types import NANOSECONDS, Unit

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SUFFIX = ".parquet"
UNITS: dict[str, Unit] = {
    "milliseconds": "ms",
    "microseconds": "us",
    "nanoseconds": "ns",
}

PathArgument = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows read at once: those of `source` from row `first` on; "" has no name."""

    table: pa.Table
    source: str
    first: int

    def slice(self, begin: int, end: int) -> RowBatch:
        """Take some of its rows, as a view."""
        rows = self.table.slice(begin, end - begin)
        return RowBatch(rows, self.source, self.first + begin)


@dataclass(frozen=True, slots=True)
class ParquetScan:
    """Parquet files that stand for one frame; made by `scan_parquet`."""

    paths: tuple[Path, ...]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the first file, which the others must have, too."""
        with open_parquet(self.paths[0]) as file:
            return file.schema_arrow

    def batches(
        self,
        names: Sequence[str],
        rows: int,
        times: ScanRange | None = None,
        *,
        encoded: bool = False,
    ) -> Generator[RowBatch]:
        """Read the columns `names`, `rows` at most at once, in time order.

        `times` skips row groups that lie before it, and orders the files; without it,
        or without statistics, they stay in order. Another thread reads a batch ahead.
        `encoded`: strings stay codes of a dictionary.
        """
        return draw_ahead(self._batches(names, rows, times, encoded=encoded))

    def _batches(
        self, names: Sequence[str], rows: int, times: ScanRange | None, *, encoded: bool
    ) -> Iterator[RowBatch]:
        types, strings = self._types(names)
        if not encoded:
            strings = []
        for path in self._in_order(times):
            with open_parquet(path, strings) as file:
                _check_types(path, file.schema_arrow, types, strings)
                first = 0
                groups = list(range(file.num_row_groups))
                skipped = 0 if times is None else times.groups_before(file)
                sizes = (file.metadata.row_group(group).num_rows for group in groups)
                first = sum(islice(sizes, skipped))
                for table in _tables(path, file, groups[skipped:], names, rows):
                    yield RowBatch(table, str(path), first)
                    first += table.num_rows

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read the columns `names` as a whole, file by file; strings are encoded."""
        types, encoded = self._types(names)
        tables = []
        for path in self.paths:
            with open_parquet(path, encoded) as file:
                _check_types(path, file.schema_arrow, types, encoded)
                tables.append(_read_whole(path, file, names))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def _types(self, names: Sequence[str]) -> tuple[dict[str, pa.DataType], list[str]]:
        """Find the types of columns, and which of them are strings."""
        schema = self.schema
        types = {}
        for name in names:
            if len(schema.get_all_field_indices(name)) > 1:
                raise several_columns(str(self.paths[0]), name)
            types[name] = schema.field(name).type
        return types, [name for name, kind in types.items() if kind == pa.string()]

    def _in_order(self, times: ScanRange | None) -> Sequence[Path]:
        if times is None or len(self.paths) == 1:
            return self.paths
        starts = {}
        for path in self.paths:
            with open_parquet(path) as file:
                if file.metadata.num_rows:
                    starts[path] = times.first(file)
        if None in starts.values():
            return self.paths
        return sorted(starts, key=lambda path: starts[path] or 0)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all columns and rows as a frame, for `run` or Polars."""
        schema = self.schema
        batches = (
            batch
            for rows in self.batches(schema.names, 1 << 20)
            for batch in rows.table.to_batches()
        )
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        others = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"<scan of {self.paths[0]}{others}>"


def scan_parquet(source: PathArgument | Sequence[PathArgument]) -> ParquetScan:
    """Open a Parquet dataset that `stream` and `run_to` read piece by piece.

    `source` is a file, a directory (all `*.parquet` files in it and below, but none
    whose name, or whose directory's, starts with `.` or `_`), a pattern
    like `"trades/2024-*.parquet"`, or a list of files. Rows must be in order of time in
    each file; the files are put into order by what their footers say of the time
    column. Columns that a query does not use are never read, nor row groups that lie
    before the `start` of a run. Files are read when they are needed.
    """
    if isinstance(source, str | PathLike):
        return ParquetScan(_files(str(check_path("source", source))))
    if not has_items(source) or isinstance(source, bytes):
        check_path("source", source)
    paths = tuple(check_path("source", path) for path in source)
    if not paths:
        raise DataError("no Parquet file is given; give a path, or a list of them")
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path}: there is no such file")
    return ParquetScan(paths)


def _files(source: str) -> tuple[Path, ...]:
    """List the files of a path or a pattern, by name."""
    path = Path(source)
    if path.is_file():
        return (path,)
    if path.is_dir():
        below = path.rglob(f"*{SUFFIX}")
        candidates = [each for each in below if not _is_hidden(each.relative_to(path))]
    elif has_magic(source):
        candidates = [Path(name) for name in glob(source, recursive=True)]  # noqa: PTH207
    else:
        raise DataError(f"{source}: there is no such file or directory")
    paths = tuple(sorted(each for each in candidates if each.is_file()))
    if not paths:
        raise DataError(f"{source}: there are no {SUFFIX} files")
    return paths


def _is_hidden(path: Path) -> bool:
    """Tell whether a path in a directory is of no rows, by its names.

    Spark, Hadoop and Arrow write what is not complete, or no rows, under such names.
    """
    return any(
        name.startswith(".") or (name.startswith("_") and "=" not in name)
        for name in path.parts
    )


def several_columns(table: str, column: str) -> DataError:
    """Make the error that columns of a table share a name; `table` is its own."""
    return DataError(f"{table}: several columns are called '{column}'; rename them")


def rows_of(frame: object) -> int:
    """Count the rows of a frame; 0 where only reading it can tell."""
    if isinstance(frame, ParquetScan):
        total = 0
        for path in frame.paths:
            with open_parquet(path) as file:
                total += int(file.metadata.num_rows)
        return total
    return int(frame.num_rows) if isinstance(frame, pa.Table) else 0


def may_have_nulls(scan: ParquetScan, column: str) -> bool:
    """Tell whether a column may have nulls, by what the footers say."""
    for path in scan.paths:
        with open_parquet(path) as file:
            for group in range(file.num_row_groups):
                number = _find_column(file, group, column)
                if number is not None:
                    stats = _statistics_of(file, group, number)
                    if stats is None or not stats.has_null_count or stats.null_count:
                        return True
    return False


def _find_column(file: pq.ParquetFile, group: int, column: str) -> int | None:
    """Find the number of a column in a row group; None if it has no such column."""
    row_group = file.metadata.row_group(group)
    for number in range(row_group.num_columns):
        if row_group.column(number).path_in_schema == column:
            return number
    return None


def _statistics_of(
    file: pq.ParquetFile, group: int, number: int
) -> pq.Statistics | None:
    """Read what a footer says of a column in a row group, if it says anything."""
    chunk = file.metadata.row_group(group).column(number)
    return chunk.statistics if chunk.is_stats_set else None


def open_parquet(path: Path, encoded: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a Parquet file and read its footer.

    Columns of strings that are to be `encoded` are read as dictionaries: mostly the
    file has these.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - late

    try:
        # Otherwise the columns of all row groups would be read at once, and kept.
        return pq.ParquetFile(
            path,
            read_dictionary=list(encoded),
            buffer_size=DEFAULT_COSTS.reading.file_buffer,
            pre_buffer=False,
        )
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> DataError:
    """Make the error that a file cannot be read."""
    lines = str(error).splitlines()
    why = lines[0] if lines else str(error)
    if path.suffix.lower() != SUFFIX and path.is_file():
        why += " Several files at once, and folders, are read as Parquet alone"
    return DataError(f"{path}: not readable as Parquet: {why}")


def _check_types(
    path: Path,
    schema: pa.Schema,
    types: dict[str, pa.DataType],
    encoded: Sequence[str] = (),
) -> None:
    """Refuse a file whose columns are not of the `types` in the first file.

    Those that are `encoded` have dictionaries of them.
    """
    for name, wanted in types.items():
        index = schema.get_field_index(name)
        kind = schema.field(index).type if index >= 0 else None
        if kind != (pa.dictionary(pa.int32(), wanted) if name in encoded else wanted):
            what = "is missing" if kind is None else f"is {kind}"
            raise DataError(
                f"{path}: the column {what}, but is {wanted} in the first file; write "
                "all files with one schema",
                column=name,
            )


def _read_whole(path: Path, file: pq.ParquetFile, names: Sequence[str]) -> pa.Table:
    try:
        return offload(lambda: file.read(columns=list(names)))
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def _tables(
    path: Path,
    file: pq.ParquetFile,
    groups: list[int],
    names: Sequence[str],
    rows: int,
) -> Iterator[pa.Table]:
    batches = file.iter_batches(rows, row_groups=groups, columns=list(names))
    while True:
        try:
            batch = next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        if batch is None:
            return
        yield pa.Table.from_batches([batch])


@dataclass(frozen=True, slots=True)
class ScanRange:
    """The rows that are needed: events that end after `low` (ticks), or all of them.

    `column` orders the rows. An event ends by `ends`, at most `longest` ticks after the
    stamp there; with `held` it lasts until the next row's stamp.
    """

    column: str
    ends: str
    unit: Unit | None
    longest: int = 0
    held: bool = False
    low: int | None = None

    def first(self, file: pq.ParquetFile) -> int | None:
        """Find about when the rows of a file start; None without statistics."""
        for group in range(file.num_row_groups):
            if file.metadata.row_group(group).num_rows:
                bounds = self._statistics(file, group, self.column)
                return None if bounds is None else bounds[0]
        return None

    def groups_before(self, file: pq.ParquetFile) -> int:
        """Count the first row groups, which end before the range."""
        if self.low is None:
            return 0
        ended = 0
        for group in range(file.num_row_groups):
            bounds = self._statistics(file, group, self.ends)
            if bounds is None or bounds[1] + self.longest > self.low:
                break
            ended += 1
        return max(0, ended - self.held)

    def _statistics(
        self, file: pq.ParquetFile, group: int, column: str
    ) -> tuple[int, int] | None:
        """Find the least and the greatest time in a row group, rounded outwards."""
        number = _find_column(file, group, column)
        if number is None:
            return None
        statistics = _statistics_of(file, group, number)
        unit = _unit(file.schema.column(number), self.unit)
        if statistics is None or not statistics.has_min_max or unit is None:
            return None
        ns, tick = unit
        low, high = int(statistics.min_raw), int(statistics.max_raw)
        return low * ns // tick, -(-high * ns // tick)


def _unit(column: pq.ColumnSchema, tick: Unit | None) -> tuple[int, int] | None:
    """Find the nanoseconds of a column's unit, and of a tick; None: no times."""
    if column.physical_type not in ("INT32", "INT64"):
        return None
    kind = json.loads(column.logical_type.to_json())
    length = 1 if tick is None else NANOSECONDS[tick]
    match kind.get("Type"):
        case "Timestamp":
            return NANOSECONDS[UNITS[kind["timeUnit"]]], length
        case "Date":
            return NANOSECONDS["d"], length
        case "None":
            return 1, 1
        case "Int" if kind.get("isSigned"):
            return 1, 1
        case _:
            return None
