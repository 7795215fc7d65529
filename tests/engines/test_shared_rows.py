"""Objects that all keys share, computed once: the same results as key by key."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import costing
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.compiler.shared_objects import separate_shared
from tiltpy.costs import KeyCosts
from tiltpy.engines.local import bind_inputs, plan_group
from tiltpy.engines.output_groups import make_group
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.keyed.keyed_run import KeyedRun

INPUTS = """\
input x by k : f64 time ts point
input y : f64 time ts until_next
"""
SHARING = costing(keys=KeyCosts(shared_looks=-(1 << 50)))
BY_KEY = costing(keys=KeyCosts(shared_looks=1 << 60))
BODIES = {
    "at events": "~out[t] = ~x[t] - mean(~y[t-50 : t])",
    "beyond the rows of keys": "~out[t] = sum(~y[t-50 : t+20])\n    + (~x[t] ?: 0.0)",
    "an object of its own": "~m[t] = max(~y[t-40 : t])\n~out[t] = ~x[t] / ~m[t-7]",
    "windows by key, too": "~out[t] = mean(~x[t-30 : t]) - mean(~y[t-50 : t-10])",
    "cells": "w = TDom(-∞, ∞, 25)\n~out[w] = sum(~x[w-25 : w]) - sum(~y[w-50 : w])",
    "cells of another": """\
w = TDom(-∞, ∞, 40)
~m[w] = mean(~y[w-80 : w])
~out[t] = ~x[t] - ~m[t]""",
    "for each row": "e = Rows(~x)\n~out[e] = { a = ~x[e], b = std(~y[e-50 : e]) }",
    "counted": "~out[t] = ~x[t] * count(v for v in ~y[t-50 : t] if v > 0)",
    "of a window": "~m[t] = sum(~y[t-9 : t])\n~out[t] = ~x[t] - max(~m[t-50 : t])",
    "distinct": "distinct ~out[t] = ~x[t] > mean(~y[t-50 : t])",
}


def _tables(seed: int) -> dict[str, pa.Table]:
    """Make rows of keys that begin before the others, and end behind them."""
    random = np.random.default_rng(seed)
    rows, others = 400, 150
    stamps = np.sort(random.choice(np.arange(-200, 2000), rows, replace=False))
    return {
        "x": pa.table(
            {
                "k": random.integers(0, 40, rows),
                "ts": stamps,
                "x": random.integers(-99, 99, rows) / 7,
            }
        ),
        "y": pa.table(
            {
                "ts": np.sort(random.choice(1500, others, replace=False)),
                "y": random.integers(-99, 99, others) / 7,
            }
        ),
    }


def _query(body: str) -> str:
    return f"{INPUTS}{body.replace('?: 0.0', '!= φ ? ~x[t] : 0.0')}\noutput ~out\n"


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("limits", [{}, {"start": 300, "end": 1111}])
def test_results_are_those_of_each_key_by_itself(
    body: str, limits: Mapping[str, Any]
) -> None:
    text, tables = _query(BODIES[body]), _tables(len(body))
    assert separate_shared(parse(text)) is not None
    shared, alone = (
        tilt.parse(text, options=options).run(**tables, **limits).to_arrow()
        for options in (SHARING, BY_KEY)
    )
    assert shared.num_rows > 20
    assert shared.equals(alone)


def test_what_is_computed_before_the_keys() -> None:
    query = parse(_query(BODIES["at events"]))
    separate = separate_shared(query)
    assert separate is not None
    domain = "t = TDom(-∞, ∞, 1)"
    assert [line for line in format_query(separate.objects).splitlines() if line] == [
        "input y : f64 time ts until_next",
        domain,
        "~out_mean[t] = mean(~y[t-50 : t])",
        "output ~out_mean",
    ]
    assert [line for line in format_query(separate.keyed).splitlines() if line] == [
        "input x by k : f64 time ts point",
        "input out_mean : f64",
        domain,
        "~out[t] = ~x[t] - ~out_mean[t]",
        "output ~out",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "~out[t] = ~x[t] - ~y[t]",  # without windows a join is as cheap
        "~out[t] = mean(~x[t-50 : t])",
        "~out[t] = ~x[t] - mean(v - ~x[t] for v in ~y[t-50 : t])",
        "~m[t] = t + count(~y[t-50 : t])\n~out[t] = ~x[t] != φ ? ~m[t] : φ",
        "distinct ~m[t] = max(~y[t-50 : t])\n~out[t] = ~x[t] != φ ? start(~m[t]) : φ",
        "~m[t] = mean(~y[t-50 : t])\noutput ~m\n~out[t] = ~x[t] + 1",
    ],
)
def test_what_is_left_to_each_key(body: str) -> None:
    assert separate_shared(parse(_query(body))) is None


@pytest.mark.parametrize(("keys", "expected"), [(20, False), (4000, True)])
def test_many_keys_that_look_at_many_rows_share(keys: int, *, expected: bool) -> None:
    rows, others = 8000, 20_000
    tables = {
        "x": pa.table(
            {
                "k": np.arange(rows) % keys,
                "ts": np.arange(rows) * 10,
                "x": np.ones(rows),
            }
        ),
        "y": pa.table({"ts": np.arange(others) * 4, "y": np.ones(others)}),
    }
    query = parse(_query("~out[t] = ~x[t] - mean(~y[t-40000 : t])"))
    group = make_group(Compiler(query))
    bindings = {name: InputBinding(table) for name, table in tables.items()}
    rows_of = bind_inputs(query, bindings, allow_sort=True)
    plan = plan_group(group, rows_of, Request(), RunOptions()).plan
    assert isinstance(plan, KeyedRun)
    assert ("out_mean" in plan.inputs) is expected
    told = any("computed before them: ~out_mean" in line for line in plan.describe())
    assert told is expected
