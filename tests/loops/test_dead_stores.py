"""Dead store elimination: what nobody reads is not written; all else is."""

from tests.loops.trials import I, Trial, items
from tiltpy.abi.signature import LANES
from tiltpy.loops.build import TRUE, i64, load, lt
from tiltpy.loops.dead_stores import drop_dead_stores
from tiltpy.loops.nodes import (
    Array,
    Branch,
    Choose,
    For,
    Pack,
    Pour,
    Prefetch,
    Stmt,
    Store,
    Wide,
)
from tiltpy.loops.verify import verify_kernel
from tiltpy.types import F64

SIZE = 2 * LANES


def arrays(count: int) -> tuple[Trial, list[Array]]:
    """A trial with one array to read, and more to write."""
    trial = Trial()
    source = trial.reads(F64, items(F64, SIZE))
    return trial, [source, *(trial.writes(F64, SIZE)[0] for _ in range(count))]


def copy(target: Array, source: Array) -> Store:
    return Store(target, I, load(source, I))


def loop(*body: Stmt) -> For:
    return For(I, i64(0), i64(SIZE), body)


def test_only_private_arrays_that_nobody_reads_are_dead() -> None:
    trial, (source, first, second, result) = arrays(3)
    body = (loop(copy(first, source), copy(second, source), copy(result, first)),)
    kept = (loop(copy(first, source), copy(result, first)),)
    assert drop_dead_stores(body, [first, second]) == kept
    trial.body += kept
    verify_kernel(trial.kernel())


def test_every_statement_that_writes_a_dead_array_is_dropped() -> None:
    _, (source, dead, result) = arrays(2)
    wide = Wide(source, i64(0), F64)
    writes = (
        Store(dead, i64(0), wide),
        Pack(dead, i64(0), wide, TRUE),
        Pour(dead, i64(0), source, i64(LANES)),
        Prefetch(dead, i64(0)),
    )
    assert drop_dead_stores((*writes, copy(result, source)), [dead]) == (
        copy(result, source),
    )


def test_a_branch_that_does_nothing_else_goes_too() -> None:
    _, (source, dead, result) = arrays(2)
    alone = Branch(lt(I, i64(1)), (copy(dead, source),))
    beside = Branch(lt(I, i64(1)), (copy(dead, source),), (copy(result, source),))
    assert drop_dead_stores((loop(alone, beside),), [dead]) == (
        loop(Branch(lt(I, i64(1)), (), (copy(result, source),))),
    )


def test_a_loop_that_does_nothing_else_goes_too() -> None:
    _, (source, dead, result) = arrays(2)
    beside = loop(copy(result, source))
    assert drop_dead_stores((loop(copy(dead, source)), beside), [dead]) == (beside,)


def test_an_array_that_may_be_chosen_lives() -> None:
    _, (source, buffer, target, result) = arrays(3)
    either = Array("either", F64, -1, written=True)
    body = (
        Choose(either, TRUE, buffer, target),
        copy(either, source),
        copy(result, buffer),
    )
    assert drop_dead_stores(body, [buffer, target]) == body
