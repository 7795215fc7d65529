"""What runs in Spark's Python workers: pieces of a query, or all rows of some keys.

A worker gets the query as text, and compiles it once for its process, or finds what
another process has compiled for a CPU like this.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltpy.api import parse
from tiltpy.compiler import CompileOptions, Compiler
from tiltpy.errors import DataError, TiltError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.bind import Binding
from tiltpy.runtime.domain import Request
from tiltpy.runtime.ingest import Ingested, ingest
from tiltpy.runtime.job import RunOptions
from tiltpy.runtime.piece import PieceOutput, Stretch, run_piece
from tiltpy.runtime.run import run
from tiltpy.runtime.stamps import from_ticks
from tiltpy.spark.events import key_names
from tiltpy.spark.shares import shares
from tiltpy.types import Lifetime

DESCRIPTION = -1
"""The number of no input: its row describes a piece."""
CLOSES, OPENS = 0, 1
"""Fragments at seams: the end of a snapshot that goes on from before, and the beginning
of one that goes on behind, in this order within a piece."""
BATCH_ROWS = 1 << 16
"""Rows that go back to Spark at once."""
PROCESSES = 1
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Columns:
    """An input as it comes to a worker: where its columns are, and what they are.

    `slots` are Spark's names of the columns, `schema` has their own names. `keys` are
    the key columns' names. `place` is where the query declares the input.
    """

    name: str
    slots: tuple[str, ...]
    schema: pa.Schema
    keys: tuple[str, ...]
    time: str | None
    lifetime: Lifetime
    column: str | None
    order: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker has to know, the same for all of them.

    `output` is the one that is computed, `place` where it is defined. `keys` are the
    names of the output's key columns, `schema` is all that goes out. `memory` are the
    bytes of rows that a task holds at once. With `everyone` some input has no keys, and
    its rows are in every group.
    """

    text: str
    options: CompileOptions
    inputs: tuple[Columns, ...]
    output: str
    place: str
    keys: tuple[str, ...]
    schema: pa.Schema
    request: Request
    chunk: int | None
    memory: int
    everyone: bool


@lru_cache(maxsize=16)
def compiler_of(
    text: str, options: CompileOptions, *, by_key: bool
) -> tuple[Query, Compiler]:
    """The query of a text and its compiler, the same for all tasks of a process.

    Where every key is computed by itself, its rows are those of a query without keys.
    """
    query = parse(text).query
    if not by_key:
        inputs = tuple(replace(one, keys=()) for one in query.inputs)
        query = replace(query, inputs=inputs)
    return query, Compiler(query, options)


def snapshots_of(task: Task) -> Callable[[Batches], Batches]:
    """The snapshots of pieces, but for those that go on behind theirs."""

    def snapshots(batches: Batches) -> Batches:
        for place, piece in _pieces(task, batches):
            table = piece.table.to_arrow()
            if piece.open:
                table = table.slice(0, table.num_rows - 1)
            yield from _sent(place.key, table, task.schema)

    return snapshots


def whole_keys_of(task: Task) -> Callable[[Batches], Batches]:
    """The snapshots of keys whose rows are all there."""

    def snapshots(batches: Batches) -> Batches:
        slots = ["group"] if task.everyone else key_names(len(task.keys))
        for table in shares(batches, slots, task.memory):
            for rows in _groups(table, slots) if task.everyone else [None]:
                own = table if rows is None else table.take(pa.array(rows))
                yield from _sent((), _run_keys(task, own), task.schema)

    return snapshots


def _run_keys(task: Task, own: pa.Table) -> pa.Table:
    query, compiler = compiler_of(task.text, task.options, by_key=True)
    try:
        ingested = {
            one.name: _ingested(query, one, _rows_of(own, n, one), task)
            for n, one in enumerate(task.inputs)
        }
        options = RunOptions(PROCESSES, task.chunk)
        result = run(query, ingested, compiler.specialised, task.request, options)
        return result[task.output].to_arrow()
    except TiltError as error:
        raise _failure(task, [], error) from None


def fragments_of(task: Task) -> Callable[[Batches], Batches]:
    """What pieces have at their seams: the ends, and the beginnings, of snapshots."""
    schema = fragments_schema(task.schema)

    def fragments(batches: Batches) -> Batches:
        for place, piece in _pieces(task, batches):
            table = piece.table.to_arrow()
            if piece.carried is not None and not piece.carried_on:
                end = from_ticks(np.array([piece.carried]), piece.table.stamp, "")
                nothing = [pa.nulls(1, one.type) for one in table.schema]
                nothing[1] = end.cast(table.schema.field(1).type)
                closing = pa.Table.from_arrays(nothing, schema=table.schema)
                yield from _sent(place.key, closing, schema, place.number, CLOSES)
            if piece.open:
                last = table.slice(table.num_rows - 1)
                yield from _sent(place.key, last, schema, place.number, OPENS)

    return fragments


def fragments_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of fragments of an output's snapshots, under names of our own."""
    columns = [(f"c{number}", one.type) for number, one in enumerate(schema)]
    return pa.schema([*columns, ("piece", pa.int64()), ("role", pa.int32())])


@dataclass(frozen=True, slots=True)
class Place:
    """A piece: of which key (columns of one row), and its number."""

    key: tuple[pa.Array, ...]
    number: int


def _pieces(task: Task, batches: Batches) -> Iterator[tuple[Place, PieceOutput]]:
    """The pieces whose rows are in the batches, computed one after the other."""
    for table in shares(batches, ["piece"], task.memory):
        yield from _pieces_of(task, table)


def _pieces_of(task: Task, table: pa.Table) -> Iterator[tuple[Place, PieceOutput]]:
    slots = key_names(len(task.keys))
    query, compiler = compiler_of(task.text, task.options, by_key=False)
    options = RunOptions(PROCESSES, task.chunk)
    for rows in _groups(table, [*slots, "piece"]):
        own = table.take(pa.array(rows))
        number = own.column("piece")[0].as_py()
        key = tuple(own.column(slot).chunk(0).slice(0, 1) for slot in slots)
        inputs = own.column("input").to_numpy()
        sent = [one.name for one in task.inputs if one.slots]
        step, base, *times = _description(own, inputs, len(sent))
        assert step is not None
        assert base is not None
        low = base + number * step
        high = low + step
        bounds = {}
        for name, first, last in zip(sent, times[::2], times[1::2], strict=True):
            bounds[name] = None if first is None or last is None else (first, last)
        stretch = Stretch(low, high, bounds)
        try:
            ingested = {
                one.name: _ingested(query, one, _rows_of(own, n, one), task)
                for n, one in enumerate(task.inputs)
            }
            found = run_piece(
                query,
                ingested,
                compiler.specialised,
                task.request,
                options,
                stretch,
            )[task.output]
        except TiltError as error:
            where = _shown(task.keys, key)
            where.append(f"ticks {low} to {high}")
            raise _failure(task, where, error) from None
        yield Place(key, number), found


def describing(inputs: int) -> list[str]:
    """The columns that describe a piece of a query of so many inputs."""
    return [f"d{number}" for number in range(2 + 2 * inputs)]


def _description(
    own: pa.Table, inputs: NDArray[np.int32], count: int
) -> list[int | None]:
    """The numbers that tell of a piece and of `count` inputs."""
    (row,) = np.flatnonzero(inputs == DESCRIPTION)
    return [own.column(name)[int(row)].as_py() for name in describing(count)]


def _groups(table: pa.Table, names: list[str]) -> list[NDArray[np.int64]]:
    """The numbers of the rows that have the same values in some columns."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = table.column(name).combine_chunks()
        found = column.dictionary_encode(null_encoding="encode")
        size = len(found.dictionary)
        _, codes = np.unique(
            codes * size + found.indices.to_numpy(), return_inverse=True
        )
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, cuts)


def _rows_of(own: pa.Table, number: int, one: Columns) -> pa.Table:
    """The rows of an input under their own names, its keys under the query's."""
    slots, names, kinds = list(one.slots), one.schema.names, one.schema.types
    for slot, key in zip(key_names(len(one.keys)), one.keys, strict=True):
        if key not in names:  # it may be a column of the payload as well
            slots.append(slot)
            names.append(key)
            kinds.append(pa.null())
    if not one.slots:
        return pa.schema(list(zip(names, kinds, strict=True))).empty_table()
    rows = own.select(slots)
    if "input" in own.column_names:
        rows = rows.filter(pc.equal(own.column("input"), number))
    return rows.rename_columns(names)


def _ingested(query: Query, one: Columns, rows: pa.Table, task: Task) -> Ingested:
    declared = query.input(one.name)
    assert declared is not None
    # What the text declares as well must be said as it stands there.
    declared = replace(declared, lifetime=None, time=None, order=())
    rows, order = _with_leaves(rows, one.order)
    by = one.keys if declared.keys else ()
    binding = Binding(rows, one.time, one.lifetime, one.column, order, by)
    return ingest(declared, binding, unit=query.unit, domain_end=task.request.end)


def _with_leaves(
    rows: pa.Table, order: tuple[str, ...]
) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows, and the columns that order them: of structs, their fields."""
    found: list[str] = []
    for name in order:
        column = rows.column(name)
        if not pa.types.is_struct(column.type):
            found.append(name)
            continue
        leaves = pa.table({name: column})
        while any(pa.types.is_struct(one.type) for one in leaves.schema):
            leaves = leaves.flatten()
        for leaf in leaves.columns:
            found.append(f"{name} {len(found)}")
            rows = rows.append_column(found[-1], leaf)
    return rows, tuple(found)


def _sent(
    key: tuple[pa.Array, ...],
    table: pa.Table,
    schema: pa.Schema,
    *more: int,
) -> Batches:
    """A table as Spark takes it: with its key, and in Spark's types."""
    if table.num_rows == 0:
        return
    columns = [*table.columns, *(pa.array([one]) for one in more)]
    nothing = pa.array(np.zeros(table.num_rows, np.int64))
    columns = [*(one.take(nothing) for one in key), *columns]
    arrays = [
        column.cast(field.type) for column, field in zip(columns, schema, strict=True)
    ]
    whole = pa.Table.from_arrays(arrays, schema=schema)
    yield from whole.to_batches(max_chunksize=BATCH_ROWS)


def _shown(names: tuple[str, ...], key: tuple[pa.Array, ...]) -> list[str]:
    """A key as messages name it."""
    pairs = zip(names, key, strict=True)
    return [f"{name} = {column[0].as_py()!r}" for name, column in pairs]


def _failure(task: Task, where: list[str], error: TiltError) -> DataError:
    """One line that stands alone: which key, which times, where in the query, why."""
    place = task.place
    for one in task.inputs:
        if isinstance(error, DataError) and error.input == one.name:
            place = one.place
    cause = " ".join(str(_without_row(error)).split())
    return DataError(f"{', '.join([*where, place])}: {cause}")


def _without_row(error: TiltError) -> TiltError:
    """The error without the number of a row: Spark's rows have no order."""
    if not isinstance(error, DataError) or error.row is None:
        return error
    at, key = error.input, error.key
    place = DataError("", input=at, column=error.column, row=error.row, key=key)
    message = str(error)[len(str(place)) :]
    return DataError(message, input=at, column=error.column, key=key)
