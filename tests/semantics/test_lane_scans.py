"""Folds over samples in vector kernels, against the interpreter and against sweeps."""

from functools import partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import random_setting, run_compiled
from tests.engines.test_out_of_core import run_streamed
from tests.plan.shapes import Census
from tests.random.lane_scans import random_scan_case, random_scan_setting
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import interpret
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, STREAMS, DEEPER = 4, 4, 2, 500
ROWS = 20_000


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_scans(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case, random = random_scan_case(seed), Random(seed)  # noqa: S311
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_scan_setting(random)
            if seed % 4 == 0:
                setting = random_setting(random, span=200)
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


def test_streams_of_random_scans(*, deep: bool) -> None:
    for seed in range(STREAMS * (DEEPER if deep else 1)):
        case, random = random_scan_case(seed), Random(seed)  # noqa: S311
        setting = random_scan_setting(random)
        result = run_streamed(case, setting, random)
        assert_same(result, interpret(case.query, case.events), case.query, exact=True)


def test_random_cases_reach_scans() -> None:
    census = Census()

    def execute(seed: int) -> None:
        setting = random_scan_setting(Random(seed))  # noqa: S311
        run_compiled(random_scan_case(seed), setting)

    for seed in range(8):
        census.run(partial(execute, seed))
    assert census.counts["lanes: scan"] > 2
    assert census.counts["lanes: scan of what others scan"] > 0


INDICATORS = """\
input x : f64 sampled 1
~line[t] = macd(~x)
~out[t] = {
    mean = mean(~x[t-20 : t]), ahead = ~x[t+3], rsi = rsi(~x, 14),
    line = ~line[t].line, signal = ~line[t].signal, total = sum(~x[-∞ : t])
}
"""


@pytest.mark.covering(1)
@pytest.mark.parametrize("lost", [0.0, 0.05])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"workers": 2},
        {"chunk": 700},
        {"chunk": 512, "workers": 2},
        {"start": 100},
        {"start": 7_001, "end": 15_000, "workers": 2},
    ],
    ids=str,
)
def test_every_run_has_the_same_bits(lost: float, how: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    values = random.random(ROWS)
    table = pa.table({"x": pa.array(values, mask=random.random(ROWS) < lost)})
    rows = tilt.sampled(table, start=0, period=1)
    query = tilt.parse(INDICATORS)
    whole = query.run(x=rows, workers=1).to_arrow()
    found = query.run(x=rows, **how).to_arrow()
    low, high = how.get("start", 0), how.get("end", ROWS)
    ends = whole["end"].to_numpy()
    kept = whole.filter(pa.array((low < ends) & (ends <= high)))
    for name in ("rsi", "line", "signal", "total", "end"):
        assert found[name].equals(kept[name]), name
