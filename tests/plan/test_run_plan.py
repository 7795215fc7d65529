"""The kernels of a run: cases in numbers, with the reasons of those refused."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import USERS_RUN, costing
from tiltpy.costs import Costs, KeyCosts, PreaggregationCosts, RunCosts
from tiltpy.plan.key_plan import (
    count_joined,
    plan_keys,
    refuse_own_vector,
    refuse_vector_keys,
)
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.pane_limits import PaneFacts, most_keys, refuse_few_rows, refuse_size
from tiltpy.plan.run_plan import (
    ChunkRule,
    RunFacts,
    VectorFacts,
    chunk_count,
    needs_threads,
    plan_run,
    refuse_vector,
)

COSTS = Costs(
    cells_per_row=16,
    run=RunCosts(vector_rows=1000, baseline_rows=500, unpaid_visits=100),
)
DENSE = VectorFacts(visits=4000, rows_read=4000, rows_outside=20)
NONE = Refusal("the query has none for such rows")
MANY = RunFacts(4000, whole=True)
CHUNKED = replace(MANY, chunk=50)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (RunFacts(1000), None),
        (RunFacts(999), "999 rows are fewer than 1,000"),
        (RunFacts(999, vector=True), None),
        (RunFacts(999, chunk=50), None),
        (RunFacts(4000, vector=False), "the run uses none"),
    ],
    ids=str,
)
def test_whether_a_vector_kernel_is_looked_for(
    facts: RunFacts, reason: str | None
) -> None:
    refusal = refuse_vector(facts, COSTS.run)
    assert (None if refusal is None else refusal.reason) == reason


@pytest.mark.parametrize(
    ("facts", "vector", "refused", "no_baseline", "chunks"),
    [
        # The vector kernel leaves few rows, or there are few at all.
        (MANY, DENSE, None, None, ChunkRule.VECTOR),
        (RunFacts(499, whole=True), NONE, NONE.reason, None, ChunkRule.WORK),
        # Many rows are left to the sweep kernel.
        (MANY, replace(DENSE, rows_outside=500), None,
         "500 rows are no fewer than 500", ChunkRule.VECTOR),
        (MANY, NONE, NONE.reason, "4,000 rows are no fewer than 500", ChunkRule.WORK),
        # Windows may reach far beyond the rows, up to a limit.
        (MANY, VectorFacts(64_100, 4000, 20), None, None, ChunkRule.VECTOR),
        (MANY, VectorFacts(64_101, 4000, 20),
         "64,101 visits for 4,000 rows are more than 64,100",
         "4,000 rows are no fewer than 500", ChunkRule.WORK),
        # The baseline kernel is for a whole run of which the caller says nothing.
        (RunFacts(10), NONE, NONE.reason,
         "more of the outputs may be computed with the same kernel", ChunkRule.WORK),
        (CHUNKED, DENSE, None, "the caller cuts time into chunks", ChunkRule.GIVEN),
        (replace(MANY, vector=True), DENSE, None,
         "the caller decides on vector kernels", ChunkRule.VECTOR),
        # A vector kernel polls no stop flag.
        (replace(MANY, chunk=1 << 24), DENSE, None,
         "the caller cuts time into chunks", ChunkRule.GIVEN),
        (replace(MANY, chunk=(1 << 24) + 1), DENSE, None,
         "the caller cuts time into chunks", ChunkRule.VECTOR),
        (replace(MANY, chunk=1 << 30), NONE, NONE.reason,
         "the caller cuts time into chunks", ChunkRule.GIVEN),
    ],
)  # fmt: skip
def test_the_kernels_of_a_run(
    facts: RunFacts,
    vector: VectorFacts | Refusal,
    refused: str | None,
    no_baseline: str | None,
    chunks: ChunkRule,
) -> None:
    plan = plan_run(facts, vector, COSTS)
    assert (plan.vector and plan.vector.reason) == refused
    assert (plan.baseline and plan.baseline.reason) == no_baseline
    assert plan.chunks is chunks


@pytest.mark.parametrize(
    ("work", "ranked", "count"),
    [
        (0, False, 1),
        ((1 << 17) - 1, False, 1),
        (1 << 17, False, 2),
        (1 << 20, False, 12),
        (1 << 20, True, 12),
        (1 << 26, False, 32),
        (1 << 26, True, 512),
    ],
)
def test_how_many_chunks_there_are(work: int, ranked: bool, count: int) -> None:
    assert chunk_count(work, RunCosts(), ranked=ranked) == count


@pytest.mark.parametrize(
    ("work", "ranked", "count"),
    [(1 << 20, False, 1), (1 << 20, True, 8), (1 << 26, False, 32)],
)
def test_a_worker_alone_has_chunks_where_they_are_long(
    work: int, ranked: bool, count: int
) -> None:
    assert chunk_count(work, RunCosts(), ranked=ranked, shared=False) == count


def test_little_work_has_one_thread() -> None:
    costs = RunCosts()
    assert not needs_threads(costs.least_chunk_work - 1, 3, costs)
    assert needs_threads(costs.least_chunk_work - 1, 4, costs)
    assert needs_threads(costs.least_chunk_work, 1, costs)


@pytest.mark.parametrize(
    ("rows", "by", "lines"),
    [
        (900, "", ["not vector kernel: 900 rows are fewer than 12,288",
                   "baseline kernel, without special strategies"]),
        (13_000, "", ["vector kernel, where the rows that it reads exist",
                    "baseline kernel beside it, without special strategies"]),
        (900, " by k", ["keys in batches: 3 in 1", "keys as runs of their own: 0",
                        "not vector kernel: keys that it could serve have 900 rows, "
                        "fewer than 32,768"]),
        (40_000, " by k", ["keys in batches: 3 in 1", "keys as runs of their own: 0",
                           "vector kernel for 3 keys"]),
    ],
)  # fmt: skip
def test_explain_says_which_kernels_a_run_has(
    rows: int, by: str, lines: list[str]
) -> None:
    number = np.arange(rows)
    frame = pa.table({"ts": number, "x": number / 8, "k": number % 3})
    query = tilt.parse(
        f"input x{by} : f64 time ts point\n~o[t] = mean(~x[t-20:t]) - ~x[t-5]",
        options=costing(run=USERS_RUN),
    )
    text = query.explain(inputs={"x": frame})
    assert text.split("== run ==\n")[1].split("\n==")[0].strip().split("\n") == lines


KEYS = KeyCosts(
    many_rows=100, batch_rows=60, batch_keys=4, vector_speedup=10, joined_batches=1
)


@pytest.mark.parametrize(
    ("work", "alone", "served", "tasks"),
    [
        ([], [], [], []),
        ([5, 5, 5, 5, 5, 5], [], [], [[0, 1, 2], [3, 4, 5]]),
        ([30, 40, 30], [], [], [[0, 1], [2]]),
        ([1, 200, 1], [1], [], [[0], "1", [2]]),
        ([1, 200, 1], [], [], [[0, 1], [2]]),
        ([1, 200, 1], [], [1], [[0, 1, 2]]),
        ([1, 2, 300, 300], [1, 2], [2, 3], [[0], "1", "2", [3]]),
    ],
)
def test_keys_in_batches_or_alone(
    work: list[int], alone: list[int], served: list[int], tasks: list[list[int] | str]
) -> None:
    """Those that are runs of their own are a text."""

    def mask(keys: list[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.isin(np.arange(len(work)), keys)

    rows, every = np.array(work, np.int64), mask(list(range(len(work))))
    found = list(plan_keys(rows, every, mask(alone), mask(served), KEYS, 1))
    shown = [str(t.keys[0]) if t.alone else t.keys.tolist() for t in found]
    assert shown == tasks
    assert [t.rows for t in found] == [rows[t.keys].sum() for t in found]


def test_joined_batches() -> None:
    work, none = np.array([30, 40, 30, 200, 30, 60, 20]), np.zeros(7, np.bool_)
    costs = replace(KEYS, joined_batches=3, worker_calls=2)
    found = list(plan_keys(work, ~none, work == 200, none, costs, 1))
    assert [task.keys.tolist() for task in found] == [[0, 1, 2], [3], [4], [5, 6]]
    assert [count_joined(rows, 1, costs) for rows in (0, 10**6)] == [3, 3]
    found_joined = [count_joined(rows, 2, costs) for rows in (0, 479, 480, 719, 720)]
    assert found_joined == [1, 1, 2, 2, 3]


def test_each_worker_has_batches_of_keys_that_a_vector_kernel_serves() -> None:
    """The places visited count, and not the rows, of which there are ten times more."""
    work, every = np.full(7, 600), np.ones(7, np.bool_)
    costs = replace(KEYS, joined_batches=3, worker_calls=4)
    for workers, tasks in (1, 3), (2, 4):
        assert len(list(plan_keys(work, every, ~every, every, costs, workers))) == tasks


def test_rows_without_a_key_make_batches_smaller_and_no_key_a_run_of_its_own() -> None:
    work, every = np.full(6, 10), np.ones(6, np.bool_)
    for shared, batches in (0, [3, 3]), (50, [1] * 6), (5000, [1] * 6):
        found = list(plan_keys(work, every, ~every, ~every, KEYS, 1, shared))
        assert [len(task.keys) for task in found] == batches
        assert not any(task.alone for task in found)
        assert sum(task.rows for task in found) == 6 * (10 + shared)


def test_keys_for_which_nothing_is_wanted_are_left_out() -> None:
    work, none = np.array([5, 5, 5]), np.zeros(3, np.bool_)
    (task,) = plan_keys(work, np.array([True, False, True]), none, none, KEYS, 1)
    assert task.keys.tolist() == [0, 2]


def test_vector_kernels_of_keys() -> None:
    work, keys = np.array([60, 39, 500]), np.array([True, True, False])
    assert refuse_vector_keys(work, keys, KEYS) == Refusal(
        "keys that it could serve have 99 rows, fewer than 100"
    )
    assert refuse_vector_keys(work + 1, keys, KEYS) is None
    costs = KeyCosts(shared_rows=1000, few_phases=4)
    assert refuse_own_vector(999, 4, costs) is None
    assert refuse_own_vector(1000, 5, costs) is None
    assert refuse_own_vector(999, 5, costs) == Refusal("regular rows are in 5 phases")


def test_how_many_keys_are_preaggregated() -> None:
    costs = PreaggregationCosts(least_rows=100, entries_per_row=4, merges_per_row=16)
    assert refuse_few_rows("x", 99, costs, forced=False) == Refusal("~x has few rows")
    assert refuse_few_rows("x", 99, costs, forced=True) is None
    assert refuse_few_rows("x", 100, costs, forced=False) is None
    facts = PaneFacts("x", rows=1000, panes=10, states=2, merged=1)
    assert most_keys(facts, costs) == 4 * 1000 // 20
    assert most_keys(replace(facts, merged=100), costs) == 16 * 1000 // 1000
    assert most_keys(replace(facts, merged=10_000), costs) == Refusal(
        "~x has few rows for 10 panes, of which windows have 10,000"
    )
    assert refuse_size("o", 50, 25, 100, facts, costs) is None
    assert refuse_size("o", 50, 26, 100, facts, costs) == Refusal(
        "the states of ~o would take too much memory"
    )
    assert refuse_size("o", 1 << 32, 25, 100, facts, costs) == Refusal(
        "a pane of ~x has 4,294,967,296 rows"
    )
