"""Random queries over Spark, with keys and without, and sums that round."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import tiltpy as tilt
from tests.compare import TOLERANCE, is_rough, same_number
from tests.compiled import table_of
from tests.random.calendars import random_calendar_cases
from tests.random.cut_windows import random_cut_case
from tests.random.interval_cells import with_interval_cells
from tests.random.made_strings import random_text_case
from tests.random.open_windows import random_open_case
from tests.random.present import random_present_case
from tests.random.queries import Case, random_case
from tests.random.row_queries import random_row_case
from tests.random.timelines import with_distinct
from tiltpy.api import CompiledQuery
from tiltpy.compiler.options import CompileOptions
from tiltpy.ir.find_string_uses import find_string_uses
from tiltpy.ir.nodes import Input
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.spark import apply_all, tilt_transform
from tiltpy.types import Scalar, Struct, Type

CASES, OPEN = 1, 2
DEEP_CASES = 200
KEYS = ("a", "b", None)
IN_ORDER = ("key", "start", "end")
DAY = 86400


def has_unsigned(of: Type) -> bool:
    """Return whether Spark has no type for a payload."""
    if isinstance(of, Struct):
        return any(has_unsigned(inner) for _, inner in of.fields)
    return isinstance(of, Scalar) and of.kind == "uint"


def exact_case(seed: int) -> Case:
    return random_case(seed, exact=True, specials=seed % 3 == 0)


def row_case(seed: int) -> Case:
    return random_row_case(seed, exact=True, specials=seed % 3 == 0)


def open_case(seed: int) -> Case | None:
    """A case with open windows: some see the present, some where these cut."""
    match seed % 3:
        case 0:
            return random_present_case(seed, opened=True)
        case 1:
            return random_cut_case(seed)
        case _:
            return random_open_case(seed)


def text_case(seed: int) -> Case | None:
    """A case that makes strings, or numbers of strings."""
    case = random_text_case(seed, exact=True)
    return case if find_string_uses(case.query).calls else None


def cases(
    count: int, draw: Callable[[int], Case | None] = exact_case
) -> list[tuple[int, Case]]:
    """Cases whose inputs have types of Spark's, with their seeds."""
    found: list[tuple[int, Case]] = []
    seed = 7000
    while len(found) < count:
        seed += 1
        case = draw(seed)
        if case is not None and not any(
            has_unsigned(one.type) for one in case.query.inputs
        ):
            found.append((seed, case))
    return found


def rows_of(case: Case, declared: Input, random: Random, *, by_key: bool) -> pa.Table:
    """An input's events, their order in a column; of each key some of them."""
    parts = []
    for key in KEYS if by_key else KEYS[:1]:
        events = case.events[declared.name]
        if by_key:
            events = [event for event in events if random.random() < 0.7]
        part = table_of(declared, events)
        part = part.append_column("seq", pa.array(range(len(events)), pa.int64()))
        parts.append(
            part.append_column("key", pa.array([key] * len(events), pa.string()))
        )
    return pa.concat_tables(parts)


def listed(table: pa.Table) -> list[str]:
    """The rows as texts in order: a NaN is what it is, and so is a zero's sign."""
    return sorted(map(repr, table.to_pylist()))


def check(
    spark: SparkSession, seed: int, case: Case, *, by_key: bool, tick: int = 1
) -> None:
    """Compare with a local run; `tick`: how much longer chunks are."""
    random = Random(seed)  # noqa: S311
    inputs = tuple(
        replace(
            one,
            lifetime=Interval("start", "end"),
            time=None,
            order=("seq",),
            keys=("key",) if by_key else (),
        )
        for one in case.query.inputs
    )
    query = CompiledQuery(
        replace(case.query, inputs=inputs), CompileOptions(optimize=False, cache=False)
    )
    tables = {
        one.name: rows_of(case, one, random, by_key=by_key)
        for one in query.query.inputs
    }
    bound = {
        name: tilt.bind(table, column=column_of(query, name))
        for name, table in tables.items()
    }
    expected = query.run(start=case.start, end=case.end, **bound, **case.bounds)  # type: ignore[arg-type]
    frames = {
        name: tilt.bind(frame_of(spark, table), column=column_of(query, name))
        for name, table in tables.items()
    }
    chunk = random.choice((None, 3, 8, 30))
    chunk = None if chunk is None else chunk * tick
    found = apply_all(
        query,
        frames,
        start=case.start,
        end=case.end,
        bounds=case.bounds,
        chunk=chunk,
    )
    name = random.choice(query.query.outputs)
    got = found[name].toArrow()
    wanted = expected[name].to_arrow().cast(got.schema)
    text = f"seed {seed}, chunk {chunk}, ~{name}\n{format_query(query.query)}"
    if is_rough(query.query, name):  # rounds alike over the same chunks alone
        assert near(got, wanted), text
    else:
        assert listed(got) == listed(wanted), text


def check_cases(
    spark: SparkSession, found: Iterable[tuple[int, Case]], *, deep: bool
) -> None:
    """Check cases with keys or without, as seeds are even or odd; deep with both."""
    for seed, case in found:
        for by_key in (False, True) if deep else (seed % 2 == 0,):
            check(spark, seed, case, by_key=by_key)


def near(one: pa.Table, other: pa.Table) -> bool:
    """Return whether tables have the same rows, but for floats that round otherwise."""
    keys = [(name, "ascending") for name in one.column_names if name in IN_ORDER]
    tables = [table.sort_by(keys).flatten() for table in (one, other)]
    columns = zip(*(table.columns for table in tables), strict=True)
    return len(one) == len(other) and all(
        same_number(x, y, within * max(10.0, abs(y or 0)))
        if pa.types.is_floating(left.type)
        else x == y
        for left, right in columns
        for within in [TOLERANCE[pa.types.is_float32(left.type)]]
        for x, y in zip(left.to_pylist(), right.to_pylist(), strict=True)
    )


def column_of(query: CompiledQuery, name: str) -> str | None:
    declared = query.query.input(name)
    assert declared is not None
    return name if isinstance(declared.type, Scalar) else None


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).repartition(3)


def test_random_queries_give_what_local_runs_give(
    spark: SparkSession, *, deep: bool
) -> None:
    check_cases(spark, cases(DEEP_CASES if deep else CASES), deep=deep)


def test_distinct_objects_give_what_local_runs_give(
    spark: SparkSession, *, deep: bool
) -> None:
    drawn = cases(DEEP_CASES if deep else CASES)
    distinct = ((seed, with_distinct(case, seed)) for seed, case in drawn)
    check_cases(spark, distinct, deep=deep)


def test_open_windows_give_what_local_runs_give(
    spark: SparkSession, *, deep: bool
) -> None:
    """Three draw them, in turn."""
    check_cases(spark, cases(DEEP_CASES if deep else OPEN, open_case), deep=deep)


def test_made_strings_are_those_of_local_runs(
    spark: SparkSession, *, deep: bool
) -> None:
    check_cases(spark, cases(DEEP_CASES if deep else CASES, text_case), deep=deep)


def test_calendars_give_what_local_runs_give(
    spark: SparkSession, *, deep: bool
) -> None:
    drawn = list(random_calendar_cases(7000, 10 * DEEP_CASES if deep else 40))
    fitting = [
        (seed, case)
        for seed, case in drawn
        if not any(has_unsigned(one.type) for one in case.query.inputs)
        and any(one.tdom.calendar for one in case.query.definitions)
    ]
    for seed, case in fitting if deep else fitting[:CASES]:
        check(spark, seed, case, by_key=seed % 2 == 0, tick=DAY // 2)


def test_cells_of_an_input_give_what_local_runs_give(
    spark: SparkSession, *, deep: bool
) -> None:
    drawn = cases(DEEP_CASES if deep else CASES)
    over_cells = (
        (seed, with_interval_cells(case, seed, beside=True)) for seed, case in drawn
    )
    check_cases(spark, over_cells, deep=deep)


def test_cells_of_a_known_length_go_over_seams(
    spark: SparkSession, *, deep: bool
) -> None:
    query = tilt.parse("""
        unit s
        input shift : i64 time ts duration 12s
        input x : i64 time ts point
        d = TDom(cells of ~shift)
        ~n[d] = { shift = ~shift[d], total = sum(~x[d - 1 cell : d]) }
        ~late[d] = ~x[d] * 2
        output ~n, ~late
    """)
    random = Random(3)  # noqa: S311
    starts = np.cumsum([random.choice((12, 12, 15, 40)) for _ in range(24)])
    stamps = sorted(random.sample(range(int(starts[-1]) + 12), 160))
    tables = {
        "shift": pa.table({"ts": starts, "shift": range(24)}),
        "x": pa.table({"ts": stamps, "x": range(160)}),
    }
    expected = query.run(**tables)
    frames = {name: frame_of(spark, table) for name, table in tables.items()}
    for chunk in (None, 25, 300) if deep else (100,):
        for name, frame in apply_all(query, frames, chunk=chunk).items():
            assert listed(frame.toArrow()) == listed(expected[name].to_arrow()), chunk


def test_rows_are_those_of_local_runs(spark: SparkSession, *, deep: bool) -> None:
    """One row out for each one in, whichever partition has it."""
    check_cases(spark, cases(DEEP_CASES if deep else CASES, row_case), deep=deep)


@pytest.mark.few(1)
@pytest.mark.parametrize("window", ["50s", "500s"])
def test_sums_round_as_in_local_runs(spark: SparkSession, window: str) -> None:
    query = tilt.parse(f"""
        unit s
        input x : f64 time ts point
        ~o[t] = ~x[t] - mean(~x[t-{window} : t])
    """)
    values = np.random.default_rng(5).normal(size=20_000)
    for step, chunk in ((1, 4096), (3, 10_000)):
        # Regular samples, and rows with gaps between.
        table = pa.table({"ts": np.arange(len(values)) * step, "x": values})
        expected = query.run(x=table).to_arrow()
        frame = spark.createDataFrame(table).repartition(4)
        found = frame.transform(tilt_transform(query, chunk=chunk)).toArrow()
        assert found.sort_by("start").equals(expected.cast(found.schema))
