"""Rounds of chunks: how many, and that they change nothing."""

from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import pytest

import tiltpy as tilt
from tests.costs import costing
from tests.lowering.sweep.test_tumbling_rows import gaps
from tests.plain import held, listed
from tiltpy.costs import RunCosts
from tiltpy.runtime.execution.call_batches import in_rounds

ROUND = RunCosts().round_chunks


@dataclass
class Sized:
    """A task of some chunks that may write so much."""

    most: int = 0
    count: int = 1


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([], []),
        ([Sized(5)], [1]),
        ([Sized(100)], [1]),  # too much, but there is no less
        (list(map(Sized, [4, 5, 1, 1, 9, 2, 100, 1])), [3, 2, 1, 1, 1]),
        ([Sized()] * (2 * ROUND + 3), [ROUND, ROUND, 3]),
        ([Sized(), Sized(count=ROUND - 1), Sized(), Sized(count=2 * ROUND)], [2, 1, 1]),
    ],
)
def test_how_many_chunks_are_in_a_round(tasks: list[Any], expected: list[int]) -> None:
    found = list(in_rounds(tasks, RunCosts(round_snapshots=10)))
    assert [len(some) for some in found] == expected
    assert list(chain(*found)) == tasks


BODIES = (
    "~o[t] = ~x[t] > 0 ? ~x[t] : φ",
    "~o[t] = sum(~x[t-9 : t])",
    "~s[w] = mean(~x[w-20 : w])\n~o[t] = ~x[t] - ~s[t]",
)


def test_chunks_without_a_cell_of_an_output() -> None:
    """Nothing is written for it where nobody reads."""
    query = tilt.parse(
        "input x : f64\nw = TDom(-∞, ∞, 30)\n"
        "~o[t] = ~x[t] + 1\n~p[w] = sum(~x[w-30 : w])\noutput ~o, ~p"
    )
    rows = gaps(Random(7), 100)  # noqa: S311
    whole = query.run(x=held(rows))
    for workers in (1, 2):
        found = query.run(x=held(rows), workers=workers, chunk=4)
        for name in ("o", "p"):
            assert listed(found[name]) == listed(whole[name])


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("body", BODIES)
def test_rounds_change_nothing(body: str, workers: int) -> None:
    """The objects between have scratch of the longest chunk, in each thread."""
    text = f"input x : f64\nw = TDom(-∞, ∞, 20)\n{body}\noutput ~o"
    rows = gaps(Random(body), 400)  # noqa: S311
    whole = listed(tilt.parse(text).run(x=held(rows)))
    for much in (1, 200, 1 << 23):
        query = tilt.parse(text, options=costing(run=RunCosts(round_snapshots=much)))
        found = query.run(x=held(rows), workers=workers, chunk=40)
        assert listed(found) == whole
