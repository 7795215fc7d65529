"""Windows per key that are folded as the rows come, against what they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import arrow_of, snapshots
from tests.random.pane_folds import CalendarFoldWriter, FoldCase, FoldWriter, Row
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import Costs, PreaggregationCosts
from tiltpy.engines import folded_tables
from tiltpy.engines.local import run_parts
from tiltpy.interpreter.evaluate import Event, Snapshot
from tiltpy.interpreter.keys import interpret_by_key
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrow.timestamps import output_stamp
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.preaggregation import run as direct
from tiltpy.runtime.preaggregation.run import (
    DirectFolds,
    only_input,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.types import Struct, Type, columns

BATCH = 16
CASES = 16
DEEPER = 375
EVERYTHING = Request()


def table_of(rows: Sequence[Row], payload: Type) -> pa.Table:
    """The rows with interval columns and keys; null rows among them."""
    found = {
        "start": pa.array([row.event[0] for row in rows], pa.int64()),
        "end": pa.array([row.event[1] for row in rows], pa.int64()),
        "k": pa.array([row.key for row in rows], pa.int32()),
    }
    for name, scalar in columns(payload):
        cells = [
            row.event[2][name] if isinstance(payload, Struct) else row.event[2]  # type: ignore[index]
            for row in rows
        ]
        found[name or "x"] = pa.array(cells, arrow_of(scalar))
    return pa.table(found)


def fold(
    query: Query,
    frame: pa.Table,
    request: Request = EVERYTHING,
    *,
    workers: int = 1,
    optimize: bool = True,
    order: Order = "key",
    per_row: int = 1 << 20,
    sampled: int = 1 << 12,
    small: bool = False,
) -> dict[str, OutputTable]:
    """The outputs of a pre-aggregated query; raises `Misfit`.

    `small`: few keys, cells and rows count as many.
    """
    declared = only_input(query)
    assert declared is not None
    costs = PreaggregationCosts(
        entries_per_row=per_row, merges_per_row=16 * per_row, sampled_rows=sampled
    )
    if small:
        costs = replace(
            costs, many_keys=1, searched_rows=3, block_cells=8, shared_cells=0
        )
    rows = read_in_time_order(declared, InputBinding(frame), query.unit, costs)
    assert not isinstance(rows, str)
    compiler = Compiler(query, CompileOptions(optimize=optimize, cache=False))
    options = RunOptions(
        workers=workers, preaggregate=True, costs=Costs(preaggregation=costs)
    )
    part = OutputGroup(query, compiler.compile_for)
    found = DirectFolds(part, rows, request, options)
    stamp = output_stamp({declared.name: rows.stamps}, query.unit)
    return {table.name: table for table in found.tables(stamp, order, workers)}


def by_key(output: OutputTable) -> dict[int, list[Snapshot]]:
    """An output's snapshots for each key, in order."""
    found: dict[int, list[Snapshot]] = {}
    keys = output.to_arrow()["k"].to_pylist()
    for key, snapshot in zip(keys, snapshots(output), strict=True):
        found.setdefault(key, []).append(snapshot)
    return found


def meaning(
    query: Query, rows: Sequence[Row], start: int | None = None, end: int | None = None
) -> dict[str, dict[int, list[Snapshot]]]:
    """Return what the query means for each key that has an event."""
    events: dict[tuple[object, ...], list[Event]] = {}
    for row in rows:
        if isinstance(row.event, Event):
            events.setdefault((row.key,), []).append(row.event)
    found = interpret_by_key(query, {"x": events}, start=start, end=end)
    return {
        name: {int(key[0]): own for key, own in by_key.items()}  # type: ignore[call-overload]
        for name, by_key in found.items()
    }


def difference(
    case: FoldCase, found: dict[str, dict[int, list[Snapshot]]]
) -> str | None:
    """Return where a result is not what the query means, if anywhere."""
    expected = meaning(case.query, case.rows, case.start, case.end)
    for name in case.query.outputs:
        ours = found[name]
        theirs = {key: own for key, own in expected[name].items() if own}
        if list(ours) != list(theirs):
            return f"~{name}: keys {list(ours)}, expected {list(theirs)}"
        for key, own in ours.items():
            unlike = first_difference(own, theirs[key], case.query, name, exact=True)
            if unlike is not None:
                return f"~{name}, key {key}: {unlike}"
    return None


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_windows_mean_what_the_interpreter_says(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            writer = CalendarFoldWriter if seed % 3 == 2 else FoldWriter
            case = writer(seed).case()
            frame = table_of(case.rows, case.query.inputs[0].type)
            request = Request(case.start, case.end)
            wide = 1 << 16 if seed % 5 else 1
            with patch.object(direct, "NARROW", wide):
                tables = fold(
                    case.query,
                    frame,
                    request,
                    workers=1 + seed % 2,
                    optimize=seed % 6 == 0,
                    small=seed % 4 >= 2,
                )
                found = {name: by_key(table) for name, table in tables.items()}
            unlike = difference(case, found)
            assert unlike is None, f"seed {seed}: {unlike}\n{format_query(case.query)}"


# -- by hand --------------------------------------------------------------------------

CLICKS = """
unit s
input x by k : { kind: string, price: f64 } time ts point
w = TDom(-∞, ∞, 10s)
~views[w] = count(v for v in ~x[w-10 : w] if v.kind == "view")
~sales[w] = {
    sum = sum(v.price for v in ~x[w-20 : w])
    return { sum = sum, last = last(v.kind for v in ~x[w-20 : w]) }
}
output ~views, ~sales
"""
ROWS = {
    "ts": [1, 4, 10, 11, 11, 25, 41],
    "k": ["b", "a", "b", "a", "a", None, "b"],
    "kind": ["view", "buy", "view", "view", "buy", "buy", "buy"],
    "price": [1.0, 2.0, None, 4.0, 8.0, 16.0, 32.0],
}
VIEWS = {
    "k": [None, "a", "a", "b", "b"],
    "start": [24, 3, 10, 0, 10],
    "end": [30, 10, 20, 10, 50],
    "views": [0, 0, 1, 2, 0],
}
SALES = {
    "k": [None, "a", "a", "b", "b", "b"],
    "start": [24, 3, 10, 0, 20, 40],
    "end": [30, 10, 20, 20, 40, 50],
    "sum": [16.0, 2.0, 14.0, 1.0, None, 32.0],
    "last": ["buy", "buy", "buy", "view", None, "buy"],
}


def test_strings_are_keys_and_null_is_one() -> None:
    tables = fold(tilt.parse(CLICKS).query, pa.table(ROWS))
    assert tables["views"].to_arrow().to_pydict() == VIEWS
    assert tables["sales"].to_arrow().to_pydict() == SALES


def both(
    text: str,
    frame: pa.Table,
    *,
    order: Order = "key",
    start: int | None = None,
    bounds: Mapping[str, int] | None = None,
    per_row: int = 1 << 20,
    sampled: int = 1 << 12,
) -> pa.Table:
    """Return what is found directly, which is what is found otherwise."""
    query = tilt.parse(text).query
    request = Request(start, None, bounds or {})
    (output,) = fold(
        query, frame, request, order=order, per_row=per_row, sampled=sampled
    ).values()
    compiler = Compiler(query, CompileOptions(cache=False))
    part = OutputGroup(query, compiler.compile_for)
    bindings = {query.inputs[0].name: InputBinding(frame)}
    options = RunOptions(preaggregate=False)
    (grouped,) = run_parts(query, [part], bindings, request, options, order).values()
    found, expected = output.to_arrow(), grouped.to_arrow()
    assert found.schema == expected.schema
    assert str(found.to_pydict()) == str(expected.to_pydict())  # NaN is a key
    return found


COUNT = """
input x by k : i32 time ts point
w = TDom(-∞, ∞, 10)
~n[w] = count(v for v in ~x[w-10 : w] if v > 0)
"""
DAY = date(2024, 2, 29)
SOME_KEYS = {
    "strings": pa.array(["é", "a", None, "a", "", "z"]),
    "dictionary": pa.array(["b", "a", None, "a", "b", "c"]).dictionary_encode(),
    "dates": pa.array([DAY, DAY - timedelta(9), DAY, DAY + timedelta(1), DAY, DAY]),
    "times": pa.array([5, 1, 5, -7, 5, 1], pa.timestamp("us", "UTC")),
    "floats": pa.array([0.0, -0.0, float("nan"), -1.5, float("nan"), None]),
    "bools": pa.array([True, False, None, True, False, False]),
    "bytes": pa.array([255, 0, 3, 255, 7, 0], pa.uint8()),
    "negative": pa.array(
        [-(2**63), 2 - 2**63, -(2**63), 3 - 2**63, 0 - 2**63, -(2**63)]
    ),
    "great": pa.array([2**64 - 1, 2**63, 5, 2**63, 5, 2**64 - 1], pa.uint64()),
    "far apart": pa.array([-(2**63), 2**63 - 1, 0, 2**63 - 1, 0, 1]),
    "far apart and a null": pa.array([10**12, None, 0, -(10**12), 0, 10**12]),
    "integers and a null": pa.array([7, 9, None, 7, 9, 8], pa.int16()),
    "none but nulls": pa.nulls(6),
}


def test_rows_without_any_value_give_nothing() -> None:
    nothing = pa.nulls(3, pa.int32())
    frame = pa.table({"k": [1, 2, 1], "ts": [1, 2, 3], "x": nothing})
    assert both(COUNT, frame).num_rows == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", SOME_KEYS)
@pytest.mark.parametrize("order", ["key", "time"])
def test_keys_of_any_type(keys: str, order: Order) -> None:
    ts, x = [-25, -3, 4, 4, 5, 31], [1, -1, 1, None, 0, 2]
    frame = pa.table({"k": SOME_KEYS[keys], "ts": ts, "x": pa.array(x, pa.int32())})
    found = both(COUNT, frame, order=order)
    assert found["k"].type == both(COUNT, frame)["k"].type
    assert both(COUNT, frame, start=-50)["start"].to_pylist()[0] == -50


def test_several_key_columns() -> None:
    text = COUNT.replace("by k", "by k, side")
    keys = {"k": [1, 2, 1, None], "side": ["b", "a", None, "b"]}
    frame = pa.table({**keys, "ts": [1, 2, 3, 14], "x": pa.array([1, 1, 1, 1], "i4")})
    found = both(text, frame)
    assert found.column_names == ["k", "side", "start", "end", "n"]
    assert found["k"].to_pylist() == [None, 1, 1, 2]


def test_a_key_that_the_sample_has_not_is_not_lost() -> None:
    keys = np.full(9000, 7, np.int32)
    keys[4500] = -1_000  # no row near the ends, nor one of those in between
    frame = pa.table(
        {"k": keys, "ts": np.arange(1, 9001), "x": np.ones(9000, np.int32)}
    )
    found = both(COUNT, frame, sampled=16)
    assert found.slice(0, 1).to_pydict() == {
        "k": [-1000], "start": [4500], "end": [4510], "n": [1],
    }  # fmt: skip
    assert found.num_rows == 901


@pytest.mark.parametrize("sampled", [16, 1 << 12])
def test_each_run_over_the_same_rows_has_states_of_its_own(sampled: int) -> None:
    """Keys that the first run has found are known to the next one."""
    keys = np.full(9000, 7, np.int32)
    keys[4500] = -1_000
    values = np.ones(9000, np.int32)
    frame = pa.table({"k": keys, "ts": np.arange(1, 9001), "x": values})
    query = tilt.parse(COUNT).query
    costs = PreaggregationCosts(sampled_rows=sampled)
    rows = read_in_time_order(query.inputs[0], InputBinding(frame), query.unit, costs)
    assert not isinstance(rows, str)
    compiler = Compiler(query, CompileOptions(cache=False))
    group = OutputGroup(query, compiler.compile_for)
    options = RunOptions(costs=Costs(preaggregation=costs))
    stamp = output_stamp({"x": rows.stamps}, query.unit)
    plan = DirectFolds(group, rows, EVERYTHING, options)
    (first,), (again,) = ([*plan.tables(stamp, "key", 1)] for _ in range(2))
    assert first.to_arrow().equals(again.to_arrow())
    assert first.num_rows == 901


def test_too_many_keys_are_grouped() -> None:
    frame = pa.table(
        {
            "k": np.arange(9000) * 1_000_003,
            "ts": np.arange(1, 9001),
            "x": np.ones(9000, np.int32),
        }
    )
    with pytest.raises(Misfit, match="~x may have more than 40 keys, too many for a"):
        both(COUNT, frame, per_row=4)


@pytest.mark.parametrize("kind", ["text", "dictionary", "apart", "pairs"])
def test_keys_may_be_more_than_a_sample_has_rows(kind: str) -> None:
    """A sample is compared with what it would show of the most that have states."""
    numbers = np.random.default_rng(3).integers(0, 300, 9000)
    texts = pa.array([f"k{number:03}" for number in numbers])
    columns = {
        "text": [texts],
        "dictionary": [texts.dictionary_encode()],
        "apart": [pa.array(numbers * 1_000_003)],
        "pairs": [texts, pa.array(numbers * 1_000_003)],
    }[kind]
    names = [f"k{place}" for place in range(len(columns))]
    frame = pa.table(
        [*columns, np.arange(1, 9001), np.ones(9000, np.int32)], [*names, "ts", "x"]
    )
    text = COUNT.replace("by k", f"by {', '.join(names)}")
    query = tilt.parse(text).query
    costs = PreaggregationCosts(sampled_rows=16)
    rows = read_in_time_order(query.inputs[0], InputBinding(frame), query.unit, costs)
    assert not isinstance(rows, str)
    keys = rows.keys(400)
    assert keys is not None
    assert keys.count == 300
    assert rows.keys(30) is None
    assert both(text, frame, sampled=16).num_rows


def test_payloads_of_all_kinds() -> None:
    """Times, strings in their order, structs in structs, and a bound at run time."""
    text = """
unit s
input x by k : { at: time, took: duration, s: string, q: { p: f64 } } time ts point
w = TDom(late, ∞, 20s)
~o[w] = {
    least = min(v.s for v in ~x[w-40 : w])
    took = sum(v.took for v in ~x[w-20 : w] if v.s in ("b", "é"))
    inner = last(v.q.p for v in ~x[w-20 : w])
    at = max(v.at for v in ~x[w-20 : w])
    return { least = least, took = took, inner = inner, at = at, q = { p = inner } }
}
"""
    inner = pa.struct([("p", pa.float64())])
    rows = {
        "k": [2, 1, 2, 1, 1],
        "ts": [3, 4, 19, 21, 65],
        "at": pa.array([5, None, 6, 7, 8], pa.timestamp("s")),
        "took": pa.array([1, 2, 4, None, 8], pa.duration("s")),
        "s": ["é", "b", None, "a", "b"],
        "q": pa.array([{"p": 1.5}, None, {"p": None}, {"p": 2.5}, {"p": 3.5}], inner),
    }
    frame = pa.table(rows)
    frame = frame.set_column(1, "ts", frame["ts"].cast(pa.timestamp("s")))
    found = both(text, frame, bounds={"late": -30}).to_pylist()
    assert [row["k"] for row in found] == [1, 1, 1, 1, 1, 2, 2]
    assert [row["start"].second for row in found] == [30, 0, 20, 40, 0, 30, 0]
    assert [row["least"] for row in found] == [None, "b", "a", "a", "b", None, "é"]
    assert [row["inner"] for row in found] == [None, None, 2.5, None, 3.5, None, 1.5]


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ("w-5 : w", "~x has few rows for 2,999 panes, of which windows have 1"),
        ("w-1000 : w", "~x has few rows for 1,500 panes, of which windows have 100"),
    ],
)
def test_few_rows_for_their_panes_are_grouped(window: str, reason: str) -> None:
    rows = np.arange(1500)
    frame = pa.table({"k": rows % 3, "ts": 10 * rows, "x": rows.astype(np.int32)})
    text = COUNT.replace("w-10 : w", window)
    with pytest.raises(Misfit, match=reason):
        both(text, frame, per_row=1 if "5" in window else 4)


@pytest.mark.parametrize(
    ("lifetime", "reason"),
    [
        ("duration 2", "rows of ~x are in more than one pane"),
        ("sampled 3", "rows of ~x are in more than one pane"),
    ],
)
def test_rows_over_the_edge_of_a_pane_are_grouped(lifetime: str, reason: str) -> None:
    frame = pa.table(
        {"k": [1] * 9, "ts": np.arange(2, 20, 2), "x": pa.array([1] * 9, "i4")}
    )
    with pytest.raises(Misfit, match=reason):
        both(COUNT.replace("point", lifetime), frame)


def test_few_rows_are_grouped() -> None:
    query = tilt.parse(COUNT).query
    frame = pa.table({"k": [1], "ts": [1], "x": pa.array([1], pa.int32())})
    declared = only_input(query)
    assert declared is not None
    rows = read_in_time_order(declared, InputBinding(frame), None)
    assert not isinstance(rows, str)
    part = OutputGroup(query, Compiler(query, CompileOptions(cache=False)).compile_for)
    with pytest.raises(Misfit, match="~x has few rows"):
        DirectFolds(part, rows, Request(), RunOptions())


@pytest.mark.parametrize(
    ("lifetime", "ts", "reason"),
    [
        ("until_next", [1, 2, 3], "events of ~x last until their key's next one"),
        ("point", [2, 1, 3], "rows of ~x are not in order of time"),
        ("point", [], "~x has rows that are no events, or none"),
    ],
)
def test_what_is_not_in_time(lifetime: str, ts: list[int], reason: str) -> None:
    query = tilt.parse(COUNT.replace("point", lifetime)).query
    some = pa.array([1] * len(ts), pa.int32())
    frame = pa.table({"k": some, "ts": pa.array(ts, pa.int64()), "x": some})
    assert read_in_time_order(query.inputs[0], InputBinding(frame), None) == reason


def test_explain_says_which_way_is_taken() -> None:
    rows = np.arange(5000)
    frame = pa.table({"k": rows % 7, "ts": rows, "x": rows.astype(np.int32)})
    text = tilt.parse(COUNT).explain(inputs={"x": frame})
    assert "~n: rows are folded as they come, in 501 panes of 10 ticks" in text
    assert "~n: fold by key, not vectorised: each row goes to the state of" in text
    assert "~n: cells of each key, vectorised: " in text
    text = tilt.parse(COUNT).explain(inputs={"x": frame.slice(0, 9)})
    assert "rows are grouped: ~x has few rows" in text
    text = tilt.parse(COUNT.replace("10 : w]", "15 : w-5]")).explain()
    assert "== by key ==" not in text


def test_windows_that_slide_over_all_rows_are_grouped() -> None:
    """Their panes would be merged for each row."""
    text = "input x by k : f64 time ts sampled 1\n~n[t] = mean(~x[t-50 : t])"
    query = tilt.parse(text).query
    frame = pa.table({"k": ["a"] * 9999, "ts": range(9999), "x": np.arange(9999.0)})
    rows = read_in_time_order(query.inputs[0], InputBinding(frame), None)
    assert not isinstance(rows, str)
    part = OutputGroup(query, Compiler(query, CompileOptions(cache=False)).compile_for)
    with pytest.raises(Misfit, match="few rows for 9,999 panes, of which windows"):
        DirectFolds(part, rows, Request(), RunOptions())


def test_users_get_it_where_it_pays() -> None:
    """Five thousand rows, beside an output without keys; the table is made once."""
    text = COUNT + "input r : f64 sampled 100\n~r2[t] = ~r[t] * 2\noutput ~n, ~r2"
    rng = np.random.default_rng(1)
    keys, x = rng.integers(0, 5, 5000), rng.integers(-1, 2, 5000, np.int32)
    frame = pa.table({"k": keys, "ts": np.arange(1, 5001), "x": x})
    regular = tilt.sampled(np.arange(50.0), 0, 100)
    with patch.object(folded_tables, "DirectFolds", wraps=DirectFolds) as used:
        result = tilt.parse(text).run(x=frame, r=regular)
    used.assert_called_once()
    table = result["n"].to_arrow()
    assert result["n"].num_rows == table.num_rows
    assert table.schema == result["n"].schema
    assert sum(table["n"].to_pylist()) == int((x > 0).sum())
    assert result["r2"].num_rows == 50
