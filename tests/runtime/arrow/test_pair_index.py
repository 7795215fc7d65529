"""An index of pairs: each pair has its number, and the numbers are few."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.semantics.test_strings import at
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrow.pair_index import PairIndex, index_pairs

COUNT = 20_000


def drawn(kind: str) -> tuple[I64Array, I64Array]:
    """Pairs, each once: of which some, and how often each code stands in one."""
    random = np.random.default_rng(7)
    match kind:
        case "all":
            pairs = np.arange(COUNT)
            left, right = pairs // 100, pairs % 100
        case "one of each":
            left, right = np.arange(COUNT), random.permutation(COUNT)
        case "some of each":
            left, right = random.integers(0, COUNT // 8, (2, COUNT))
        case "a few often":
            left, right = (random.zipf(1.3, (2, COUNT)) % COUNT).astype(np.int64)
        case _:
            left, right = random.integers(0, COUNT, COUNT), np.zeros(COUNT, np.int64)
    pairs = np.unique(left.astype(np.int64) * COUNT + right)
    return pairs // COUNT * 3, pairs % COUNT


def check(pairs: PairIndex, left: I64Array, right: I64Array) -> None:
    """Any sum is within the table, and no two pairs have the same."""
    summands = [
        dict(zip(*map(np.ndarray.tolist, side), strict=True)) for side in pairs.sides
    ]
    sums = [
        summands[0][a] + summands[1][b]
        for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]
    assert sums == pairs.index.tolist()
    assert len(set(sums)) == len(sums)
    assert min(min(summand.values()) for summand in summands) >= 0
    assert sum(max(summand.values()) for summand in summands) < pairs.size


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("all", 1.01),
        ("one of each", 6),
        ("some of each", 9),
        ("a few often", 100),
        ("one for all", 2),
    ],
)
def test_no_two_pairs_meet(kind: str, cells: float) -> None:
    left, right = drawn(kind)
    pairs = index_pairs(left, right, 2**31)
    assert pairs is not None
    assert pairs.size <= cells * len(left)
    check(pairs, left, right)


def test_too_many_are_none() -> None:
    assert index_pairs(*drawn("some of each"), COUNT) is None


def test_long_keys_of_two_fields() -> None:
    """Each string meets few others: 10^10 pairs there might be, and 10^5 there are."""
    count = 100_000
    users = [f"user {n}" for n in range(count)]
    pages = [f"/page/{n * 7919 % count}" for n in range(count)]
    query = tilt.parse(
        "input x : { a: string, b: string } point\n"
        '~o[t] = concat(~x[t].a, "@", ~x[t].b)'
    )
    times = range(1, count + 1)
    table = pa.table({"time": times, "a": users, "b": pages})
    made = [f"{user}@{page}" for user, page in zip(users, pages, strict=True)]
    assert at(query.run(x=table)["o"], times) == made
