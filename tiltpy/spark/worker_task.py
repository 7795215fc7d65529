"""The task of Spark's Python workers: a query, and its inputs as they come to them.

A worker gets the query as text, and compiles it once for its process, or finds what
another process has compiled for a CPU like this.
"""

from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.output_groups import make_group
from tiltpy.errors import DataError, TiltError
from tiltpy.frontend.parse import reread
from tiltpy.ir.nodes import Input, Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime
from tiltpy.runtime.arrow.display import format_key
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.preaggregation.run import FoldKernels
from tiltpy.spark.row_states import RowStates
from tiltpy.spark.shuffle_rows import key_names
from tiltpy.spark.worker_memory import visit_old_objects


@dataclass(frozen=True, slots=True)
class InputColumns:
    """An input as it comes to a worker: the names and types of its columns.

    `slots` are Spark's names of the columns, `schema` has their own names. `keys` are
    the key columns' names. `declared_at` is where the query declares the input. Its
    events are those of `row_states`, where they come as such.
    """

    name: str
    slots: tuple[str, ...]
    schema: pa.Schema
    keys: tuple[str, ...]
    time: str | None
    lifetime: Lifetime
    column: str | None
    order: tuple[str, ...]
    declared_at: str
    row_states: RowStates | None = None


@dataclass(frozen=True, slots=True)
class SparkTask:
    """A query, its inputs and options, for the workers of an output.

    `output` is the one that is computed, `defined_at` where it is defined. `keys` are
    the names of the output's key columns, `schema` is all that goes out. `memory` are
    the bytes of rows that a task holds at once.
    """

    text: str
    options: CompileOptions
    inputs: tuple[InputColumns, ...]
    output: str
    defined_at: str
    keys: tuple[str, ...]
    schema: pa.Schema
    stamp: OutputStamp
    request: Request
    chunk: int | None
    memory: int

    @property
    def slots(self) -> list[str]:
        """Our names of the key columns."""
        return key_names(len(self.keys))

    @property
    def run_options(self) -> RunOptions:
        """The options of a run on one thread: Spark runs several tasks at a time."""
        return RunOptions(1, self.chunk, costs=self.options.costs)


@lru_cache(maxsize=16)
def group_of(
    text: str, options: CompileOptions, *, by_key: bool
) -> OutputGroup[FoldKernels]:
    """Make the output of a query, given as text, once for all tasks of a process.

    Where every key is computed by itself, its rows are those of a query without keys.
    """
    visit_old_objects()  # the query that had the longest rest may leave the cache
    query = reread(text, name="<query>")
    if not by_key:
        inputs = tuple(replace(declared, keys=()) for declared in query.inputs)
        query = replace(query, inputs=inputs)
    return make_group(Compiler(query, options))


# Rows


def rows_of(table: pa.Table, number: int, columns: InputColumns) -> pa.Table:
    """Select the rows of an input under their own names, its keys under the query's."""
    slots, names = list(columns.slots), columns.schema.names
    for slot, key in zip(key_names(len(columns.keys)), columns.keys, strict=True):
        if key not in names:  # it may be a column of the payload as well
            slots.append(slot)
            names.append(key)
    rows = table.select(slots)
    if "input" in table.column_names:
        rows = rows.filter(pc.equal(table.column("input"), number))
    rows = rows.rename_columns(names)
    return rows if columns.row_states is None else columns.row_states.as_events(rows)


def ingest_inputs(
    task: SparkTask, query: Query, table: pa.Table
) -> dict[str, InputRows]:
    """Read the rows of all inputs, from a table of all that the worker has got."""
    ingested = {}
    for number, columns in enumerate(task.inputs):
        declared = query.input(columns.name)
        assert declared is not None
        binding = bind_rows(columns, rows_of(table, number, columns))
        if declared.keys:
            binding = replace(binding, by=columns.keys)
        ingested[columns.name] = ingest(
            strip_declaration(declared),
            binding,
            unit=query.unit,
        )
    return ingested


def bind_rows(columns: InputColumns, rows: pa.Table) -> InputBinding:
    """Bind the rows of an input as the driver decided."""
    rows, order = _with_leaves(rows, columns.order)
    return InputBinding(rows, columns.time, columns.lifetime, columns.column, order)


def strip_declaration(declared: Input) -> Input:
    """Strip an input of what its rows are bound with, which may be said only once."""
    return replace(declared, lifetime=None, time=None, order=())


def _with_leaves(
    rows: pa.Table, order: tuple[str, ...]
) -> tuple[pa.Table, tuple[str, ...]]:
    """Add the columns that order the rows: of structs, their fields."""
    leaf_names: list[str] = []
    for name in order:
        column = rows.column(name)
        if not pa.types.is_struct(column.type):
            leaf_names.append(name)
            continue
        leaves = pa.table({name: column})
        while any(pa.types.is_struct(field.type) for field in leaves.schema):
            leaves = leaves.flatten()
        for leaf in leaves.columns:
            leaf_names.append(f"{name} {len(leaf_names)}")
            rows = rows.append_column(leaf_names[-1], leaf)
    return rows, tuple(leaf_names)


# Failures


def list_key(names: tuple[str, ...], key: tuple[pa.Array, ...]) -> list[str]:
    """List the columns of a key as messages name them."""
    pairs = zip(names, key, strict=True)
    return [f"{name} = {format_key(column[:1])}" for name, column in pairs]


def failure(task: SparkTask, where: list[str], error: TiltError) -> DataError:
    """Make one line that says which key, which times, where in the query, and why."""
    position = task.defined_at
    for columns in task.inputs:
        if isinstance(error, DataError) and error.input == columns.name:
            position = columns.declared_at
    cause = " ".join(str(_without_row(error)).split())
    return DataError(f"{', '.join([*where, position])}: {cause}")


def _without_row(error: TiltError) -> TiltError:
    """Drop the number of a row from an error: Spark's rows have no order."""
    if not isinstance(error, DataError) or error.row is None:
        return error
    at, key = error.input, error.key
    prefix = DataError("", input=at, column=error.column, row=error.row, key=key)
    message = str(error)[len(str(prefix)) :]
    return DataError(message, input=at, column=error.column, key=key)
