"""Queries over DataFrames of Spark: DataFrames in, DataFrames out, nothing run here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tiltpy.api import CompiledQuery, parse
from tiltpy.argument_checks import check_argument
from tiltpy.compiler.output_selection import select_outputs
from tiltpy.engines.partition import halo_lengths, seam_interval
from tiltpy.errors import TiltError
from tiltpy.frontend.surface import syntax
from tiltpy.inputs import BoundFrame, bind
from tiltpy.ir.keys import Keys, keys_of
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Lifetime
from tiltpy.memory_sizes import size_of
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.plan.nodes import Refusal
from tiltpy.run_arguments import Arguments, RunMethod, read_options
from tiltpy.runtime.arrow.timestamps import output_stamp
from tiltpy.runtime.ingest.key_types import common_type
from tiltpy.runtime.results.table import format_of
from tiltpy.spark.fold_panes import fold_panes, plan_partial_panes
from tiltpy.spark.shuffle_by_key import shuffle_by_group, shuffle_by_key
from tiltpy.spark.shuffle_by_time import shuffle_by_time
from tiltpy.spark.shuffle_rows import NumberedInput
from tiltpy.spark.sources import SparkSource, binding_of, read_sources
from tiltpy.spark.stitch import can_cross_seams, stitch_fragments
from tiltpy.spark.time_bounds import PartitionGrid
from tiltpy.spark.types import result_schema, spark_schema
from tiltpy.spark.worker import (
    fragment_worker,
    fragments_schema,
    group_worker,
    key_worker,
    partition_worker,
)
from tiltpy.spark.worker_task import InputColumns, SparkTask
from tiltpy.time_literals import Length, Moment
from tiltpy.types import ALL_FUTURE

MEMORY = "256MB"
"""Of rows that a task holds at once, where the caller does not say."""
APPLY = RunMethod("apply", bound="bounds={{'{}': ...}}")
PARTITIONS_PER_CORE = 3
"""Partitions for each core: a task that has had an easy one takes another."""


def tilt_transform(
    query: CompiledQuery | str,
    *,
    time: str | None = None,
    by: str | Sequence[str] = (),
    lifetime: syntax.Lifetime | Lifetime | None = None,
    column: str | None = None,
    order: str | Sequence[str] = (),
    output: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    chunk: Length | None = None,
    bounds: Mapping[str, Moment] | None = None,
    memory: int | str = MEMORY,
) -> Callable[[DataFrame], DataFrame]:
    """Make a function of a query of one input, for `frame.transform(...)`.

    `time`, `by`, `lifetime`, `column` and `order` are those of `tiltpy.bind`. `output`
    names the output to compute, where the query has several. The rest is as in `apply`.
    """
    compiled = _read_query(query)
    names = [declared.name for declared in Arguments(compiled.query).needed.inputs]
    if len(names) != 1:
        raise TiltError(
            f"the query has the inputs {', '.join(names) or '(none)'}; give a "
            "DataFrame for each: apply(query, {name: frame})"
        )
    name = names[0]
    chosen = _choose_output(compiled.query, output)

    def transform(frame: DataFrame) -> DataFrame:
        bound = bind(
            frame, time=time, lifetime=lifetime, column=column, order=order, by=by
        )
        plan = SparkPlan(compiled, {name: bound}, start, end, chunk, bounds, memory)
        return plan.output(chosen)

    return transform


def apply(
    query: CompiledQuery | str,
    inputs: Mapping[str, DataFrame | BoundFrame],
    *,
    output: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    chunk: Length | None = None,
    bounds: Mapping[str, Moment] | None = None,
    memory: int | str = MEMORY,
) -> DataFrame:
    """Compute the snapshots of an output, as a DataFrame over those of the inputs.

    A DataFrame for each input by its name, or `tiltpy.bind(frame, ...)` where the query
    leaves something open. `start`, `end` and `chunk` are those of `query.run`, `bounds`
    the run-time bounds of time domains by their names. Columns are checked here, and a
    `DataError` names what does not fit; rows are read when the result is. Its columns
    are those of a local run: the keys, `start`, `end`, and the payload. Its rows have
    no order.

    `memory` bounds the rows that a task holds at once, in bytes or as a text: what is
    more waits in files. Several times as much is needed to compute with them. Of a key
    with more rows those must fit that a snapshot depends on; with `chunk`, of a
    partition.

    Rows that share a time are ordered by `order`, or else by all columns that the query
    reads, as they stand in the frame, nulls first.
    """
    compiled = _read_query(query)
    chosen = _choose_output(compiled.query, output)
    return SparkPlan(compiled, inputs, start, end, chunk, bounds, memory).output(chosen)


def apply_all(
    query: CompiledQuery | str,
    inputs: Mapping[str, DataFrame | BoundFrame],
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    chunk: Length | None = None,
    bounds: Mapping[str, Moment] | None = None,
    memory: int | str = MEMORY,
) -> dict[str, DataFrame]:
    """Make a DataFrame for each output, by name; each reads the inputs for itself."""
    compiled = _read_query(query)
    plan = SparkPlan(compiled, inputs, start, end, chunk, bounds, memory)
    return {name: plan.output(name) for name in compiled.query.outputs}


def _read_query(query: CompiledQuery | str) -> CompiledQuery:
    """Compile the text of a query, or check that it is compiled."""
    if isinstance(query, str):
        return parse(query)
    wanted = "a query: its text, tilt.load(path) or tilt.compile(output)"
    return check_argument("query", query, CompiledQuery, wanted)


def _choose_output(query: Query, output: str | None) -> str:
    if output is None and len(query.outputs) == 1:
        return query.outputs[0]
    known = ", ".join(f"'{name}'" for name in query.outputs)
    if output is None:
        raise TiltError(f"the outputs are {known}; choose one: output=...")
    if output not in query.outputs:
        raise TiltError(f"there is no output '{output}' among {known}")
    return output


class SparkPlan:
    """A query and its inputs, checked."""

    def __init__(
        self,
        compiled: CompiledQuery,
        inputs: Mapping[str, object],
        start: Moment | None,
        end: Moment | None,
        chunk: Length | None,
        bounds: Mapping[str, Moment] | None,
        memory: int | str,
    ) -> None:
        wanted = "a dict of DataFrames by input, like {'trades': frame}"
        check_argument("inputs", inputs, Mapping, wanted)
        self.memory = size_of(memory)
        self.options = compiled.options
        known = Arguments(compiled.query)
        self.query = resolve_boundaries(known.needed)
        limits = {} if bounds is None else bounds
        check_argument("bounds", limits, Mapping, "a dict of times by bound")
        for name in limits:
            known.check_bound(name)
        self.request, frames = known.read(start, end, {**inputs, **limits}, APPLY)
        costs = self.options.costs
        self.chunk = read_options(self.query.unit, None, chunk, costs).chunk
        bindings = {n: binding_of(self.query, n, f) for n, f in frames.items()}
        self.sources = read_sources(self.query, bindings)
        stamps = {name: source.stamps for name, source in self.sources.items()}
        self.stamp = output_stamp(stamps, self.query.unit)

    def output(self, name: str) -> DataFrame:
        """Compute the snapshots of an output."""
        query = resolve_boundaries(select_outputs(self.query, (name,)))
        definition = query.definition(name)
        assert definition is not None
        reaches = halo_lengths(query)
        used = [
            NumberedInput(number, self.sources[declared.name], query.unit)
            for number, declared in enumerate(query.inputs)
        ]
        task = self._task(query, name, used)
        everyone = any(not source.keys for source in used)
        unbounded = any(max(reach) >= ALL_FUTURE for reach in reaches.values())
        if task.keys and (everyone or unbounded or self.chunk is None):
            schema = spark_schema(task.schema)
            if not everyone:
                rows, task = self._rows_by_key(query, used, task)
                return rows.mapInArrow(key_worker(task), schema)
            rows = shuffle_by_group(used, PARTITIONS_PER_CORE * self._cores)
            return rows.mapInArrow(group_worker(task), schema)
        cutting = PartitionGrid(
            definition,
            self.request,
            None if unbounded else self.chunk,
            1 if unbounded else PARTITIONS_PER_CORE * self._cores,
            max((back + ahead for back, ahead in reaches.values()), default=0),
            seam_interval(query),
        )
        rows = shuffle_by_time(self._session, used, reaches, cutting)
        whole = rows.mapInArrow(partition_worker(task), spark_schema(task.schema))
        lifetimes = {n: source.lifetime for n, source in self.sources.items()}
        if not can_cross_seams(query, name, lifetimes):
            return whole
        fragments = rows.mapInArrow(
            fragment_worker(task), spark_schema(fragments_schema(task.schema))
        )
        return whole.union(stitch_fragments(fragments, len(task.keys)))

    def _rows_by_key(
        self, query: Query, used: Sequence[NumberedInput], task: SparkTask
    ) -> tuple[DataFrame, SparkTask]:
        """Move all that a key needs to one task: its rows, or states of its panes."""
        if len(used) == 1:
            split = plan_partial_panes(query, task.output, used[0])
            if not isinstance(split, Refusal):
                states, task = fold_panes(split, self._on_cores(used[0]), task)
                return states.repartition(*used[0].keys), task
        return shuffle_by_key(used), task

    def _on_cores(self, used: NumberedInput) -> NumberedInput:
        """Read an input by a task for each core, where that is all there will be.

        Each task has a state for most keys and panes, and fewer states are moved.
        """
        if not (self._session.sparkContext.master or "").startswith("local"):
            return used
        source = used.source
        frame = source.frame.coalesce(self._cores)
        return replace(used, source=replace(source, frame=frame))

    @property
    def _session(self) -> SparkSession:
        return next(iter(self.sources.values())).frame.sparkSession

    @property
    def _cores(self) -> int:
        return int(self._session.sparkContext.defaultParallelism)

    def _task(
        self, query: Query, name: str, used: Sequence[NumberedInput]
    ) -> SparkTask:
        definition = query.definition(name)
        assert definition is not None
        keys = keys_of(query, name)
        payload = format_of(name, definition.type, self.stamp).schema()
        sources = {numbered.name: numbered.source for numbered in used}
        fields = [*_key_fields(keys, sources), *payload]
        return SparkTask(
            format_query(query),
            self.options,
            tuple(map(_columns, used)),
            name,
            str(definition.span),
            keys,
            result_schema(pa.schema(fields), name),
            self.stamp,
            self.request,
            self.chunk,
            self.memory,
        )


def _columns(numbered: NumberedInput) -> InputColumns:
    source, slots = numbered.source, numbered.slots
    return InputColumns(
        numbered.name,
        tuple(slots),
        pa.schema([source.schema.field(name) for name in slots.values()]),
        source.declared.keys,
        source.time_name,
        source.lifetime,
        source.payload_name,
        source.order,
        str(source.declared.span),
    )


def _key_fields(keys: Keys, sources: Mapping[str, SparkSource]) -> list[pa.Field]:
    """Find the key columns of an output, in types that hold those of all inputs."""
    fields = []
    for position, key in enumerate(keys):
        kinds = {
            name: source.schema.field(source.declared.keys[position]).type
            for name, source in sources.items()
            if source.declared.keys
        }
        fields.append(pa.field(key, common_type(key, kinds)))
    return fields
