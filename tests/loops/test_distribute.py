"""Loop distribution: several loops compute what one did; dependences stay together."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.loops.trials import I, Numbers, Trial, items, same
from tiltpy.abi.signature import LANES
from tiltpy.loops.accesses import find_accesses
from tiltpy.loops.build import add, f64, i64, load, lt, number
from tiltpy.loops.distribute import distribute
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    Branch,
    Earlier,
    For,
    Prefetch,
    Splat,
    Stmt,
    Store,
    Var,
    Wide,
)
from tiltpy.loops.verify import verify_kernel
from tiltpy.types import F64

SIZE = 8 * LANES
AT = number("at")


@dataclass
class Columns:
    """A loop that adds each value of some columns to the one before."""

    trial: Trial
    loop: For
    expected: list[NDArray[np.float64]]
    results: list[Numbers]

    def run(self, most: int) -> int:
        """Run it so that each loop carries a few vectors; returns how many loops."""
        loops = distribute(self.loop, most)
        self.trial.body += loops
        verify_kernel(self.trial.kernel())
        self.trial.run()
        for result, expected in zip(self.results, self.expected, strict=True):
            assert same(result, expected)
        return len(loops)


def carried(name: str) -> Var:
    return Var(f"{name}.before", F64)


def statements(name: str, values: Array, out: Array) -> list[Stmt]:
    """The statements of a column, which carries a vector."""
    now, before = Var(name, F64), carried(name)
    total = Bin("+", now, Earlier(now, before, 1, F64), F64)
    return [
        Prefetch(values, add(AT, i64(64))),
        Assign(now, Wide(values, AT, F64)),
        Branch(lt(AT, i64(SIZE)), (Store(out, AT, total),)),
        Assign(before, now),
    ]


def columns(count: int, *more: Stmt) -> Columns:
    """Columns whose statements take turns, with more behind them."""
    trial = Trial()
    expected, results, bodies = [], [], []
    for k in range(count):
        values = items(F64, SIZE, seed=k)
        out, result = trial.writes(F64, SIZE)
        bodies.append(statements(f"x{k}", trial.reads(F64, values), out))
        trial.body.append(Assign(carried(f"x{k}"), Splat(f64(0.0), F64)))
        expected.append(values + np.concatenate([[0.0], values[:-1]]))
        results.append(result)
    turns = [statement for row in zip(*bodies, strict=True) for statement in row]
    body = (Assign(AT, add(I, i64(0))), *turns, *more)
    loop = For(I, i64(0), i64(SIZE), body, LANES)
    return Columns(trial, loop, expected, results)


@pytest.mark.parametrize(
    ("count", "most", "loops"),
    [(1, 0, 1), (3, 0, 3), (3, 1, 3), (3, 2, 2), (3, 3, 1), (5, 2, 3)],
)
def test_columns_have_loops_of_their_own(count: int, most: int, loops: int) -> None:
    assert columns(count).run(most) == loops


def test_what_reads_two_columns_keeps_them_together() -> None:
    total = Var("total", F64)
    both = Assign(total, Bin("+", Var("x0", F64), Var("x2", F64), F64))
    assert columns(3, both).run(1) == 2


def test_an_array_that_is_stored_to_and_read_is_one_place() -> None:
    case = columns(2)
    first, second = (
        statement.then[0].array
        for statement in case.loop.body
        if isinstance(statement, Branch) and isinstance(statement.then[0], Store)
    )
    copy = Store(second, i64(0), load(first, i64(0)))
    body = (*case.loop.body, copy)
    (loop,) = distribute(For(I, i64(0), i64(SIZE), body, LANES), 0)
    assert loop.body == body


def test_a_condition_of_what_one_column_computes_stays_with_it() -> None:
    flag = number("flag")
    case = columns(2, Assign(flag, add(flag, i64(1))))
    case.trial.body.append(Assign(flag, i64(0)))
    body = list(case.loop.body)
    for index, statement in enumerate(body):
        if isinstance(statement, Branch):
            body[index] = Branch(lt(flag, i64(SIZE)), statement.then)
    case.loop = For(I, i64(0), i64(SIZE), tuple(body), LANES)
    assert case.run(0) == 1


def test_each_array_is_prefetched_once() -> None:
    case = columns(3)
    loops = distribute(case.loop, 0)
    for loop in loops:
        reads = find_accesses(loop.body).reads
        prefetched = [s.array for s in loop.body if isinstance(s, Prefetch)]
        assert len(prefetched) == 1
        assert set(prefetched) <= reads
