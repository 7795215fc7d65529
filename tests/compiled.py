"""The compiled engine as the tests run it: real Arrow in, any layout and chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Literal

import numpy as np
import pyarrow as pa

from tests.costs import USERS_RUN
from tests.random.held_rows import as_intervals, hold_on
from tests.random.queries import Case
from tiltpy.abi.layouts import TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import Costs
from tiltpy.engines.local import run
from tiltpy.interpreter.evaluate import FOREVER, Event, Snapshot
from tiltpy.ir.nodes import Input, Query
from tiltpy.lifetimes import Interval, Point
from tiltpy.passes.pipeline import PASS_NAMES
from tiltpy.plan.choose import STRATEGY_NAMES
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.time_payloads import output_type
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.types import DURATION, Scalar, Struct, Type

NO_STRATEGIES = frozenset(STRATEGY_NAMES)
"""All of them left out: sweeps alone."""

ARROW = {
    "bool": pa.bool_(),
    "time": pa.int64(),
    "duration": pa.int64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "string": pa.string(),
    **{f"i{n}": getattr(pa, f"int{n}")() for n in (8, 16, 32, 64)},
    **{f"u{n}": getattr(pa, f"uint{n}")() for n in (8, 16, 32, 64)},
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to execute a query; none of them changes its result."""

    chunk: int | None = None
    workers: int = 1
    special_shapes: bool = True
    """Whether any strategy may be used, or none but sweeps."""
    disabled_passes: frozenset[str] = frozenset()
    layout: TimeLayout | None = None
    """A layout to lay the rows out in where they allow it, other than the best."""
    optimize: bool = True
    nulls: Literal["gaps", "samples"] | None = None
    """Whether null rows are put into the gaps of scalar inputs: one or two to a gap, or
    where the events are samples one for each that is lost."""
    points: bool = False
    """Whether events of one tick are bound as such."""
    vector: bool | None = None
    """Whether vector kernels are used wherever they can be; by default for larger
    inputs."""
    small: bool = False
    """Whether a few cells fill the tiles and the longest trees of vector kernels, all
    inputs are guarded and windows of a few vectors are made of blocks of blocks, two
    objects are a long chain, windows of two ticks are folded as panes of rows, objects
    are merged four visits at a time, the basins of outputs are full soon, rounds have
    few snapshots, and states of folds are guessed from few rows, often wrongly."""
    rehearsed: bool = False
    """Whether the query runs three times before, over half of the events and over all.
    A run over few rows is then one call, by formulas compiled over other rows."""

    @property
    def disabled(self) -> frozenset[str]:
        """The strategies that are left out."""
        return frozenset() if self.special_shapes else NO_STRATEGIES

    @property
    def costs(self) -> Costs:
        """Return where strategies become cheaper than others."""
        if self.small:
            return SMALL_COSTS
        return SPECIALISED_COSTS if self.rehearsed else USERS_COSTS

    def options(self, costs: Costs | None = None) -> CompileOptions:
        """Make the compiler's options, with these costs or else its own."""
        return CompileOptions(
            disabled_passes=self.disabled_passes,
            disabled_strategies=self.disabled,
            optimize=self.optimize,
            cache=False,  # each query is met in one test
            costs=costs or self.costs,
        )


SMALL_COSTS = Costs(
    run=replace(
        USERS_RUN,
        baseline_rows=0,
        round_snapshots=100,
        warmup_rows=6,
        most_warmup_rows=12,
        wrong_guesses=10,
    ),
    tile=64,
    carried_vectors=0,
    long_chain=2,
    longest_tree=32,
    longest_narrow_tree=40,
    longest_swept_tree=8,
    streamed_bytes=24,
    staging_buffer=18,
    shortest_tumbling=2,
    run_visits=4,
    hashed_rows=2,
    inserted_rows=3,
    ranked_rows=2,
    near_numbers=3,
    cursor_rows=40,
    counted_entries=64,
    guarded_window=1,
    nested_window=64,
    short_block=2,
)
"""Where few rows and short windows are enough to reach every strategy."""
USERS_COSTS = Costs(run=USERS_RUN)
SPECIALISED_COSTS = Costs(run=replace(USERS_RUN, baseline_rows=0))
"""Costs by which few rows have the specialised sweep kernel, and no baseline kernel."""


def random_setting(random: Random, span: int) -> Setting:
    """Any chunk length from one tick to all, one or two workers, passes on or off."""
    chunk = random.choice((None, 1, 2, 3, 5, 8, random.randint(1, span), span))
    disabled = [name for name in PASS_NAMES if random.random() < 0.25]
    setting = Setting(
        chunk,
        random.choice((1, 2)),
        random.random() < 0.6,
        frozenset(disabled if random.random() < 0.6 else ()),
        random.choice((None, None, None, *TimeLayout)),
        optimize=random.random() < 0.2,
        nulls=random.choice((None, None, "gaps", "samples")),
        points=random.random() < 0.5,
        vector=random.choice((None, True, True)),
        small=random.random() < 0.5,
    )
    if random.random() < 0.25:
        return replace(setting, chunk=None, vector=None, rehearsed=True)
    return setting


def run_options(setting: Setting) -> RunOptions:
    """Make the run options of a setting."""
    return RunOptions(
        setting.workers, setting.chunk, vector=setting.vector, costs=setting.costs
    )


def run_compiled(case: Case, setting: Setting) -> dict[str, list[Snapshot]]:
    """The snapshots of every output, from machine code."""
    compiler = compiler_of(case.query, setting.options())
    group = OutputGroup(case.query, compiler.compile_for)
    request = Request(case.start, case.end, case.bounds)
    some = {name: rows[: len(rows) // 2] for name, rows in case.events.items()}
    for events in (some, case.events, some) if setting.rehearsed else ():
        run(group, _ingest_all(case, events, setting), request, run_options(setting))
    inputs = _ingest_all(case, case.events, setting)
    result = run(group, inputs, request, run_options(setting))
    return {name: snapshots(result[name]) for name in case.query.outputs}


def _ingest_all(
    case: Case, events: Mapping[str, Sequence[Event]], setting: Setting
) -> dict[str, InputRows]:
    return {
        declared.name: _ingest(declared, events[declared.name], setting)
        for declared in case.query.inputs
    }


@lru_cache(maxsize=4)
def compiler_of(query: Query, options: CompileOptions) -> Compiler:
    """Make the same one for all rows of a test, and for all its chunks."""
    return Compiler(query, options)


def snapshots(output: OutputTable) -> list[Snapshot]:
    """An output's rows as the interpreter writes them."""
    table = output.to_arrow()
    starts, ends = table["start"].to_pylist(), table["end"].to_pylist()
    names = table.column_names[2 + len(output.keys) :]
    kinds = [output.type]
    if isinstance(output.type, Struct):
        kinds = [of for _, of in output.type.fields]
    values = [
        listed_column(table[name], of, output)
        for name, of in zip(names, kinds, strict=True)
    ]
    if isinstance(output.type, Scalar):
        payload: Sequence[object] = values[0]
    else:
        payload = [
            dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)
        ]
    ends = [FOREVER if end is None else end for end in ends]
    rows = zip(starts, ends, payload, strict=True)
    return [Snapshot(s, e, v) for s, e, v in rows]  # type: ignore[arg-type]


def listed_column(
    column: pa.ChunkedArray, of: Type, output: OutputTable
) -> list[object]:
    """A column's values as the interpreter writes them."""
    if isinstance(of, Struct):
        parts = zip(of.fields, column.combine_chunks().flatten(), strict=True)
        inner = {name: listed_column(part, t, output) for (name, t), part in parts}
        rows = zip(*inner.values(), strict=True)
        there = column.is_valid().to_pylist()
        made = (dict(zip(inner, row, strict=True)) for row in rows)
        return [one if valid else None for one, valid in zip(made, there, strict=True)]
    if of.is_temporal:
        return list(in_ticks(column, output))
    found: list[object] = column.to_pylist()
    return found


def in_ticks(column: pa.ChunkedArray, output: OutputTable) -> list[int | None]:
    """The ticks of times or durations that went out."""
    factor = output_type(DURATION, output.stamp).factor
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    found = column.cast(whole).to_pylist()
    return [None if value is None else value // factor for value in found]


def table_of(
    declared: Input, events: Sequence[Event | tuple[int, int, None]]
) -> pa.Table:
    """Events as a table with interval columns."""
    named = {
        "start": pa.array([e[0] for e in events], pa.int64()),
        "end": pa.array([e[1] for e in events], pa.int64()),
    }
    if isinstance(declared.type, Struct):
        for name, of in declared.type.fields:
            cells = [e[2][name] for e in events]  # type: ignore[index]
            named[name] = pa.array(cells, arrow_of(of))
    else:
        cells = [e[2] for e in events]
        named[declared.name] = pa.array(cells, arrow_of(declared.type))
    return pa.table(named)


def arrow_of(payload: Type) -> pa.DataType:
    """The Arrow type of a column."""
    if isinstance(payload, Struct):
        return pa.struct([(name, arrow_of(of)) for name, of in payload.fields])
    return ARROW[payload.name]


def _ingest(declared: Input, events: Sequence[Event], setting: Setting) -> InputRows:
    stored = as_intervals(events)
    rows: list[Event | tuple[int, int, None]] = list(stored)
    if setting.nulls and isinstance(declared.type, Scalar):
        rows = with_null_rows(stored, setting.nulls)
    table = table_of(declared, rows)
    settled = replace(declared, lifetime=Interval("start", "end"), time=None, order=())
    if setting.points and all(row[1] - row[0] == 1 for row in rows):
        settled = replace(settled, lifetime=Point(), time="end")
        table = table.drop_columns(["start"])
    found = ingest(settled, InputBinding(table), unit=None)
    found = replace(found, buffer=hold_on(found.buffer, events))
    if setting.layout is None:
        return found
    return replace(found, buffer=laid_out(found.buffer, setting.layout))


def with_null_rows(
    events: Sequence[Event], kind: Literal["gaps", "samples"]
) -> list[Event | tuple[int, int, None]]:
    """Rows without a payload in the gaps between events."""
    lengths = {event.end - event.start for event in events}
    lost = {later.start - event.end for event, later in pairwise(events)}
    if kind == "samples" and len(lengths) == 1:
        (period,) = lengths
        if all(gap >= 0 and gap % period == 0 for gap in lost):
            return _with_lost_samples(events, period)
    rows: list[Event | tuple[int, int, None]] = []
    until: int | None = None
    for event in events:
        if until is not None and event.start > until:
            middle = (until + event.start) // 2
            if until < middle:
                rows.append((until, middle, None))
            rows.append((middle, event.start, None))
        rows.append(event)
        until = event.end if until is None else max(until, event.end)
    return rows


def _with_lost_samples(
    events: Sequence[Event], period: int
) -> list[Event | tuple[int, int, None]]:
    there = {event.start: event for event in events}
    starts = range(events[0].start, events[-1].end, period)
    return [there.get(start, (start, start + period, None)) for start in starts]


def laid_out(buffer: SnapshotBuffer, layout: TimeLayout) -> SnapshotBuffer:
    """The buffer in a less special layout, where its rows allow it."""
    order = list(TimeLayout)
    if order.index(layout) <= order.index(buffer.layout) or buffer.n == 0:
        return buffer
    starts, ends = (np.ascontiguousarray(times) for times in buffer.times())
    if layout is TimeLayout.CONTIGUOUS:
        return replace(buffer, layout=layout, starts=None, ends=ends, period=1)
    fifo = layout is not TimeLayout.OVERLAPPING or bool(starts[0] % 2)
    return replace(
        buffer, layout=layout, starts=starts, ends=ends, start=0, period=1, fifo=fifo
    )
