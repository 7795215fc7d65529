"""Few rows have a plain kernel, which takes less time to compile than it saves.

What it computes is what the more special ones do; which one a run has depends on its
rows alone.
"""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import NO_STRATEGIES
from tests.costs import USERS_RUN, costing
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.codegen.machine_code import Effort
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler, QueryKernels
from tiltpy.costs import RunCosts
from tiltpy.runtime.execution.kernel import Kernel

SPECIAL = {
    "at events": "~o[t] = ~x[t] != φ ? mean(~x[t-100:t]) : φ",
    "z-score": "~o[t] = (~x[t] - mean(~x[t-100:t])) / std(~x[t-100:t])",
    "merged": "~o[t] = ~x[t] + ~x[t-3]",
    "a map": "~o[t] = ~x[t] * 2",
    "panes": "h = TDom(-∞, ∞, 500)\n~o[h] = sum(~x[h-500:h])",
}
INPUT = "input x : f64 time ts point\n"
POINTS = {"x": Layout(TimeLayout.INTERVALS, (False,), points=True)}
ROWS = USERS_RUN.baseline_rows
USERS = costing(run=USERS_RUN)
SPECIALISED = costing(run=RunCosts(baseline_rows=0))


@pytest.fixture
def asked() -> Iterator[list[bool]]:
    """Return whether each run asked for the kernel for few rows."""
    found: list[bool] = []
    sweep = QueryKernels.sweep

    def noted(one: QueryKernels, *, baseline: bool = False) -> Kernel:
        found.append(baseline)
        return sweep(one, baseline=baseline)

    with patch.object(QueryKernels, "sweep", noted):
        yield found


def table(rows: int) -> pa.Table:
    random = np.random.default_rng(rows)
    times = np.cumsum(random.integers(1, 40, rows))
    return pa.table({"ts": times, "x": random.integers(0, 800, rows) / 8})


@pytest.mark.parametrize("name", SPECIAL)
def test_both_kernels_compute_the_same(name: str, asked: list[bool]) -> None:
    rows = table(ROWS - 1)
    text = INPUT + SPECIAL[name]
    few = tilt.parse(text, options=USERS).run(x=rows).to_arrow()
    many = tilt.parse(text, options=SPECIALISED).run(x=rows).to_arrow()
    assert asked == [True, False]
    assert few.num_rows > 5
    if name != "z-score":
        assert few.equals(many)
        return
    assert few.drop_columns("o").equals(many.drop_columns("o"))
    np.testing.assert_allclose(few["o"], many["o"], rtol=1e-9)  # std is rounded


@pytest.mark.parametrize(
    ("rows", "options", "few"),
    [(ROWS - 1, {}, True), (ROWS, {}, False), (10, {"chunk": 100}, False)],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_the_rows_and_the_chunk_decide(
    rows: int, options: dict[str, int], few: bool, workers: int, asked: list[bool]
) -> None:
    query = tilt.parse(INPUT + SPECIAL["at events"], options=USERS)
    query.run(x=table(rows), workers=workers, **options)  # type: ignore[arg-type]
    assert asked == [few]


@pytest.mark.parametrize("name", SPECIAL)
def test_the_plain_kernel_is_another_one_where_it_must_be(name: str) -> None:
    compiler = Compiler(
        tilt.parse(INPUT + SPECIAL[name]).query, CompileOptions(cache=False)
    )
    found = compiler.compile_for(POINTS)
    assert found.has_special_loops
    assert found.baseline_code is not found.sweep_code
    assert found.sweep().code is found.sweep_code
    assert found.sweep(baseline=True).code is found.baseline_code


def test_long_plain_kernels_are_compiled_fast() -> None:
    query = tilt.parse(INPUT + SPECIAL["at events"])
    results = []
    for quick_lines, *chosen in (
        (1, Effort.REGISTERS, 0),
        (1 << 20, Effort.SCALAR, 3),
    ):
        options = costing(run=USERS_RUN, quick_lines=quick_lines)
        found = Compiler(query.query, options).compile_for(POINTS)
        code = found.baseline_code.code()
        assert [code.effort, code.level] == chosen
        assert found.sweep_code.code().level == 3
        runnable = tilt.CompiledQuery(query.query, options)
        results.append(runnable.run(x=table(100)).to_arrow())
    assert results[0] == results[1]


def test_there_is_one_kernel_where_it_is_plain_anyway() -> None:
    layouts = {"x": Layout(TimeLayout.OVERLAPPING, (False,))}
    query = tilt.parse(INPUT + SPECIAL["at events"]).query
    for options in (
        CompileOptions(cache=False),
        CompileOptions(disabled_strategies=NO_STRATEGIES),
    ):
        found = Compiler(query, options).compile_for(layouts)
        assert found.baseline_code is found.sweep_code
    plain = Compiler(
        query,
        CompileOptions(disabled_strategies=NO_STRATEGIES, cache=False),
    )
    assert not plain.compile_for(POINTS).has_special_loops


def test_what_lies_beside_a_vector_kernels_stretch_is_few(asked: list[bool]) -> None:
    rows = 3 * ROWS
    text = "input x : f64 time ts sampled 1\n~o[t] = mean(~x[t-20:t]) - ~x[t-5]"
    values = np.arange(rows) % 100 / 8
    frame = pa.table({"ts": np.arange(rows), "x": values})
    found = tilt.parse(text, options=USERS).run(x=frame)
    assert asked == [True]
    other = tilt.parse(text, options=SPECIALISED).run(x=frame)
    assert found.to_arrow().equals(other.to_arrow())
