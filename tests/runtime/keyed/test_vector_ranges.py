"""Keys of some thousand regular rows: calls of a vector kernel, and those beside them.

Each key must have what a run over its rows alone gives, which the sweep kernel makes.
"""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import costing
from tiltpy.costs import DEFAULT_COSTS, KeyCosts
from tiltpy.runtime.keyed.vector_calls import VectorBatch
from tiltpy.runtime.keyed.vector_ranges import KeyVectorRanges

KEYS = 45
INPUT = "input x{by} : {type} time ts "
QUERIES = {
    "each cell a snapshot": (
        "f32", "sampled 1", "~o[t] = mean(~x[t-20:t]) - mean(~x[t-50:t])"
    ),
    "some cells": (
        "f32",
        "sampled 1",
        "~o[t] = mean(~x[t-20:t]) > mean(~x[t-50:t]) ? ~x[t] : φ",
    ),
    "held over cells": ("f64", "sampled 5", "~o[t] = ~x[t-3] > 20 ? ~x[t-3] : φ"),
    "rows as they are": ("f64", "sampled 1", "~o[t] = ~x[t] * 2"),
    "panes": ("i64", "sampled 1", "u = TDom(-∞, ∞, 64)\n~o[u] = sum(~x[u-64:u])"),
    "hops that cut": (
        "f64", "sampled 2", "u = TDom(-∞, ∞, 6, 1)\n~o[u] = max(~x[u-20:u]) + ~x[u-6]"
    ),
    "structs": (
        "f32",
        "sampled 1",
        "~o[t] = { a = ~x[t-7], b = ~x[t] > 20 ? ~x[t] : φ, c = sum(~x[t-9:t]) }",
    ),
    "structs whose nulls are beside the calls": (
        "f64", "sampled 1", "~o[t] = { a = ~x[t-7], b = ~x[t] }"
    ),
    "ahead": ("f64", "sampled 1", "~o[t] = max(~x[t-4:t+30]) - ~x[t+9]"),
    "two outputs": (
        "f64",
        "sampled 1",
        "~o[t] = sum(~x[t-40:t])\n~p[t] = ~o[t-3] > 900 ? ~o[t-3] : φ\noutput ~o, ~p",
    ),
    "short rows": ("f64", "point", "~o[t] = sum(~x[t-30:t])"),
    "short rows that last": ("f64", "duration 3", "~o[t] = mean(~x[t-9:t]) > ~x[t]"),
}  # fmt: skip

WITHOUT = {("hops that cut", 0.1), ("short rows that last", 0.0)}
"""Queries without a vector kernel."""


@pytest.fixture
def served() -> Iterator[list[int]]:
    """Count the keys that vector kernels serve in each batch."""
    found: list[int] = []
    make = VectorBatch.__init__

    def made(
        batch: VectorBatch, grids: KeyVectorRanges, *given: object, **named: object
    ) -> None:
        make(batch, grids, *given, **named)  # type: ignore[arg-type]
        found.append(len(batch.keys))

    with patch.object(VectorBatch, "__init__", made):
        yield found


def rows(
    kind: str, period: int, *, lost: float = 0.0, gaps: float = 0.0
) -> dict[str, pa.Table]:
    """A table for each key: of nearly a thousand rows, a few of ten."""
    of = {"f32": pa.float32(), "f64": pa.float64(), "i64": pa.int64()}[kind]
    random = np.random.default_rng(7)
    found = {}
    for key in range(KEYS):
        count = 10 if key % 9 == 4 else int(random.integers(900, 1100))
        first = period * int(random.integers(-3, 50))
        times = first + period * np.arange(1, count + 1)
        values = random.integers(0, 320, count) / (1 if kind == "i64" else 8)
        null = random.random(count) < lost
        kept = random.random(count) >= gaps
        column = pa.array(values, mask=null).cast(of)
        found[f"k{key:02}"] = pa.table({"ts": times, "x": column}).filter(kept)
    return found


def both(
    kind: str,
    lifetime: str,
    body: str,
    tables: dict[str, pa.Table],
    keys: KeyCosts = DEFAULT_COSTS.keys,
    **options: Any,
) -> dict[str, tuple[pa.Table, pa.Table]]:
    """Each output of a run by key, and what the runs of the keys give together."""
    declared = INPUT.format(by=" by k", type=kind) + lifetime
    alone = tilt.parse(f"{INPUT.format(by='', type=kind)}{lifetime}\n{body}")
    whole = pa.concat_tables(
        [t.append_column("k", pa.array([k] * len(t))) for k, t in tables.items()]
    )
    query = tilt.parse(f"{declared}\n{body}", options=costing(keys=keys))
    found = query.run(x=whole, **options)
    expected: dict[str, list[pa.Table]] = {name: [] for name in found}
    for key, table in tables.items():
        for name, output in alone.run(x=table, **options).items():
            made = output.to_arrow()
            column = pa.array([key] * len(made), pa.string())
            expected[name].append(made.add_column(0, "k", column))
    return {
        name: (found[name].to_arrow(), pa.concat_tables(some))
        for name, some in expected.items()
    }


def period_of(lifetime: str) -> int:
    """The ticks between a key's rows."""
    return 1 if lifetime == "point" else int(lifetime.split()[1])


@pytest.mark.covering(1)
@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("name", QUERIES)
def test_keys_have_what_their_rows_alone_give(
    name: str, holes: float, served: list[int]
) -> None:
    kind, lifetime, body = QUERIES[name]
    regular = lifetime.startswith("sampled")
    tables = rows(
        kind, period_of(lifetime), lost=holes * regular, gaps=holes * (not regular)
    )
    for one, (found, expected) in both(kind, lifetime, body, tables).items():
        assert found.equals(expected), one
    assert sum(served) > KEYS // 2 or (name, holes) in WITHOUT


@pytest.mark.parametrize("name", ["some cells", "held over cells", "panes", "structs"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_over_less_time_cuts_each_key(
    name: str, workers: int, served: list[int]
) -> None:
    kind, lifetime, body = QUERIES[name]
    tables = rows(kind, period_of(lifetime), lost=0.1)
    span: dict[str, Any] = {"start": 103, "end": 4 * 211, "workers": workers}
    keys = KeyCosts(batch_rows=1 << 10, joined_batches=1)
    ((found, expected),) = both(kind, lifetime, body, tables, keys, **span).values()
    assert found.equals(expected)
    assert len(served) > 2


def test_keys_out_of_phase_are_left_to_the_general_kernel(served: list[int]) -> None:
    kind, lifetime, body = QUERIES["held over cells"]
    tables = {
        key: table.set_column(0, "ts", pa.array(table["ts"].to_numpy() + number % 3))
        for number, (key, table) in enumerate(rows("f64", 5).items())
    }
    keys = KeyCosts(many_rows=1 << 12)
    ((found, expected),) = both(kind, lifetime, body, tables, keys).values()
    assert found.equals(expected)
    assert 0 < sum(served) < KEYS // 2


def test_an_input_without_keys_beside_them(served: list[int]) -> None:
    tables = rows("f64", 1)
    times = np.arange(-40, 1300)
    other = pa.table({"ts": times, "y": (times % 17) / 8})
    text = """input x{by} : f64 time ts sampled 1
input y : f64 time ts sampled 1
~o[t] = sum(~x[t-30:t]) * ~y[t-2]"""
    whole = pa.concat_tables(
        [t.append_column("k", pa.array([k] * len(t))) for k, t in tables.items()]
    )
    options = costing(keys=KeyCosts(many_rows=1 << 13))
    found = tilt.parse(text.format(by=" by k"), options=options).run(x=whole, y=other)
    alone = tilt.parse(text.format(by=""))
    parts = []
    for key, table in tables.items():
        made = alone.run(x=table, y=other).to_arrow()
        parts.append(made.add_column(0, "k", pa.array([key] * len(made), pa.string())))
    assert found.to_arrow().equals(pa.concat_tables(parts))
    assert served


def test_few_rows_in_all_do_not_compile_a_second_kernel(served: list[int]) -> None:
    kind, lifetime, body = QUERIES["some cells"]
    tables = dict(list(rows(kind, 1).items())[:3])
    ((found, expected),) = both(kind, lifetime, body, tables).values()
    assert found.equals(expected)
    assert not served
