"""Frames that users bind, read as Arrow tables by the Arrow PyCapsule interface."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.errors import DataError
from tiltpy.messages import article
from tiltpy.runtime.arrow.decode import decode, plain_type, without_run_ends
from tiltpy.runtime.arrow.encode_strings import encode_chunks, is_string
from tiltpy.runtime.arrow.parquet_scan import ParquetScan
from tiltpy.runtime.arrow.select_columns import Choice
from tiltpy.runtime.arrow.validation import broken_error
from tiltpy.runtime.concurrency.offload import in_caller
from tiltpy.types import Scalar

IN_MEMORY = ("numpy", "pyarrow", "pandas", "polars")
"""Packages whose frames run no Python code of the caller when they are read."""
_DUCKDB = ("duckdb", "_duckdb")
ENDING = {
    exit_.__name__: exit_ for exit_ in (KeyboardInterrupt, SystemExit, GeneratorExit)
}
"""Exceptions that are no errors and end a program."""
_EXAMPLE = "pyarrow.table({'ts': ..., 'price': ...})"
"""A table, as errors show one."""
_TO_TABLE = ("to_table", "to_pyarrow", "to_arrow")
"""Methods of what is no table yet, such as a dataset of pyarrow, that make one."""
_SPENT: WeakSet[pa.RecordBatchReader] = WeakSet()
"""Readers that were read to their end: they would pass for frames without rows."""


def package_of(frame: object) -> str:
    """Return the name of the package that has the type of a frame."""
    return type(frame).__module__.partition(".")[0]


def read_chosen(
    input: str, frame: object, choose: Callable[[pa.Schema], Choice]
) -> tuple[pa.Table, Choice]:
    """Choose columns of a frame and read them; the table may have others, too.

    Frames that would convert or compute their columns are asked for no others, and
    scans of files read no others.
    """
    if isinstance(frame, ParquetScan):
        choice = choose(frame.schema)
        return frame.read(choice.columns), choice
    with reading(input):
        empty = _without_rows(frame)
    if empty is None:
        table = read_frame(input, frame)
        return table, choose(table.schema)
    choice = choose(read_frame(input, empty).schema)
    return _read_columns(input, frame, choice.columns), choice


def _without_rows(frame: Any) -> Any:
    """Make a frame with the schema alone; None where only the rows tell it."""
    match package_of(frame), type(frame).__name__:
        case "polars", "DataFrame":
            return frame.clear()
        case package, "DuckDBPyRelation" if package in _DUCKDB:
            return in_caller(lambda: frame.limit(0))
        case "pandas", "DataFrame":
            # What is in a column of objects is seen when it is read.
            is_typed = frame.columns.is_unique and "object" not in set(frame.dtypes)
            return frame.iloc[:0] if is_typed else None
        case _:
            return None


def _read_columns(input: str, frame: Any, names: list[str]) -> pa.Table:
    """Read some columns of a frame that has a schema without its rows."""
    match package_of(frame):
        case "polars":  # `select` would start its query engine
            return read_frame(input, frame[names])
        case "pandas":
            return read_frame(input, frame, names)
        case _:
            quoted = (name.replace('"', '""') for name in names)
            columns = ", ".join(f'"{name}"' for name in quoted)
            with reading(input):
                projected = in_caller(lambda: frame.project(columns))
            return read_frame(input, projected)


def read_frame(input: str, frame: Any, names: Sequence[str] | None = None) -> pa.Table:
    """Read the frame as a table, still unchecked; streams are read to their end.

    Takes everything with `__arrow_c_stream__` or `__arrow_c_array__`: pyarrow, Polars,
    pandas (2.2 and later), DuckDB relations, and others. Of a pandas frame, `names`
    are the columns to read.
    """
    with reading(input):
        table = as_pyarrow_table(input, frame)
        if table is None:
            check_kind(input, frame)
            if _is_pandas(frame):
                return _read_pandas(frame, names)
            if package_of(frame) in IN_MEMORY:
                return pa.table(frame)
            return in_caller(lambda: pa.table(frame))
    return table


def _is_pandas(frame: object) -> bool:
    return package_of(frame) == "pandas" and type(frame).__name__ == "DataFrame"


def _read_pandas(frame: Any, names: Sequence[str] | None) -> pa.Table:
    """Read columns of a pandas frame, and its index, which may be the time.

    In this thread: Arrow would start others for 200 rows, which takes a millisecond,
    and gains nothing for millions.
    """
    # Arrow leaves out an index of equal steps, which may be the time all the same.
    named = True if any(name is not None for name in frame.index.names) else None
    if names is not None:
        by_name = {str(label): label for label in frame.columns}  # some are numbers
        names = [by_name[name] for name in names if name in by_name]
    elif not frame.columns.is_unique:  # which Arrow refuses, needed or not
        labels = [*map(str, frame.columns)]
        numbered = frame.set_axis(range(len(labels)), axis="columns")
        table = pa.Table.from_pandas(numbered, nthreads=1, preserve_index=named)
        return table.rename_columns([*labels, *table.column_names[len(labels) :]])
    return pa.Table.from_pandas(frame, columns=names, nthreads=1, preserve_index=named)


def as_pyarrow_table(input: str, frame: object) -> pa.Table | None:
    """Return a frame of pyarrow as a table; None for any other.

    Not through the C interface, in which buffers lose their sizes. (And of a table,
    `pa.table` would import pandas.)
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return in_caller(spend(input, frame).read_all)
    if isinstance(frame, pa.Array | pa.ChunkedArray) and pa.types.is_struct(frame.type):
        frame.validate()
        return pa.Table.from_struct_array(frame)
    return None


def spend(input: str, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Mark a reader as read, which can be done once; returns it."""
    if reader in _SPENT:
        raise DataError(
            "the reader was read by an earlier run, and has no rows any more; bind a "
            "table, like reader.read_all(), to use it again",
            input=input,
        )
    _SPENT.add(reader)
    return reader


def check_kind(input: str, frame: object) -> None:
    """Refuse what is no frame, with a way out."""
    kind, package = type(frame), package_of(frame)
    if isinstance(frame, type):
        raise DataError(
            f"found the class {frame.__name__}; give a table of it", input=input
        )
    if package == "pyspark":
        raise DataError(
            "a Spark DataFrame would be pulled to the driver; leave its rows where "
            "they are with tiltpy.spark.apply(query, {...}), or collect it first: "
            "toArrow()",
            input=input,
        )
    if package == "polars" and kind.__name__ == "LazyFrame":
        raise DataError("a LazyFrame has no rows yet; collect it first", input=input)
    if kind.__name__ == "Series":
        raise DataError(
            f"a {package} Series is one column; give a frame that has the times too",
            input=input,
        )
    if isinstance(frame, str | Path):
        advice = f"read it first, like pyarrow.parquet.read_table({str(frame)!r})"
        raise DataError(f"found the path of a file; {advice}", input=input)
    if isinstance(frame, dict | list | tuple):
        advice = f"make it a table first, like {_EXAMPLE}"
        if frame and not isinstance(frame, dict):
            if isinstance(frame[0], dict):
                advice = "make it a table first: pyarrow.Table.from_pylist(rows)"
            elif hasattr(frame[0], "__arrow_c_stream__"):
                advice = "concatenate its frames; stream() reads one after the other"
        raise DataError(f"found a {kind.__name__}; {advice}", input=input)
    if isinstance(frame, int | float):
        what = article(kind.__name__)
        raise DataError(
            f"found {what}; rows come in a table, like {_EXAMPLE}", input=input
        )
    if not any(hasattr(frame, f"__arrow_c_{form}__") for form in ("stream", "array")):
        ways = (f"{name}()" for name in _TO_TABLE if hasattr(frame, name))
        hint = next((f"; make it a table first: {way}" for way in ways), "")
        raise DataError(
            "expected a table (pyarrow, Polars, pandas, DuckDB, or anything with the "
            f"Arrow PyCapsule interface), found {kind.__module__}.{kind.__qualname__}"
            f"{hint}",
            input=input,
        )


@contextmanager
def reading(input: str) -> Iterator[None]:
    """Say of which input a frame is that Arrow, or DuckDB, fails to read.

    Other errors are those of the caller's own frames, or ours.
    """
    try:
        yield
    except (pa.ArrowException, OSError, TypeError, ValueError, OverflowError) as error:
        raise unreadable(input, error) from error
    except Exception as error:
        if package_of(error) not in _DUCKDB:
            raise
        raise unreadable(input, error) from error


def unreadable(input: str, error: Exception) -> DataError:
    """Make the error that a frame cannot be read; raise what ends a program.

    Arrow's C interface passes on only the text of an exception.
    """
    last = str(error).rstrip().rpartition("\n")[2].partition(":")[0]
    if "Python exception: " in str(error) and last in ENDING:
        raise ENDING[last] from error
    reader = "DuckDB" if package_of(error) in _DUCKDB else "Arrow"
    text, hint = str(error), ""
    if isinstance(error, OverflowError):  # which does not say of which column
        hint = '; cast the column of such objects, to "UInt64" or to floats'
    elif isinstance(error, pa.ArrowException) and len(error.args) > 1:
        # What is wrong, and with which column of pandas.
        text = "; ".join(map(str, error.args))
        hint = "; give the column values of one type"
    elif "unsupported format string" in text:
        hint = "; cast the columns whose type Arrow does not have, like Int128"
    return DataError(f"{reader} cannot read it: {text}{hint}", input=input)


def flat_column(input: str, table: pa.Table, *path: str) -> pa.Array:
    """Decode a column (or a field of one) that was checked, as one chunk.

    Chunks are joined (a copy where there are several), dictionaries and run ends are
    replaced by what they stand for. Before they are joined: Arrow does not join all
    dictionaries, and those of half floats into others.
    """
    column = table.column(path[0])
    try:
        chunks = column.chunks or [pa.nulls(0, plain_type(column.type))]
        plain = [decode(_at(chunk, path[1:])) for chunk in chunks]
        return plain[0] if len(plain) == 1 else pa.concat_arrays(plain)
    except (pa.ArrowException, OSError) as error:
        raise broken_error(error, input, path) from error


def payload_array(input: str, table: pa.Table, scalar: Scalar, *path: str) -> pa.Array:
    """Decode a column of a payload as one chunk, strings as `encode_chunks` does."""
    if scalar.kind != "string":
        return flat_column(input, table, *path)
    column = table.column(path[0])
    kind = column.type
    for step in path[1:]:
        kind = kind.field(step).type
    if not is_string(kind):
        return flat_column(input, table, *path)
    try:
        return encode_chunks([_at(chunk, path[1:]) for chunk in column.chunks])
    except (pa.ArrowException, OSError) as error:
        raise broken_error(error, input, path) from error


def _at(array: pa.Array, steps: Sequence[str]) -> pa.Array:
    """Extract a column, or the field of a struct column, without run ends."""
    for step in steps:
        array = _field(array, step)
    return without_run_ends(array)


def combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Join the chunks of a column: a copy where there are several."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.nulls(0, plain_type(column.type))])


def _field(array: pa.Array, name: str) -> pa.Array:
    """Extract a field of a struct array, null where the struct is."""
    index = array.type.get_field_index(name)
    if not pa.types.is_run_end_encoded(array.type.field(index).type):
        return array.flatten()[index]
    # Runs have no bits of their own that could say which structs are null.
    plain = without_run_ends(array.field(index))
    return pc.if_else(array.is_valid(), plain, pa.scalar(None, plain.type))


def says_no_type(array: pa.Array) -> bool:
    """Tell whether a column has no rows and no certain type.

    Nulls, or floats: what pandas makes of an empty list.
    """
    return len(array) == 0 and (
        pa.types.is_null(array.type) or pa.types.is_float64(array.type)
    )
