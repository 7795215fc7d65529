"""Files that are folded part by part, against the same rows in memory."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.compiler.options import CompileOptions
from tiltpy.costs import Costs, PreaggregationCosts, SpanCosts
from tiltpy.engines import folded_tables
from tiltpy.errors import DataError
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrow.parquet_scan import scan_parquet
from tiltpy.runtime.preaggregation.fold_parts import fold_in_parts

ROWS = 6000
PART = 500
"""Rows of a part, about: a value is taken to have 8 bytes."""
TUMBLING = """unit s
input x by k : f64 time ts point
w = TDom(-∞, ∞, 1m)
~out[w] = { mean = mean(~x[w-1m : w]), std = std(~x[w-1m : w]),
            least = min(~x[w-1m : w]),
            high = count(v for v in ~x[w-1m : w] if v > 0.0) }
"""
HOPPING = """unit s
input x by k : f64 time ts point
w = TDom(-∞, ∞, 1m)
~out[w] = sum(~x[w-3m : w])
"""


def parse(text: str, *, per_key: int = 0, fold: int = 1 << 27) -> tilt.CompiledQuery:
    """Parse a query whose files are read in small parts."""
    spans = SpanCosts(file_rows=1, most_file_bytes=8 * 3 * PART, fold_bytes=fold)
    folds = PreaggregationCosts(
        rows_per_key=per_key, entries_per_row=1 << 20, merges_per_row=1 << 20
    )
    costs = Costs(spans=spans, preaggregation=folds)
    return tilt.parse(text, options=CompileOptions(costs=costs))


def make_rows(seed: int, keys: pa.Array, rows: int = ROWS) -> pa.Table:
    """Make rows in order of time: ties, and gaps of several panes."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 1, 2, 500], rows, p=[0.3, 0.5, 0.19, 0.01])
    stamps = np.cumsum(steps) + 1_600_000_000
    codes = rng.integers(0, len(keys), rows)
    codes[: rows // 2] //= 2  # some keys come late
    values = rng.integers(-8, 8, rows) / 8 + rng.normal(size=rows)
    names = ["ts", "k", "x", "other"]
    columns = [
        pa.array(stamps * 1000, pa.timestamp("ms")),
        keys.take(codes),
        values,
        codes,
    ]
    return pa.table(columns, names=names)


@pytest.fixture(name="outcomes")
def count_outcomes() -> Iterator[list[str]]:
    """List how each attempt to fold in parts ended."""
    ended: list[str] = []

    def fold(*args: object, **options: object) -> object:
        try:
            run = fold_in_parts(*args, **options)  # type: ignore[arg-type]
        except (Misfit, DataError) as error:
            ended.append(str(error))
            raise
        ended.append("folded")
        return run

    with (
        patch.object(folded_tables, "are_arrow_pages_reused", lambda: True),
        patch.object(folded_tables, "fold_in_parts", fold),
    ):
        yield ended


KEYS = {
    "strings": pa.array(["ß", "b", "", "a", "zz", "c"]),
    "integers": pa.array([-3, 7, 0, 900], pa.int16()),
    "null": pa.array(["b", None, "a"]),
    "dates": pa.array([3, 1, 2], pa.date32()),
    "bools": pa.array([True, None, False]),
    "floats": pa.array([0.5, -0.0, 0.0, -1.0]),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("text", [TUMBLING, HOPPING], ids=["tumbling", "hopping"])
@pytest.mark.parametrize("kind", KEYS)
def test_parts_give_the_results_of_all_rows(
    text: str, kind: str, outcomes: list[str], tmp_path: Path
) -> None:
    """To the bit, whatever the sizes of row groups, and in several files."""
    table = make_rows(1, KEYS[kind])
    paths = [tmp_path / f"{number}.parquet" for number in range(2)]
    pq.write_table(table[:2100], paths[0], row_group_size=700)
    pq.write_table(table[2100:], paths[1], row_group_size=10_000)
    query = parse(text)
    for order in ("key", "time"):
        expected = query.run(x=table, order=order)["out"].to_arrow()
        for workers in (1, 2):
            result = query.run(x=scan_parquet(paths), order=order, workers=workers)
            assert result["out"].to_arrow().equals(expected)
            assert result["out"].schema == expected.schema
    start, end = "2020-09-13 12:30", "2020-09-13 14:00"
    expected = query.run(x=table, start=start, end=end)["out"].to_arrow()
    result = query.run(x=scan_parquet(paths), start=start, end=end)
    assert result["out"].to_arrow().equals(expected)
    assert set(outcomes) == {"folded"}


COUNTS = HOPPING.replace("sum(", "count(")
SEVERAL = "windows of ~out have several panes"
LARGE = "the states of ~out would take too much memory"


@pytest.mark.parametrize(
    ("text", "fold", "outcome"),
    [
        (TUMBLING, 1 << 27, "folded"),
        (TUMBLING, 40_000, LARGE),
        (COUNTS, 1 << 27, "folded"),
        (COUNTS, 40_000, LARGE),
        (HOPPING, 1 << 27, SEVERAL),
    ],
    ids=["panes", "large", "exact", "large exact", "several panes"],
)
def test_streams_of_files_are_folded(
    text: str, fold: int, outcome: str, outcomes: list[str], tmp_path: Path
) -> None:
    """Not where floats would be added up otherwise, nor where states are many.

    Their rows are those that frames have, to the bit.
    """
    table = make_rows(4, KEYS["strings"])
    paths = [tmp_path / f"{number}.parquet" for number in range(2)]
    pq.write_table(table[:2100], paths[0])
    pq.write_table(table[2100:], paths[1])
    query = parse(text, fold=fold)

    def list_rows(x: object, memory: str = "256MB") -> pa.Table:
        parts = list(query.stream(x=x, memory=memory))
        rows = pa.concat_tables([part["out"].to_arrow() for part in parts])
        return rows.sort_by([("k", "ascending"), ("start", "ascending")])

    pieces = [table[row : row + 500] for row in range(0, ROWS, 500)]
    rows = list_rows(scan_parquet(paths))
    assert rows.equals(list_rows(pieces))
    assert rows.equals(list_rows(scan_parquet(paths), memory="60kB"))
    assert outcomes == [outcome, outcome]
    if text != HOPPING:
        assert rows.equals(query.run(x=table)["out"].to_arrow())
    path = tmp_path / "out.parquet"
    counts = query.run_to(path, x=scan_parquet(paths))
    assert counts == {"out": len(rows)}
    assert pq.read_table(path).num_rows == len(rows)


def test_the_last_pane_may_have_few_rows(outcomes: list[str], tmp_path: Path) -> None:
    """It is folded with the others, however few rows a key has in it."""
    table = make_rows(6, KEYS["strings"])
    later = table["ts"][-1].value + 600_000
    stamps = pa.array([later], pa.timestamp("ms"))
    last = table.slice(ROWS - 1).set_column(0, "ts", stamps)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.concat_tables([table, last]), path)
    query = parse(TUMBLING, per_key=10)
    (part,) = query.stream(x=scan_parquet(path))
    expected = query.run(x=pa.concat_tables([table, last]))["out"].to_arrow()
    assert part["out"].to_arrow().equals(expected)
    assert outcomes == ["folded"]


def test_windows_of_streamed_files(outcomes: list[str], tmp_path: Path) -> None:
    """Frames of all windows are those of a run."""
    table = make_rows(5, KEYS["integers"])
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    query = parse(TUMBLING)
    (part,) = query.stream(x=scan_parquet(path))
    expected = query.run(x=table)["out"].windows()
    assert part["out"].windows().equals(expected)
    assert outcomes == ["folded"]


def test_two_keys_and_two_outputs(outcomes: list[str], tmp_path: Path) -> None:
    """Outputs have panes of their own, which begin together."""
    text = TUMBLING.replace("by k", "by k, other").replace("~out", "~a")
    query = parse(f"{text}v = TDom(-∞, ∞, 2m)\n~b[v] = max(~x[v-4m : v])\n")
    table = make_rows(2, KEYS["strings"])
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    result, expected = query.run(x=scan_parquet(path)), query.run(x=table)
    for name in ("a", "b"):
        assert result[name].to_arrow().equals(expected[name].to_arrow())
    assert outcomes == ["folded"]


def alter(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    """Replace a cell."""
    column = table[name].to_pylist()
    column[row] = value
    index = table.column_names.index(name)
    return table.set_column(index, name, pa.array(column, table[name].type))


TABLE = make_rows(3, KEYS["strings"])
FIRST = TUMBLING.replace("std(", "first(")
UNUSUAL = {
    "first": (TABLE, "the rows once more"),
    "disorder": (alter(TABLE, "ts", 4000, TABLE["ts"][5].as_py()), "in order of time"),
    "null value": (alter(TABLE, "x", 4000, None), "may have nulls"),
    "few rows": (TABLE[:0], "few rows"),
    "long pane": (TABLE.set_column(0, "ts", TABLE["ts"].take([0] * ROWS)), "parts"),
    "many keys": (make_rows(4, pa.array(range(5000)).cast(pa.string())), "many keys"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_is_unusual_is_read_at_once(
    case: str, outcomes: list[str], tmp_path: Path
) -> None:
    """The results are those of a table."""
    table, reason = UNUSUAL[case]
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    query = parse(FIRST if case == "first" else TUMBLING, per_key=2)
    result = query.run(x=scan_parquet(path))["out"].to_arrow()
    assert result.equals(query.run(x=table)["out"].to_arrow())
    (outcome,) = outcomes
    assert reason in outcome


def test_errors_name_the_row_of_all_rows(outcomes: list[str], tmp_path: Path) -> None:
    """They are found in a part, and said of all rows."""
    table = alter(TABLE, "ts", 4000, None)
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    query = parse(TUMBLING)
    with pytest.raises(DataError, match="the time is null") as caught:
        query.run(x=scan_parquet(path))
    assert caught.value.row == 4000
    assert outcomes != ["folded"]
