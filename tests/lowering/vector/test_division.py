"""Dividing all lanes by one number gives what a division gives, to the last bit."""

from collections.abc import Iterator
from math import inf, nan

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.loops.trials import I, Trial, same
from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.module import emit_module
from tiltpy.loops.build import add, i64, load, mul
from tiltpy.loops.nodes import Assign, Bin, For, Num, Store, Var, Wide
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.types import F32, F64, I64, Scalar

Floats = NDArray[np.generic]
BOTH = pytest.mark.parametrize("scalar", [F32, F64], ids=str)


@pytest.fixture
def trial() -> Iterator[Trial]:
    found = Trial()
    yield found
    for fences in found.fences.values():
        fences.open()


def quotients(trial: Trial, scalar: Scalar, a: Floats, b: Floats) -> Floats:
    """Each of `a` divided by each of `b`."""
    dividends, divisors = trial.reads(scalar, a), trial.reads(scalar, b)
    output, found = trial.writes(scalar, a.size * b.size)
    number, one = Var("j", I64), Var("one", scalar)
    quotient = Bin("/", Wide(dividends, I, scalar), one, scalar)
    to = add(mul(number, i64(a.size)), I)
    inner = For(I, i64(0), i64(a.size), (Store(output, to, quotient),), LANES)
    body = (Assign(one, load(divisors, number)), inner)
    trial.body.append(For(number, i64(0), i64(b.size), body, 1))
    trial.run()
    return found.reshape(b.size, a.size)


def expected(a: Floats, b: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.divide(a[None, :], b[:, None])


def mantissas(
    draws: np.random.Generator, count: int, kind: np.dtype[np.generic]
) -> NDArray[np.generic]:
    """Numbers between 1 and 2, many of them with bits that round badly."""
    unit = 2.0**-23 if kind == np.float32 else 2.0**-52
    near = np.arange(count // 8) * unit
    few = draws.integers(1, 2**10, count // 4) / 2**10
    found = [1 + near, 2 - unit - near, 1 + few, 1 + draws.random(count)]
    return np.concatenate(found)[:count].astype(kind)


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_every_quotient_is_the_nearest_one(
    scalar: Scalar, seed: int, trial: Trial
) -> None:
    draws, kind = np.random.default_rng(seed), dtype_of(scalar)
    a = mantissas(draws, 3200, kind) * draws.choice([1, -1], 3200).astype(kind)
    sizes = np.exp2(draws.integers(-50, 50, a.size)).astype(kind)
    sizes.reshape(-1, LANES)[::2] = 1
    a = a * sizes
    b = mantissas(draws, 500, kind) * np.exp2(draws.integers(-50, 50, 500)).astype(kind)
    assert same(quotients(trial, scalar, a, b), expected(a, b))


@BOTH
def test_numbers_at_the_ends_and_beyond(scalar: Scalar, trial: Trial) -> None:
    info = np.finfo(np.float32 if scalar == F32 else np.float64)
    least, most = float(info.smallest_subnormal), float(info.max)
    edges = [0.0, least, float(info.tiny), most, inf, 1.0, 3.0, 1e-30]
    safe = [float(np.exp2(power)) for power in (-61, -60, -59, 59, 60, 61)]
    values = [sign * x for x in (*edges, *safe, 1e30, 7.0) for sign in (1.0, -1.0)]
    values.append(nan)
    # Alone in a vector of common numbers, and all in one.
    alone = [[value, *([1.5] * (LANES - 1))] for value in values]
    together = np.resize(np.array(values), -(-len(values) // LANES) * LANES)
    a = np.concatenate([np.array(alone).ravel(), together]).astype(info.dtype)
    b = np.array(values, info.dtype)
    assert same(quotients(trial, scalar, a, b), expected(a, b))


@BOTH
def test_constants(scalar: Scalar, trial: Trial) -> None:
    draws, kind = np.random.default_rng(9), dtype_of(scalar)
    a = mantissas(draws, 1600, kind)
    array = trial.reads(scalar, a)
    made = []
    for constant in (10.0, 3.0, 0.1, -7.5, 1e300 if scalar == F64 else 1e38, inf, 0.0):
        output, found = trial.writes(scalar, a.size)
        quotient = Bin("/", Wide(array, I, scalar), Num(constant, scalar), scalar)
        trial.loop(a.size, Store(output, I, quotient), step=LANES)
        made.append((found, expected(a, np.array([constant], kind))[0]))
    trial.run()
    assert all(same(found, meant) for found, meant in made)


@BOTH
def test_machines_that_cannot_fuse_divide(scalar: Scalar, trial: Trial) -> None:
    quotients(
        trial, scalar, np.ones(LANES, dtype_of(scalar)), np.ones(1, dtype_of(scalar))
    )
    kernel = trial.kernel()
    assert "llvm.fma" in emit_module(kernel)
    assert "llvm.fma" not in emit_module(kernel, fuses=False)
