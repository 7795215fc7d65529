"""Keyed queries as the tests run them: tables in, any way through, tables compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import (
    Setting,
    arrow_of,
    laid_out,
    random_setting,
    snapshots,
)
from tests.costs import LOOP_STARTS
from tests.one_shot import Kind, frame_of
from tests.random.key_columns import key_array
from tests.random.key_rows import KeyedInput
from tests.random.keyed_queries import KeyedCase
from tiltpy.abi.layouts import TimeLayout
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import Costs, KeyCosts, PreaggregationCosts
from tiltpy.engines.local import bind_inputs, run, run_parts
from tiltpy.engines.output_groups import make_group
from tiltpy.interpreter.evaluate import Snapshot
from tiltpy.interpreter.keys import Key, key_order, same_key
from tiltpy.ir.keys import keys_of
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result
from tiltpy.types import Struct


@dataclass(frozen=True, slots=True)
class KeyedSetting:
    """One way to execute a keyed query; none of them changes its result."""

    plain: Setting
    order: Order
    sizes: dict[str, int]
    """The `KeyCosts` that say what a batch is, and which rows are many."""
    preaggregate: bool | None
    """Whether windows are folded without grouping rows wherever they can be."""
    public: bool
    """Whether it runs through `CompiledQuery`, with its own layouts and kernels."""
    chunk_rows: int
    """The rows of each chunk of the tables."""
    frames: Kind
    """Whether inputs are tables, or can be read but once."""

    @property
    def costs(self) -> Costs:
        """The costs of runs and keys, with few rows as many."""
        folds = PreaggregationCosts()
        if self.preaggregate:
            folds = PreaggregationCosts(least_rows=0, entries_per_row=1 << 10)
        run = self.plain.costs.run
        return Costs(run=run, keys=KeyCosts(**self.sizes), preaggregation=folds)


def random_keyed_setting(random: Random, plain: Setting | None = None) -> KeyedSetting:
    """Batches of any size, keys with many rows from any number on."""
    if plain is None:
        plain = replace(random_setting(random, 80), optimize=random.random() < 0.2)
        if random.random() < 0.8:  # chunks make runs of their own of most keys
            plain = replace(plain, chunk=None)
    public = random.random() < 0.3
    if public:
        plain = replace(plain, vector=None, layout=None)
    sizes = {
        "many_rows": random.choice((1, 60, *[1 << 15] * 5)),
        "shared_rows": random.choice((1, 30, 100, *[1 << 21] * 4)),
        "batch_keys": random.choice((1, 3, *[1 << 12] * 5)),
        **dict.fromkeys(LOOP_STARTS, random.choice((1, 3, *[1 << 12] * 5))),
        "batch_rows": random.choice((1, 100, 300, *[1 << 17] * 3)),
        "joined_batches": random.choice((1, 2, 4)),
        "call_rows": random.choice((1, 20, 50, 1 << 16)),
        "kept_rows": random.choice((0, 1 << 22)),
        "few_phases": random.choice((1, 4)),
        "shared_looks": random.choice((-1 << 50, 1 << 23)),
    }
    return KeyedSetting(
        plain,
        random.choice(("key", "key", "time")),
        sizes,
        random.choice((True, True, None, False)),
        public,
        random.choice((1, 3, 10, 1000, 1000)),
        random.choice(("table", "stream", "reader")),
    )


# -- running --------------------------------------------------------------------------


def run_keyed(case: KeyedCase, setting: KeyedSetting) -> Result:
    """The outputs of a case, from machine code."""
    return _public(case, setting) if setting.public else _laid_out(case, setting)


def _public(case: KeyedCase, setting: KeyedSetting) -> Result:
    """As a user runs it, over tables or streams."""
    compiled = tilt.CompiledQuery(case.query, setting.plain.options(setting.costs))
    half = replace(case, inputs={n: _half_of(one) for n, one in case.inputs.items()})
    for before in (half, case, half) if setting.plain.rehearsed else ():
        _run_public(compiled, before, setting)
    return _run_public(compiled, case, setting)


def _run_public(
    compiled: tilt.CompiledQuery, case: KeyedCase, setting: KeyedSetting
) -> Result:
    return compiled.run(
        start=case.start,
        end=case.end,
        workers=setting.plain.workers,
        chunk=setting.plain.chunk,
        order=setting.order,
        **bound_case(case, setting),
    )


def _half_of(one: KeyedInput) -> KeyedInput:
    count = len(one.rows) // 2
    ranks = None if one.ranks is None else one.ranks[:count]
    return replace(one, rows=one.rows[:count], ranks=ranks)


def bound_case(case: KeyedCase, setting: KeyedSetting) -> dict[str, Any]:
    """Bind the inputs of a run; key columns of frames are renamed."""
    given: dict[str, Any] = dict(case.bounds)
    for name, one in case.inputs.items():
        table = table_of(one, setting.chunk_rows)
        called = [f"{key} of {name}" for key in one.declared.keys]
        rest = table.column_names[len(called) :]
        binding = binding_of(one, table.rename_columns([*called, *rest]))
        given[name] = tilt.bind(
            frame_of(binding.frame, setting.frames),
            time=binding.time,
            lifetime=binding.lifetime,
            column=binding.column,
            order=binding.order,
            by=called,
        )
    return given


def _laid_out(case: KeyedCase, setting: KeyedSetting) -> Result:
    """Draw a keyed setting with any layout, and vector kernels for small keys."""
    bindings = {}
    for name, one in case.inputs.items():
        binding = binding_of(one, table_of(one, setting.chunk_rows))
        frame = frame_of(binding.frame, setting.frames)
        bindings[name] = replace(binding, frame=frame)
    request = Request(case.start, case.end, case.bounds)
    plain = setting.plain
    options = RunOptions(
        plain.workers,
        plain.chunk,
        vector=plain.vector,
        preaggregate=setting.preaggregate,
        costs=setting.costs,
    )
    compilers = [
        Compiler(part, setting.plain.options(setting.costs))
        for part in split_by_keys(case.query)
    ]
    parts = [make_group(one) for one in compilers]
    if plain.layout is None:
        order = setting.order
        return run_parts(case.query, parts, bindings, request, options, order)
    inputs = bind_inputs(case.query, bindings, allow_sort=True)
    inputs = {name: _less_special(one, plain.layout) for name, one in inputs.items()}
    found: dict[str, OutputTable] = {}
    for part in parts:
        made = run(part, inputs, request, options, setting.order)
        found |= dict(made.items())
    return Result([found[name] for name in case.query.outputs])


def _less_special(found: InputRows, layout: TimeLayout) -> InputRows:
    """The rows in a layout for more rows, where they allow it."""
    groups = found.groups
    if groups is None:
        return replace(found, buffer=laid_out(found.buffer, layout))
    order = list(TimeLayout)
    buffer = groups.buffer
    if order.index(layout) <= order.index(buffer.layout) or buffer.n == 0:
        return found
    starts, ends = (times.copy() for times in groups.times())
    made = replace(buffer, layout=layout, starts=starts, ends=ends, start=0, period=1)
    if layout is TimeLayout.CONTIGUOUS:
        made = replace(made, starts=None)
    if layout is TimeLayout.OVERLAPPING:
        made = replace(made, fifo=bool(starts[0] % 2))
    grouped = Groups(made, groups.offsets, groups.firsts, groups.lasts)
    return replace(found, buffer=made, groups=grouped)


# -- tables ---------------------------------------------------------------------------


def table_of(one: KeyedInput, chunk_rows: int) -> pa.Table:
    """The rows of an input, its key columns first."""
    declared, rows = one.declared, one.rows
    named = {
        name: key_array([row.key[place] for row in rows], kind)
        for place, (name, kind) in enumerate(zip(declared.keys, one.types, strict=True))
    }
    named["start"] = pa.array([row.start for row in rows], pa.int64())
    named["end"] = pa.array([row.end for row in rows], pa.int64())
    if one.ranks is not None:
        named["rank"] = pa.array(one.ranks, pa.int64())
    cells = [row.value for row in rows]
    if isinstance(declared.type, Struct) and not one.in_column:
        for name, of in declared.type.fields:
            named[name] = pa.array([cell[name] for cell in cells], arrow_of(of))  # type: ignore[index]
    else:
        named["value"] = pa.array(cells, arrow_of(declared.type))
    whole = pa.table(named)
    if len(rows) <= chunk_rows:
        return whole
    parts = range(0, len(rows), chunk_rows)
    return pa.concat_tables([whole.slice(first, chunk_rows) for first in parts])


def binding_of(one: KeyedInput, table: pa.Table) -> InputBinding:
    """Return how the table is bound."""
    scalar = one.in_column or not isinstance(one.declared.type, Struct)
    return InputBinding(
        table,
        None if isinstance(one.lifetime, Interval) else "end",
        one.lifetime,
        "value" if scalar else None,
        () if one.ranks is None else ("rank",),
    )


# -- comparing ------------------------------------------------------------------------


def check_keyed(case: KeyedCase, setting: KeyedSetting, *, exact: bool) -> str | None:
    """Return what differs between the interpreter and machine code, if anything."""
    expected = case.expected()
    found = run_keyed(case, setting)
    for name in case.query.outputs:
        difference = difference_in(case, setting, found[name], expected[name], exact)
        if difference is not None:
            return f"~{name}: {difference}\n{format_query(case.query)}"
    return None


def difference_in(
    case: KeyedCase,
    setting: KeyedSetting,
    output: OutputTable,
    expected: dict[Key, list[Snapshot]],
    exact: bool,
) -> str | None:
    """Describe what is wrong in an output's table: its columns, their order, rows."""
    table, names = output.to_arrow(), keys_of(case.query, output.name)
    schema = expected_schema(case, output.name)
    if table.schema != schema or output.schema != schema:
        return f"columns {table.schema}, expected {schema}"
    if len(output) != table.num_rows:
        return f"{len(output)} snapshots, of which {table.num_rows} are in the table"
    keys = keys_in(table, names)
    rows = snapshots(output)
    definition = case.query.definition(output.name)
    assert definition is not None
    tied = definition.tdom.rows is not None  # rows that start together end anyhow
    order: list[tuple[object, ...]] = [
        (row.start, 0 if tied else row.end, key_order(key))
        if setting.order == "time"
        else (key_order(key), row.start, 0 if tied else row.end)
        for key, row in zip(keys, rows, strict=True)
    ]
    if names and any(after < before for before, after in pairwise(order)):
        return f"rows out of order of {setting.order}: {order}"
    by_key: dict[Key, list[Snapshot]] = {key: [] for key in expected}
    for key, row in zip(keys, rows, strict=True):
        by_key.setdefault(key, []).append(row)
    for key, some in by_key.items():
        meant = expected.get(key)
        if meant is None:
            return f"key {key} with {some}, expected none"
        difference = first_difference(some, meant, case.query, output.name, exact=exact)
        if difference is not None:
            return f"key {key}: {difference}"
    return None


def keys_in(table: pa.Table, names: Sequence[str]) -> list[Key]:
    """The key of each row."""
    columns = [table[name].to_pylist() for name in names]
    if not columns:
        return [()] * table.num_rows
    return [same_key(key) for key in zip(*columns, strict=True)]


def expected_schema(case: KeyedCase, name: str) -> pa.Schema:
    """The columns of an output: keys, times, payload."""
    names = keys_of(case.query, name)
    keys = list(zip(names, case.key_types(names), strict=True))
    times = [("start", pa.int64()), ("end", pa.int64())]
    of = case.query.type_of(name)
    payload = [(name, arrow_of(of))]
    if isinstance(of, Struct):
        payload = [(field, arrow_of(inner)) for field, inner in of.fields]
    return pa.schema([*keys, *times, *payload])
