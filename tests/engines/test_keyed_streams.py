"""Streams by key end with what a run over all rows says, key by key."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import snapshots
from tests.costs import default_span_costs
from tests.datasets import joined
from tests.engines.test_out_of_core import in_batches
from tests.keyed import (
    KeyedSetting,
    binding_of,
    expected_schema,
    keys_in,
    random_keyed_setting,
    table_of,
)
from tests.random.key_rows import KeyedInput, draw_lifetime
from tests.random.keyed_queries import (
    KeyedCase,
    random_fold_case,
    random_keyed_case,
    random_regular_case,
)
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.engines import keyed_engine, stream_parts
from tiltpy.engines.out_of_core import stream
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Snapshot
from tiltpy.interpreter.keys import Key, key_order
from tiltpy.ir.keys import keys_of
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import LIFETIMES, Interval, Lifetime
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.passes.separate_states import separate_states
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrow.encode_strings import Vocabulary
from tiltpy.runtime.execution.call_states import CallStates, fresh_arrays
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.state_strings import StateStrings
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.keyed.held_rows import HeldRows
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.runtime.results.result import Result
from tiltpy.types import I64, STRING

MB = 1 << 20
BATCH = 4
NUMBERS = {
    "plain": 4,
    "rows": 4,
    "cells": 4,
    "folds": 4,
    "regular": 4,
    "open": 4,
    "open rows": 4,
}
DEEPER = 600


def in_order(rows: KeyedInput) -> KeyedInput:
    """The rows in order of time, as a stream must have them."""

    def time(place: int) -> int:
        row = rows.rows[place]
        return row.start if isinstance(rows.lifetime, Interval) else row.end

    order = sorted(range(len(rows.rows)), key=time)
    ranks = None if rows.ranks is None else tuple(rows.ranks[n] for n in order)
    return replace(rows, rows=tuple(rows.rows[n] for n in order), ranks=ranks)


def draw_case(kind: str, seed: int) -> KeyedCase:
    special = seed % 3 == 0
    if kind == "folds":
        case = random_fold_case(seed)
    elif kind == "regular":
        case = random_regular_case(seed, exact=True, specials=special)
    else:
        case = random_keyed_case(
            seed,
            exact=True,
            specials=special,
            over_rows="rows" in kind,
            open_windows="open" in kind,
            over_cells=kind == "cells",
        )
    inputs = {name: in_order(rows) for name, rows in case.inputs.items()}
    return replace(case, inputs=inputs)


def stream_case(
    case: KeyedCase, setting: KeyedSetting, random: Random
) -> Iterator[Result]:
    """The outputs of a case in spans of any length."""
    plain = setting.plain
    compiling = plain.options(setting.costs)
    groups = [
        OutputGroup(query, Compiler(query, compiling).compile_for)
        for query in split_by_keys(separate_states(case.query))
    ]
    bindings = {}
    for name, rows in case.inputs.items():
        table = table_of(rows, 1000)
        binding = binding_of(rows, table)
        bindings[name] = replace(binding, frame=in_batches(table, random))
    return stream(
        resolve_boundaries(case.query),
        groups,
        bindings,
        Request(case.start, case.end, case.bounds),
        RunOptions(plain.workers, plain.chunk, costs=setting.costs),
        memory=16 * MB,
        span=random.choice((1, 100, 300, 1000, MB)),
    )


def find_difference(case: KeyedCase, parts: Sequence[Result]) -> str | None:
    """Return what differs from the interpreter, if anything."""
    expected = case.expected()
    for name in case.query.outputs:
        names = keys_of(case.query, name)
        found: dict[Key, list[Snapshot]] = {key: [] for key in expected[name]}
        for part in parts:
            table = part[name].to_arrow()
            if table.schema != expected_schema(case, name):
                return f"~{name} has columns {table.schema}"
            keys = keys_in(table, names)
            if any(key_order(b) < key_order(a) for a, b in pairwise(keys)):
                return f"~{name} has keys out of order: {keys}"
            for key, snapshot in zip(keys, snapshots(part[name]), strict=True):
                if key not in found:
                    return f"~{name} has the key {key} with {snapshot}, expected none"
                found[key].append(snapshot)
        for key, several in found.items():
            difference = first_difference(
                several, expected[name][key], case.query, name, exact=True
            )
            if difference is not None:
                return f"~{name}, key {key}: {difference}"
    return None


@pytest.mark.parametrize(
    ("kind", "batch"),
    [(kind, n) for kind in NUMBERS for n in range(NUMBERS[kind] // BATCH)],
)
def test_streams_by_key_equal_the_interpreter(
    kind: str, batch: int, *, deep: bool
) -> None:
    refused, total = 0, 0
    most = NUMBERS[kind] * (DEEPER if deep else 1)
    for first in range(batch * BATCH, most, NUMBERS[kind]):
        for seed in range(first, first + BATCH):
            case, random = draw_case(kind, seed), Random(seed)  # noqa: S311
            setting = random_keyed_setting(random)
            total += 1
            groups = random.choice((0, DEFAULT_COSTS.spans.long_groups))
            try:
                with default_span_costs(long_groups=groups):
                    parts = list(stream_case(case, setting, random))
            except tilt.QueryError as error:
                assert error.code == "E0305", error  # noqa: PT017
                refused += 1
                continue
            difference = find_difference(case, parts)
            text = f"{kind}, seed {seed}, {setting}: {difference}"
            assert difference is None, f"{text}\n{format_query(case.query)}"
    assert 4 * refused <= 3 * total


# Lifetimes, and keys that come and go


def draw_rows(seed: int, rows: int, keys: int, lifetime: Lifetime) -> pa.Table:
    """Rows of keys of which some come late or are quiet for long; one is null."""
    random = Random(seed)  # noqa: S311
    stamps = np.cumsum([random.choice((0, 1, 2, 3, 3, 9)) for _ in range(rows)])
    lengths = [random.choice((1, 2, 5, 60)) for _ in stamps]
    times = {"t": stamps}
    if lifetime.columns is not None:
        start, end = lifetime.columns
        times = {start: stamps, end: stamps + lengths}
    chosen = [
        random.randint(0, 2) + number * keys // rows if random.random() < 0.9 else 0
        for number in range(rows)
    ]
    values = [None if random.random() < 0.1 else n / 8 for n in range(rows)]
    names = [None if key == 1 else f"key {key}" for key in chosen]
    return pa.table({**times, "k": names, "x": pa.array(values, pa.float64())})


def sort_rows(table: pa.Table) -> pa.Table:
    """The rows of a result in order of key and time."""
    order = [("k", "ascending", "at_start"), ("start", "ascending", "at_start")]
    return table.take(pc.sort_indices(table, sort_keys=order)).combine_chunks()


def check_parts(
    parts: Sequence[tilt.Result], expected: tilt.Result, *, by_key: bool
) -> None:
    """Check that the parts of a stream are those of a run; by key in any order."""
    for name, output in expected.items():
        several, whole = joined(iter(parts), name), output.to_arrow().combine_chunks()
        if by_key:
            several, whole = sort_rows(several), sort_rows(whole)
        assert several.combine_chunks().equals(whole), f"~{name}"


@pytest.mark.parametrize("kind", LIFETIMES.values())
def test_streams_of_every_lifetime_equal_runs(kind: type[Lifetime]) -> None:
    """Nulls end a hold, too, and are no events."""
    for seed in range(6):
        random = Random(seed)  # noqa: S311
        lifetime = draw_lifetime(kind, random, (1, 2, 3, 8, 40))
        query = tilt.parse(
            f"input x by k : f64 {lifetime.format(str)}\n"
            "~at[t] = ~x[t] - ~x[t-7]\n~seen[t] = f64(count(~x[t-20 : t+3]))\n"
            "h = TDom(-∞, ∞, 10)\n~sum[h] = sum(~x[h-10 : h])\n"
            "e = Rows(~x)\n~row[e] = ~x[e] > 2 ? count(~x[-∞ : row e]) : φ\n"
            "~ahead[t] = ~x[t+2 : next] - ~x[nearest t-3]\n~after[e] = ~x[<e : next]\n"
            "output ~at, ~seen, ~sum, ~row, ~ahead, ~after"
        )
        table = draw_rows(seed, 400, 30, lifetime)
        expected = query.run(x=table)
        parts = list(query.stream(x=in_batches(table, random), memory="32kB"))
        assert len(parts) > 1
        for name in query.query.outputs:
            several = pa.concat_tables([part[name].to_arrow() for part in parts])
            whole = expected[name].to_arrow().combine_chunks()
            assert sort_rows(several).equals(whole), f"seed {seed}, {lifetime}, ~{name}"


def stream_row_by_row(
    query: tilt.CompiledQuery, tables: Mapping[str, pa.Table], request: Request
) -> Iterator[Result]:
    """Stream rows one at a time, each in a span of its own where it can be."""
    groups = [
        OutputGroup(group, Compiler(group, CompileOptions(cache=False)).compile_for)
        for group in split_by_keys(separate_states(query.query))
    ]
    bindings = {
        name: InputBinding([table.slice(row, 1) for row in range(table.num_rows)])
        for name, table in tables.items()
    }
    resolved = resolve_boundaries(query.query)
    options = RunOptions(1, None)
    return stream(resolved, groups, bindings, request, options, memory=16 * MB, span=1)


@pytest.mark.parametrize("end", [None, 14, 15, 20, 40])
@pytest.mark.parametrize("longest", ["", " max 8"])
def test_rows_that_hold_end_with_the_next_one_of_their_key(
    end: int | None, longest: str
) -> None:
    """Those of a domain do, too, where that comes behind it, or much later."""
    query = tilt.parse(
        f"input m by k : i64 time t until_next{longest}\n"
        "input n by k : f64 time t until_next\n"
        "e = Rows(~m)\n~alone[e] = ~m[e]\n~joined[e] = last(~n[e+2:e+4])\n"
        "output ~alone, ~joined"
    )
    for seed in range(4):
        random = np.random.default_rng(seed)
        tables = {
            name: pa.table(
                {
                    "t": np.cumsum(random.integers(0, 3, 40)),
                    "k": random.integers(0, 3, 40),
                    name: random.integers(0, 9, 40).astype(kind),
                }
            )
            for name, kind in (("m", np.int64), ("n", np.float64))
        }
        parts = list(stream_row_by_row(query, tables, Request(None, end)))
        check_parts(parts, query.run(**tables, end=end), by_key=True)


def test_inputs_of_different_rates_with_and_without_keys() -> None:
    """Keys that one input never has, and broadcast rows that go on behind all keys."""
    query = tilt.parse(
        "input x by k : f64 point time t\ninput y by k : f64 until_next time t\n"
        "input z : f64 until_next time t\n"
        "~spread[t] = ~x[t] - ~y[t]\n~priced[t] = ~y[t] * ~z[t]\n"
        "~near[t] = ~x[t] != φ ? count(~x[t-30 : t+5]) * ~z[t] : φ\n"
        "~alone[t] = ~z[t] + 1\noutput ~spread, ~priced, ~near, ~alone"
    )
    random = np.random.default_rng(5)

    def rows(count: int, most: int, keys: tuple[int, int]) -> pa.Table:
        stamps = np.cumsum(random.integers(1, most, count))
        drawn = random.integers(*keys, count) + np.arange(count) // 200
        values = random.integers(0, 9, count) / 8.0
        return pa.table({"t": stamps, "k": drawn, "v": values})

    frames = {"x": rows(3000, 4, (0, 9)), "y": rows(700, 20, (5, 20))}
    frames["z"] = rows(150, 120, (0, 1)).drop_columns(["k"])
    expected = query.run(**frames)
    for seed in range(3):
        cut = Random(seed)  # noqa: S311
        batches: dict[str, Any] = {
            name: in_batches(frame, cut) for name, frame in frames.items()
        }
        parts = list(query.stream(**batches, memory="256kB"))
        assert len(parts) > 3
        for name in query.query.outputs:
            several = pa.concat_tables([part[name].to_arrow() for part in parts])
            if name != "alone":
                several = sort_rows(several)
            whole = expected[name].to_arrow().combine_chunks()
            assert several.combine_chunks().equals(whole), f"~{name}, seed {seed}"


@pytest.mark.parametrize("keys", ["", "by k "])
def test_strings_of_states_outlive_the_dictionaries_of_spans(keys: str) -> None:
    """Each row has strings of its own, and every span another dictionary."""
    query = tilt.parse(
        f"input x {keys}: {{ word: string, n: i64 }} point time t\n"
        "reduction greatest(v: string) {\n"
        '    init = ""\n    acc = v > state ? v : state\n    result = state\n}\n'
        "~c[t] = ~x[t].n % 7 == 0\ne = Rows(~x)\n"
        "~o[t] = {\n    a = first(~x[-∞ : t].word),\n    b = last(~x[-∞ : t].word),\n"
        "    c = min(~x[-∞ : t].word),\n    d = max(~x[since ~c : t].word),\n"
        "    e = greatest(~x[-∞ : t].word)\n}\n"
        "~r[e] = last(~x[-∞ : row e])\n"
        "output ~o, ~r"
    )
    random = np.random.default_rng(11)
    numbers = random.permutation(4000)
    words = [None if n % 11 == 0 else f"{n:04d} word" for n in numbers]
    table = pa.table(
        {
            "t": np.arange(4000) // 3,
            "k": random.integers(0, 9, 4000),
            "word": pa.array(words, pa.string()),
            "n": numbers,
        }
    )
    expected = query.run(x=table)
    batches: Any = (table.slice(n, 100) for n in range(0, 4000, 100))
    parts = list(query.stream(x=batches, memory="100kB"))
    assert len(parts) > 2
    check_parts(parts, expected, by_key=bool(keys))


def test_strings_that_no_state_has_are_forgotten() -> None:
    strings, count = StateStrings(), 10
    kinds = (("control", I64), ("word", STRING))
    states = CallStates(kinds, fresh_arrays(kinds, count), np.arange(count), strings)
    for number in range(600):
        _, merged = states.encode(Vocabulary((), ordered=True), {})
        words = [merged.values[code].as_py() for code in states.arrays[1] if number]
        assert words == [f"{number - 1} {n}" for n in range(count * (number > 0))]
        made = Strings.of([f"{number} {n}" for n in reversed(range(count))])
        states.arrays[1][:] = np.arange(count)[::-1]
        states.keep(made)
    assert len(strings) < 2000


@pytest.mark.parametrize("keys", ["", "by k "])
@pytest.mark.parametrize("lifetime", ["point", "duration 4", "until_next"])
def test_folds_over_objects_that_fold_on(keys: str, lifetime: str) -> None:
    """States of a chain of objects are those of one time."""
    query = tilt.parse(
        f"input x {keys}: f64 {lifetime} time t\n"
        "h = TDom(-∞, ∞, 3, 1)\n"
        "~peak[t] = max(~x[-∞ : t])\n~loss[t] = ~x[t] / ~peak[t] - 1\n"
        "~worst[t] = min(~loss[-∞ : t])\n"
        "~total[h] = sum(~x[-∞ : h])\n~large[h] = ~total[h] % 7 == 0\n"
        "~since[h] = count(~x[since ~large : h])\n"
        "~again[h] = sum(~x[-∞ : h])\n~twice[h] = sum(~again[-∞ : h])\n"
        "~mean[h] = mean(v for v in ~x[-∞ : h] if v > 3)\n"
        "~deep[h] = max(~mean[-∞ : h])\n~deeper[h] = last(~deep[-∞ : h])\n"
        "output ~worst, ~since, ~twice, ~deeper"
    )
    random = np.random.default_rng(4)
    for count in (300, 3000):
        table = pa.table(
            {
                "t": np.cumsum(random.integers(0, 4, count)),
                "k": random.integers(0, 7, count),
                "x": pa.array(random.integers(1, 40, count) / 8),
            }
        )
        table = table.set_column(
            2, "x", pc.if_else(pc.equal(table["x"], 2), None, table["x"])
        )
        expected = query.run(x=table)
        batches: Any = in_batches(table, Random(count))  # noqa: S311
        parts = list(query.stream(x=batches, memory="48kB"))
        check_parts(parts, expected, by_key=bool(keys))


def test_rows_wait_for_the_next_one_of_their_key() -> None:
    """One input pauses for long, one of its keys stops, and some keys it never has."""
    query = tilt.parse(
        "input x by k : f64 point time t\ninput y by k : f64 point time t\n"
        "e = Rows(~x, null)\n~o[e] = ~y[e : next] - ~x[e]\n"
        "~n[t] = ~x[t] != φ ? ~y[nearest t] + sum(~x[-∞ : t]) : φ\noutput ~o, ~n"
    )
    random = np.random.default_rng(2)

    def rows(count: int, keys: int) -> pa.Table:
        stamps = np.sort(random.integers(0, 3000, count))
        drawn = random.integers(0, keys, count)
        values = random.integers(0, 99, count) / 8
        return pa.table({"t": stamps, "k": drawn, "v": values})

    x, y = rows(4000, 20), rows(1500, 15)
    pauses = pc.equal(pc.bit_wise_and(y["t"], 512), 0)
    stops = pc.and_(pc.equal(y["k"], 3), pc.greater(y["t"], 900))
    frames = {"x": x, "y": y.filter(pc.and_(pauses, pc.invert(stops)))}
    for end in (None, 2500):
        expected = query.run(**frames, end=end)
        batches: Any = {
            name: in_batches(frame, Random(7))  # noqa: S311
            for name, frame in frames.items()
        }
        parts = list(query.stream(**batches, end=end, memory="128kB"))
        assert len(parts) > 2
        for name in query.query.outputs:
            several = pa.concat_tables([part[name].to_arrow() for part in parts])
            whole = expected[name].to_arrow().combine_chunks()
            assert sort_rows(several).equals(whole), f"~{name}, end={end}"


# What an evaluation costs


def test_a_span_computes_the_keys_that_it_touches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each key has rows in one span in a hundred, and is looked at a few times more."""
    computed = []

    class CountedRun(KeyedRun):
        def run(self) -> dict[str, list[KeySnapshots]]:
            computed.append(self.count)
            return super().run()

    monkeypatch.setattr(keyed_engine, "KeyedRun", CountedRun)
    query = tilt.parse("input x by k : f64 point\n~o[t] = ~x[t] - mean(~x[t-50 : t])")

    def batches() -> Iterator[pa.Table]:
        for number in range(100):
            t, k = np.arange(2000) // 20 + 100 * number, np.arange(2000) % 20
            yield pa.table({"t": t, "k": k + 20 * number, "x": t / 8})

    rows = sum(part.num_rows for part in query.stream(x=batches(), memory="1MB"))
    assert rows == 200_000
    assert len(computed) >= 20
    assert sum(computed) < 5 * 2000


@pytest.mark.parametrize("empty", ["φ", "0"])
def test_rows_go_once_their_cell_is_complete(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But those of the last cell of a key, where an empty cell has a value.

    Of a part that holds rows by key, as those of live sessions do.
    """
    monkeypatch.setattr(stream_parts, "has_own_rows", lambda *_: False)
    waiting: list[int] = []

    def put(self: HeldRows, *args: Any) -> None:
        put_back(self, *args)
        waiting.append(len(self.store))

    put_back = HeldRows.put
    monkeypatch.setattr(HeldRows, "put", put)
    query = tilt.parse(
        "input x by k : f64 point time t\ng = TDom(-∞, ∞, 100)\n"
        f"~o[g] = count(~x[g-100 : g]) > 0 ? sum(~x[g-100 : g]) : {empty}"
    )
    stamps = np.arange(1, 20_001)
    stamps = stamps[stamps % 1500 > 300]
    keys = np.where(stamps < 9000, stamps % 3, stamps % 7)
    table = pa.table({"t": stamps, "k": keys, "x": stamps / 8})
    pieces = (table.slice(first, 50) for first in range(0, len(table), 50))
    with default_span_costs(first_bytes=1, least_bytes=1, most_bytes=8000):
        parts = list(query.stream(x=pieces, memory="200kB"))
    expected = query.run(x=table).to_arrow().combine_chunks()
    assert sort_rows(pa.concat_tables([p.to_arrow() for p in parts])).equals(expected)
    assert len(parts) > 20
    assert max(waiting[10:]) <= (0 if empty == "φ" else 100)


def _stream_few_rows(text: str, **tables: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return what a stream of spans of one row or so makes, and what a run does."""
    compiled = tilt.parse(text)
    query, bindings = parse(text), {}
    for name, table in tables.items():
        batches = in_batches(table, Random(5))  # noqa: S311
        bindings[name] = tilt.bind(batches).binding(None)
    groups = [
        OutputGroup(each, Compiler(each).compile_for)
        for each in split_by_keys(separate_states(query))
    ]
    parts = stream(
        resolve_boundaries(query),
        groups,
        bindings,
        Request(),
        RunOptions(1),
        memory=16 * MB,
        span=1,
    )
    made = sort_rows(pa.concat_tables([part["o"].to_arrow() for part in parts]))
    return made, compiled.run(**tables).to_arrow().combine_chunks()


def test_a_last_row_that_counts_for_nothing_leaves_its_cell_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rows of the last cell tell it from the empty one behind it."""
    monkeypatch.setattr(stream_parts, "has_own_rows", lambda *_: False)
    table = pa.table(
        {"t": [3, 9, 10, 31, 38], "k": [0] * 5, "x": [1.0, 1.0, -1.0, 1.0, -1.0]}
    )
    made, expected = _stream_few_rows(
        "input x by k : f64 point time t\ng = TDom(-∞, ∞, 10)\n"
        "~o[g] = count(v for v in ~x[g-10 : g] if v > 0)",
        x=table,
    )
    assert made.equals(expected)
    assert expected["o"].to_pylist() == [2, 0, 1]


@pytest.mark.parametrize("seed", range(12))
def test_a_key_sees_what_others_were_behind_its_own_rows(seed: int) -> None:
    """Its domain goes on with theirs, and what was computed behind it is once more."""
    random = np.random.default_rng(seed)
    tables = {}
    for name, keys in (("x", ["a", "b"]), ("y", ["b", "c"])):
        rows = random.integers(3, 7)
        stamps = np.sort(random.integers(1, 40, rows))
        by_key = {"t": stamps, "k": random.choice(keys, rows), name: np.ones(rows)}
        tables[name] = pa.table(by_key)
    stamps = np.sort(random.choice(40, 6, replace=False))
    others = pa.table({"t": stamps, "m": np.ones(6, np.int64)})
    made, expected = _stream_few_rows(
        """\
input x by k : f64 time t until_next max 12
input y by k : f64 time t duration 5
input m : i64 time t point
g = TDom(-∞, ∞, 2)
~o[g] = ~m[g] == φ ? ~x[g-1] : sum(~y[g+2 : g+4])
output ~o""",
        **tables,
        m=others,
    )
    assert made.equals(expected)


@pytest.mark.parametrize("keys", ["", "by k "])
def test_a_cell_is_computed_once_its_rows_have_come(keys: str) -> None:
    """Its snapshot waits for the next one: till then it may go on."""
    query = tilt.parse(
        f"input x {keys}: f64 point time t\ng = TDom(-∞, ∞, 1000)\n"
        "~o[g] = max(~x[g-1000 : g])"
    )
    read = [0]

    def pieces() -> Iterator[pa.Table]:
        for first in range(1, 10_000, 10):
            stamps = np.arange(first, first + 10)
            read[0] = first
            yield pa.table({"t": stamps, "k": stamps * 0, "x": stamps / 8})

    with default_span_costs(first_bytes=1, least_bytes=1, most_bytes=1):
        parts = query.stream(x=tilt.bind(pieces(), column="x"), memory="400kB")
        ends = [(read[0], p.to_arrow()["end"][-1].as_py()) for p in parts if p.num_rows]
    assert len(ends) > 3
    assert max(last - end for last, end in ends) < 1500


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "expression",
    [
        "sum(~x[-∞ : h]) + max(~x[since ~c : h]) + ffill(~x)",
        "mean(~x[h-20 : h])",
        "mean(~x[last 5 : h]) + ~x[last : h] + ~x[h : next]",
    ],
)
def test_memory_stays_flat(expression: str) -> None:
    """In a process of its own: the peak is that of a tenth of the data."""
    code = """
import resource, sys
import numpy as np, pyarrow as pa, tiltpy as tilt
query = tilt.parse("input x by k : f64 point\\nh = TDom(-∞, ∞, 10)\\n"
                   "~c[t] = ~x[t] % 5 == 0\\n~o[h] = " + sys.argv[1] + "\\noutput ~o")
peaks = []
for count in (10, 100):
    def batches():
        for number in range(count):
            t = np.arange(50_000) // 500 + 100 * number
            yield pa.table({"t": t, "k": np.arange(50_000) % 1009, "x": t / 8})
    for part in query.stream(x=batches(), memory="16MB"):
        part.to_arrow()
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*peaks)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, expression],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = (int(word) for word in done.stdout.split())
    assert second < 1.1 * first


# Files


def test_an_error_in_the_middle_leaves_no_file(tmp_path: Path) -> None:
    query = tilt.parse("input x by k : f64 point\n~o[t] = sum(~x[t-9 : t])")
    out = tmp_path / "out.parquet"

    def batches(last: int) -> Iterator[pa.Table]:
        for number in (*range(40), last):
            t = np.arange(500) + 500 * number
            yield pa.table({"t": t, "k": t % 7, "x": t / 8})

    with pytest.raises(tilt.DataError, match="the time is before that of the row"):
        query.run_to(out, x=batches(3), memory="64kB")
    assert not list(tmp_path.iterdir())
    counts = query.run_to(out, x=batches(40), memory="64kB")
    table = pq.read_table(out)
    assert counts == {"o": table.num_rows}
    whole = query.run(x=pa.concat_tables(batches(40))).to_arrow().combine_chunks()
    assert sort_rows(table).equals(whole)


def test_no_rows_still_have_the_columns_of_the_key() -> None:
    query = tilt.parse("input x by k : f64 point\n~o[t] = ~x[t] + 1")
    kinds = [("t", pa.int64()), ("k", pa.string()), ("x", pa.float64())]
    table = pa.schema(kinds).empty_table()
    for frame in (table, iter([table, table])):
        (part,) = query.stream(x=frame)
        assert part.num_rows == 0
        assert part.schema == query.run(x=table).schema


@pytest.mark.parametrize("grid", ['calendar(1d, "Europe/Berlin")', "calendar(1mo)"])
@pytest.mark.parametrize("window", ["1 cell", "3 cell"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_last_cells_of_keys_are_whole(grid: str, window: str, size: int) -> None:
    """A key's domain ends with the cell of its last row, also on a calendar."""
    random = np.random.default_rng(size)
    stamps = 1_774_000_000 + np.cumsum(random.integers(1, 40_000, 60))
    table = pa.table(
        {
            "time": pa.array(stamps * 1000, pa.timestamp("ms")),
            "k": random.integers(0, 4, 60),
            "x": random.integers(0, 9, 60),
        }
    )
    query = tilt.parse(
        f"unit s\ninput x by k : i64 time time point\nd = TDom(-∞, ∞, {grid})\n"
        f"~n[d] = {{ sum = sum(~x[d-{window} : d]), n = count(~x[d-{window} : d]) }}\n"
    )
    expected = query.run(x=table)["n"].to_arrow()
    pieces = (table.slice(first, size) for first in range(0, 60, size))
    parts = [part["n"].to_arrow() for part in query.stream(x=pieces)]
    rows = pa.concat_tables(parts)
    assert rows.sort_by([("k", "ascending"), ("start", "ascending")]).equals(expected)
