"""Malformed Arrow data never end the process, and never give values.

Columns of every type, in every role, are damaged and given to a run in a child process.
`arrow_structure` says independently what is malformed: that must be refused by name,
and nothing else may be called broken.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.forked import try_all
from tests.runtime.arrow import broken_arrow as broken
from tests.runtime.arrow.arrow_structure import fault_of, node_of
from tiltpy.costs import DEFAULT_COSTS, PreaggregationCosts
from tiltpy.errors import DataError

CASES = 80
DEEP = 20_000
BATCHES = 2
ROWS = 24
PAYLOADS: dict[str, tuple[pa.DataType, ...]] = {
    "i64": broken.NUMBERS[:2],
    "u16": (pa.uint16(),),
    "f64": broken.NUMBERS[4:8],
    "bool": (pa.bool_(),),
    "time": broken.NUMBERS[9:12],
    "duration": (pa.duration("s"),),
    "string": broken.STRINGS,
}
OUTCOMES = "unread", "malformed, refused", "sound, refused", "sound, run"
READER, STREAMED = 0.2, 0.7
OF_VALUES = "UTF8", "fit in precision"
"""What is refused as broken in spite of its structure."""
ROLES = ("payload", "field", "samples", "key", "order", "time")


@dataclass(frozen=True, slots=True)
class Trial:
    """A role, and a query whose input takes the column in it."""

    role: str
    kind: pa.DataType
    query: tilt.CompiledQuery
    way: float
    """Where in 0 to 1 stand the ways to run it: over a reader, plainly, streamed."""

    @property
    def counts_anew(self) -> bool:
        """Tell whether nulls are counted anew: rows are cut, fields looked at."""
        return self.role == "field" or not READER <= self.way < STREAMED


@cache
def compiled(text: str) -> tilt.CompiledQuery:
    options = tilt.CompileOptions(optimize=False)
    return tilt.parse(f"unit s\n{text}", options=options)


def trial_of(random: Random) -> Trial:
    """Any role, type and query."""
    kinds: tuple[pa.DataType, ...]
    role, way = random.choice(ROLES), random.random()
    if role == "time":
        kinds = (pa.int64(), pa.timestamp("s"), pa.date32(), pa.int32(), pa.date64())
        text = "input x : i64 time c point\n~o[t] = sum(~x[t-5:t])"
        return Trial(role, broken.random_type(random, kinds), compiled(text), way)
    if role == "key":
        kinds = (*broken.STRINGS, *broken.STRINGS, *broken.NUMBERS[:-1])
        text = "input x by c : i64 time ts point\n~o[t] = sum(~x[t-5:t])"
        return Trial(role, broken.random_type(random, kinds), compiled(text), way)
    if role == "order":
        kinds = (*broken.BYTES, *broken.STRINGS, *broken.NUMBERS)
        text = "input x : i64 time ts point order c\n~o[t] = last(~x[t-5:t])"
        return Trial(role, broken.random_type(random, kinds), compiled(text), way)
    declared = random.choice(list(PAYLOADS))
    kind = broken.random_type(random, PAYLOADS[declared])
    reduction = random.choice(("", "count", "last"))
    if role == "samples":
        text = f"input x : {declared}\n~o[t] = {reduction}(~x[t-{ROWS}:t])"
        text = text.replace("= (~x[t-24:t])", "= ~x[t]")
    elif role == "field":
        body = f"{reduction}(~x[t-5:t].c)" if reduction else "~x[t].c"
        text = f"input x : {{ d: i64, c: {declared} }} time ts point\n~o[t] = {body}"
    else:
        body = f"{reduction}(~x[t-5:t])" if reduction else "~x[t]"
        text = f"input x : {declared} time ts point\n~o[t] = {body}"
    return Trial(role, kind, compiled(text), way)


def table_of(random: Random, trial: Trial) -> pa.Table:
    """Sound rows, in up to three chunks."""
    chunks = []
    for rows in random.choice(((ROWS,), (10, 14), (1, 0, 23))):
        nulls = trial.role != "time" and random.random() < 0.6
        array = broken.column(random, trial.kind, rows, nulls=nulls)
        if trial.role == "field":
            there = [random.random() < 0.2 and nulls for _ in range(rows)]
            numbers = broken.column(random, pa.int64(), rows, nulls=False)
            names = ["d", "c"]
            mask = pa.array(there, pa.bool_())
            array = pa.StructArray.from_arrays([numbers, array], names, mask=mask)
        chunks.append(array)
    column = pa.chunked_array(chunks)
    stamps = pa.array([number // 2 for number in range(ROWS)])
    match trial.role:
        case "payload" | "samples":
            columns = {"ts": stamps, "x": column}
        case "field":
            columns = {"ts": stamps, "x": column}
        case "time":
            columns = {"c": column, "x": stamps}
        case _:
            columns = {"c": column, "ts": stamps, "x": stamps}
    return pa.table(columns)


def damaged(random: Random, trial: Trial) -> pa.Table | None:
    """Rows of which some bytes are wrong; None where pyarrow refuses to read them."""
    table = table_of(random, trial)
    if random.random() < 0.3:
        try:
            return broken.through_stream(random, table)
        except (pa.ArrowException, OSError, ValueError):
            return None
    name = "x" if trial.role in ("payload", "samples", "field") else "c"
    for chunk in table.column(name).chunks:
        broken.damage(random, chunk)
    return table


def fault_in(trial: Trial, table: pa.Table) -> str | None:
    """Return what is malformed in the columns that the query uses."""
    names = ["x"] if trial.role == "samples" else table.column_names
    for name in names:
        column = table.column(name)
        if len(column) != table.num_rows:
            return "another number of rows"
        for chunk in column.chunks:
            if pa.types.is_struct(chunk.type):
                try:
                    chunk.validate()
                except pa.ArrowInvalid as error:  # or its fields cannot be looked at
                    return str(error)
            fault = fault_of(node_of(chunk), "c")
            if fault is not None:
                return fault
    return None


def run(trial: Trial, table: pa.Table) -> None:
    given: dict[str, Any] = {"x": table}
    way = trial.way
    if trial.role == "samples":
        values = table.column("x") if way < 0.7 else table.select(["x"])
        given = {"x": tilt.sampled(values, 0, 1)}
    elif way < READER:
        given = {"x": table.to_reader()}
    if way >= STREAMED and trial.role != "key":
        for part in trial.query.stream(workers=1, **given):
            part.to_arrow()
        return
    least = 0 if way < 0.5 else 1 << 20
    costs = replace(DEFAULT_COSTS, preaggregation=PreaggregationCosts(least_rows=least))
    options = replace(trial.query.options, costs=costs)
    query = tilt.CompiledQuery(trial.query.query, options)
    query.run(workers=1, **given).to_arrow()


def attempt(seed: int) -> str:
    """Return the outcome of a case: refused, broken or run; all else is a fault."""
    random = Random(seed)  # noqa: S311
    trial = trial_of(random)
    table = damaged(random, trial)
    if table is None:
        return "unread"
    fault = fault_in(trial, table)
    case = f"{trial.role} {trial.kind}"
    try:
        run(trial, table)
    except DataError as error:
        text = str(error)
        named = "are broken" in text and not any(one in text for one in OF_VALUES)
        if fault is None and named:
            return f"fault: {case} is sound, but {text}"
        return "sound, refused" if fault is None else "malformed, refused"
    if fault is not None and not (trial.counts_anew and "ull count" in fault):
        return f"fault: {case} was taken, with {fault}"
    return "sound, run"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_malformed_columns_are_refused(batch: int, *, deep: bool) -> None:
    cases = range(batch, DEEP if deep else CASES, BATCHES)
    found = try_all(cases, attempt)
    assert {seed: one for seed, one in found.items() if one not in OUTCOMES} == {}
    counts = Counter(map(str, found.values()))
    assert counts["malformed, refused"] > len(cases) // 10
    assert counts["sound, run"] > len(cases) // 10


# Some of them by name


def held(column: pa.ChunkedArray) -> pa.Table:
    return pa.table({"ts": list(range(len(column))), "x": column})


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize("index", [9, -1])
@pytest.mark.parametrize("values", [pa.array([5, 6]), pa.array(["a", "b"])])
def test_indices_beyond_the_dictionary(
    chunks: int, index: int, values: pa.Array
) -> None:
    sound = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values)
    codes = pa.array([0, index], pa.int8())
    wrong = pa.DictionaryArray.from_arrays(codes, values, safe=False)
    column = pa.chunked_array([*[sound] * (chunks - 1), wrong])
    kind = "string" if pa.types.is_string(values.type) else "i64"
    query = compiled(f"input x : {kind} time ts point\n~o[t] = ~x[t]")
    with pytest.raises(DataError, match=r"column 'x': .*broken.*out of bounds"):
        query.run(x=held(column))


def test_run_ends_that_do_not_ascend() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4, 6]), pa.array([1, 2, 3]))
    np.frombuffer(runs.run_ends.buffers()[1], np.int64)[0] = 5  # which it may write to
    query = compiled("input x : i64 time ts point\n~o[t] = ~x[t]")
    for chunks in ([runs], [runs, runs]):
        with pytest.raises(DataError, match=r"column 'x': .*broken.*run end"):
            query.run(x=held(pa.chunked_array(chunks)))


@pytest.mark.parametrize("mask", [None, [False, True, False, False, True]])
def test_runs_in_a_struct_that_is_null_in_places(mask: list[bool] | None) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5]), pa.array([1, 2, 3]))
    there = None if mask is None else pa.array(mask)
    column = pa.StructArray.from_arrays([runs], ["c"], mask=there)
    query = compiled("input x : { c: i64 } time ts point\n~o[t] = ~x[t].c")
    found = query.run(x=held(pa.chunked_array([column]))).to_arrow()["o"].to_pylist()
    gone = mask or [False] * 5
    assert found == [v for v, no in zip([1, 1, 2, 3, 3], gone, strict=True) if not no]


def test_columns_that_no_query_uses_may_be_broken() -> None:
    codes = pa.array([9, 9], pa.int8())
    wrong = pa.DictionaryArray.from_arrays(codes, pa.array([1]), safe=False)
    table = held(pa.chunked_array([[1, 2]])).append_column("unused", wrong)
    query = compiled("input x : i64 time ts point\n~o[t] = ~x[t]")
    assert query.run(x=table).num_rows == 2


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.duration("s")])
@pytest.mark.parametrize("form", ["dictionary", "runs", "field"])
def test_no_rows_of_any_form(kind: pa.DataType, form: str) -> None:
    """Arrow itself makes no empty array of some of them."""
    column = {
        "dictionary": pa.dictionary(pa.int8(), kind),
        "runs": pa.run_end_encoded(pa.int32(), kind),
        "field": pa.struct([("c", pa.run_end_encoded(pa.int32(), kind))]),
    }[form]
    schema = pa.schema([("ts", pa.int64()), ("x", column)])
    table = pa.Table.from_batches([], schema)
    declared = {pa.int64(): "i64", pa.string(): "string"}.get(kind, "duration")
    payload, body = f"{declared}", "~x[t]"
    if form == "field":
        payload, body = f"{{ c: {declared} }}", "~x[t].c"
    query = compiled(f"input x : {payload} time ts point\n~o[t] = {body}")
    assert query.run(x=table).num_rows == 0
    assert sum(part.num_rows for part in query.stream(x=table.to_reader())) == 0
