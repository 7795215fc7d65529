"""Formulas over columns give the same by numpy and as a loop."""

from typing import Any

import numpy as np
import pytest

from tiltpy.runtime.execution.call_numbers import choose, least, least_since
from tiltpy.runtime.execution.column_formulas import (
    ColumnFormulas,
    Columns,
    FormulaOperand,
    Operands,
    Table,
    WholeTimes,
)
from tiltpy.types import ENDLESS

KEYS = 50


def formulas(operands: Operands) -> Operands:
    done, live, step = operands["done"], operands["live"], operands["step"]
    found = least_since(
        operands["times"], operands["begin"], operands["count"], 12 * step
    )
    is_late = (found - done > step) & live
    return {
        "done": least(done + step, found),
        "live": live | (operands["weight"] > 3),
        "found": choose(is_late, found, ENDLESS),
        "is late": is_late,
        "constant": 7,
    }


@pytest.mark.parametrize("form", ["a form", None])
def test_formulas_give_the_same_however_often(form: str | None) -> None:
    """Once by numpy, then as a loop, unless there is no form."""
    random = np.random.default_rng(1)
    compute, other = ColumnFormulas(), ColumnFormulas()
    done, live = random.integers(0, 90, KEYS), random.integers(0, 2, KEYS) > 0
    for _ in range(4):
        items = random.permutation(KEYS)[: random.integers(0, KEYS)]
        counts = random.integers(0, 4, len(items))
        edges = np.array([counts.cumsum() - counts, counts])
        places = {"begin": (False, 0), "count": (False, 1)}
        block = Columns(edges, np.zeros((0, 0), np.bool_), places)
        whole = WholeTimes(random.integers(0, 120, counts.sum()))
        weights = random.integers(0, 6, len(items))
        results: list[Any] = []
        tables = [(done, live), (done.copy(), live.copy())]
        for each, kind, (times, flags) in zip(
            (compute, other), (form, None), tables, strict=True
        ):
            operands: dict[str, FormulaOperand] = {
                "done": Table(times),
                "live": Table(flags),
                "times": whole,
                "weight": weights,
                "step": 5,
            }
            results.append(each.compute(kind, formulas, operands, items, [block]))
        for name in ("found", "is late", "constant"):
            here, there = (result[name] for result in results)
            assert here.dtype == there.dtype
            assert np.array_equal(here, there)
        for here, there in zip(*tables, strict=True):
            assert np.array_equal(here, there)
