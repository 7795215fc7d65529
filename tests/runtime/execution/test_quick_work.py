"""Runs that the thread of the caller does by itself, and runs that are handed over."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy import prepared_query
from tiltpy.runtime.concurrency.offload import offload

PLAIN = "input x : f64 time ts point\n~o[t] = sum(~x[t-9 : t])\noutput ~o"
BY_KEY = PLAIN.replace("input x", "input x by k")
PANES = "g = TDom(-∞, ∞, 100)\n~o[g] = sum(~x[g-100 : g])\noutput ~o"
FOLDED = "input x by k : f64 time ts point\n" + PANES


def _rows(count: int) -> pa.Table:
    times = np.arange(count)
    return pa.table({"ts": times, "k": times % 10, "x": times / 8})


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lists a number for each run that is handed over."""
    runs: list[int] = []

    def count(work: Callable[[], object], *others: object) -> object:
        runs.append(len(runs))
        return offload(work, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(prepared_query, "offload", count)
    return runs


@pytest.mark.parametrize("text", [PLAIN, BY_KEY, FOLDED])
def test_rows_that_were_read_are_not_handed_over_again(
    text: str, handed_over: list[int]
) -> None:
    query, bound = tilt.parse(text), tilt.bind(_rows(100_000))
    first = query.run(x=bound).to_arrow()
    assert len(handed_over) == 1
    assert query.run(x=bound).to_arrow() == first
    assert len(handed_over) == 1
    query.run(x=_rows(100_000))
    assert len(handed_over) == 2


def test_few_rows_are_never_handed_over(handed_over: list[int]) -> None:
    for text in (PLAIN, BY_KEY, FOLDED):
        tilt.parse(text).run(x=_rows(1_000))
    assert not handed_over


def test_to_group_many_rows_anew_is_handed_over(handed_over: list[int]) -> None:
    bound = tilt.bind(_rows(2_000_000))
    for _ in range(2):
        tilt.parse(FOLDED).run(x=bound)
    assert len(handed_over) == 2
