"""Streams by key whose cells see rows of their own alone, against runs."""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.compiler.options import CompileOptions
from tiltpy.costs import Costs, PreaggregationCosts, SpanCosts
from tiltpy.engines import cell_part, stream_parts
from tiltpy.engines.cell_part import CellPart
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.preaggregation.run import DirectFolds

ROWS = 4000
SPANS = SpanCosts(first_bytes=1 << 10, least_bytes=1 << 8, most_bytes=1 << 12)
"""Costs by which a span has few rows."""
QUERIES = {
    "scalar": "~out[w] = sum(~x[w-1m : w])",
    "struct": """~out[w] = {
        mean = mean(~x[w-1m : w]), n = count(~x[w-1m : w]), last = last(~x[w-1m : w])
    }""",
    "gaps": "~out[w] = count(v for v in ~x[w-1m : w] if v > 0.0)",
    "part of a cell": "~out[w] = max(~x[w-40s : w-10s])",
    "panes": "~out[w] = min(~x[w-1m : w]) + max(~x[w-20s : w])",
    "holistic": "~out[w] = { m = median(~x[w-1m : w]) }",
    "mixed": """~out[w] = min(~x[w-1m : w])
        ~other[w] = count(v for v in ~x[w-1m : w] if v > 1.5)""",
    "two": "~out[w] = min(~x[w-1m : w])\n~other[w] = { n = count(~x[w-1m : w]) }",
}
KEYS = {
    "strings": pa.array(["ß", "b", "", "a", "zz", "c"]),
    "integers": pa.array([-3, 7, 0, 900], pa.int16()),
    "null": pa.array(["b", None, "a"]),
    "dates": pa.array([3, 1, 2], pa.date32()),
    "floats": pa.array([0.5, -0.0, 0.0, -1.0]),
}


def parse(
    query: str, keys: str = "k", *, least: int = 1, entries: int = 1 << 20
) -> tilt.CompiledQuery:
    """Parse a query over point events whose few rows are pre-aggregated.

    There may be so many `entries` for each row.
    """
    head = f"unit s\ninput x by {keys} : f64 time ts point\nw = TDom(-∞, ∞, 1m)\n"
    outputs = "output ~out, ~other" if "~other" in query else "output ~out"
    folds = PreaggregationCosts(
        least_rows=least, entries_per_row=entries, merges_per_row=1 << 20
    )
    costs = Costs(preaggregation=folds, spans=SPANS)
    options = CompileOptions(costs=costs)
    return tilt.parse(f"{head}{query}\n{outputs}", options=options)


def make_rows(keys: pa.Array, *, nulls: bool = False) -> pa.Table:
    """Make rows in order of time: ties, gaps of cells, keys that come late or again."""
    rng = np.random.default_rng(3)
    steps = rng.choice([0, 1, 2, 150], ROWS, p=[0.3, 0.5, 0.19, 0.01])
    codes = rng.integers(0, len(keys), ROWS)
    codes[: ROWS // 2] //= 2
    codes[ROWS // 3 : ROWS // 2] = 0
    values = rng.integers(-8, 8, ROWS) / 8 + rng.normal(size=ROWS)
    mask = rng.random(ROWS) < 0.2 if nulls else None
    return pa.table(
        {
            "ts": pa.array(np.cumsum(steps) + 1_600_000_007, pa.timestamp("s")),
            "k": keys.take(codes),
            "x": pa.array(values, mask=mask),
        }
    )


def cut(table: pa.Table, size: int) -> Iterator[pa.Table]:
    return (table.slice(first, size) for first in range(0, len(table), size))


def in_order(tables: list[pa.Table]) -> pa.Table:
    """Join tables, in the order of a run."""
    table = pa.concat_tables(tables)
    key = table["k"]
    rank = key.cast(pa.string()) if pa.types.is_string(key.type) else key
    table = table.append_column("none", key.is_null()).append_column("rank", rank)
    order = [("none", "descending"), ("rank", "ascending"), ("start", "ascending")]
    return table.sort_by(order).drop_columns(["none", "rank"]).combine_chunks()


@pytest.fixture(name="folds")
def count_folds() -> Iterator[list[bool]]:
    """List whether the rows of some cells were pre-aggregated, each time."""
    tried: list[bool] = []

    def fold(*args: object, **options: object) -> DirectFolds:
        tried.append(False)
        folds = DirectFolds(*args, **options)  # type: ignore[arg-type]
        tried[-1] = True
        return folds

    with patch.object(cell_part, "DirectFolds", fold):
        yield tried


@pytest.mark.parametrize("size", [13, 700])
@pytest.mark.parametrize("query", QUERIES)
def test_cells_are_those_of_a_run(query: str, size: int, folds: list[bool]) -> None:
    """To the bit, whether rows are pre-aggregated or grouped."""
    table = make_rows(KEYS["strings"])
    for least in (1, 1 << 30):
        compiled = parse(QUERIES[query], least=least)
        expected = compiled.run(x=table)
        results = list(compiled.stream(x=cut(table, size), memory="200kB"))
        for name in expected:
            parts = [result[name].to_arrow() for result in results]
            assert len(parts) > 3
            assert all(in_order([part]).equals(part.combine_chunks()) for part in parts)
            assert in_order(parts).equals(in_order([expected[name].to_arrow()]))
        refused = query == "holistic" or least > 1
        assert folds[-1] is not refused


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("nulls", [False, True])
def test_keys_of_any_type(kind: str, nulls: bool, folds: list[bool]) -> None:
    """A row whose value is null is no event, and nothing begins with it."""
    table = make_rows(KEYS[kind], nulls=nulls)
    compiled = parse(QUERIES["gaps"])
    results = [
        r["out"].to_arrow() for r in compiled.stream(x=cut(table, 300), memory="200kB")
    ]
    expected = in_order([compiled.run(x=table)["out"].to_arrow()])
    assert in_order(results).equals(expected)
    assert all(folds)


@pytest.mark.parametrize("entries", [1, 2, 3, 4, 6, 8])
def test_outputs_may_number_the_same_keys_in_other_ways(entries: int) -> None:
    """Integers stand for themselves where the output has room for a state of each."""
    table = make_rows(pa.array([40, 52]))
    compiled = parse(
        """~out[w] = count(~x[w-1m : w])
        ~other[w] = { n = min(~x[w-1m : w]), m = max(~x[w-20s : w]) }""",
        entries=entries,
    )
    expected = compiled.run(x=table)
    results = list(compiled.stream(x=cut(table, 300), memory="200kB"))
    for name in expected:
        parts = [result[name].to_arrow() for result in results]
        assert in_order(parts).equals(in_order([expected[name].to_arrow()]))


@pytest.mark.parametrize("least", [1, 1 << 30])
@pytest.mark.parametrize("query", ["scalar", "gaps"])
def test_rows_that_are_no_events(query: str, least: int) -> None:
    """At first, in between, and in all pieces."""
    table = make_rows(KEYS["strings"])
    compiled = parse(QUERIES[query], least=least)
    rows = np.arange(ROWS)
    for absent in (rows < ROWS // 4, abs(rows - ROWS // 2) < ROWS // 4, rows >= 0):
        values = pa.array(table["x"].to_numpy(), mask=absent)
        nulls = table.set_column(2, "x", values)
        made = compiled.stream(x=cut(nulls, 300), memory="200kB")
        results = [result["out"].to_arrow() for result in made]
        expected = compiled.run(x=nulls)["out"].to_arrow()
        assert in_order(results).equals(in_order([expected]))


@pytest.mark.parametrize("bounds", [(1000, 9000), (None, 5011), (4021, None)])
@pytest.mark.parametrize("least", [1, 1 << 30])
@pytest.mark.parametrize("query", ["scalar", "struct"])
def test_bounds_of_a_run(
    bounds: tuple[int | None, int | None], least: int, query: str
) -> None:
    """Cells are cut, also those of keys whose rows lie elsewhere."""
    table = make_rows(KEYS["integers"])
    first = 1_600_000_000
    start, end = (None if each is None else first + each for each in bounds)
    compiled = parse(QUERIES[query], least=least)
    made = compiled.stream(x=cut(table, 300), start=start, end=end, memory="1MB")
    results = [result["out"].to_arrow() for result in made]
    expected = compiled.run(x=table, start=start, end=end)["out"].to_arrow()
    assert in_order(results).equals(in_order([expected]))


@pytest.mark.parametrize(
    ("query", "alone"),
    [
        ("~out[w] = sum(~x[w-1m : w])", True),
        ("~out[w] = sum(~x[w-2m : w])", False),
        ("~out[w] = last(~x[-∞ : w])", False),
        ("~out[t] = sum(~x[t-1m : t])", False),
        ("~out[w] = { s = sum(~x[w-1m : w]), t = w }", False),
    ],
)
def test_which_cells_have_rows_of_their_own(query: str, alone: bool) -> None:
    made = []

    class Part(CellPart):
        def __init__(self, *of: object) -> None:
            super().__init__(*of)  # type: ignore[arg-type]
            made.append(self)

    with patch.object(stream_parts, "CellPart", Part):
        list(parse(query).stream(x=cut(make_rows(KEYS["strings"]), 1000)))
    assert bool(made) is alone


def test_what_was_refused_is_tried_with_more_rows(folds: list[bool]) -> None:
    """Not with as many: to find out that keys are too many takes time."""
    table = make_rows(KEYS["strings"])
    with patch.object(cell_part, "DirectFolds", side_effect=Misfit("no")) as tried:
        compiled = parse(QUERIES["scalar"])
        parts = [
            r["out"].to_arrow()
            for r in compiled.stream(x=cut(table, 13), memory="60kB")
        ]
    assert 0 < tried.call_count < len(parts) / 4
    assert not folds
    expected = compiled.run(x=table)["out"].to_arrow()
    assert in_order(parts).equals(in_order([expected]))


def test_rows_of_a_cell_that_do_not_fit_are_refused() -> None:
    stamps = pa.array(np.zeros(50_000, np.int64) + 30, pa.timestamp("s"))
    table = pa.table({"ts": stamps, "k": np.arange(50_000), "x": np.zeros(50_000)})
    pieces = (table for _ in range(1000))
    with pytest.raises(tilt.DataError, match="must be held at once"):
        list(parse(QUERIES["scalar"]).stream(x=pieces, memory="4MB"))
