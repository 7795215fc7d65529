"""Constructors of loop IR: long sequences of terms stay shallow, and mean the same."""

from collections.abc import Callable

import pytest

from tiltpy.loops.build import conj, disj, greatest, least, number
from tiltpy.loops.nodes import Bin, CallFn, LExpr, Var
from tiltpy.types import BOOL


def depth(expr: LExpr) -> int:
    match expr:
        case Bin(left=left, right=right):
            return 1 + max(depth(left), depth(right))
        case CallFn(arguments=arguments):
            return 1 + max(map(depth, arguments))
        case _:
            return 0


def names(expr: LExpr) -> list[str]:
    match expr:
        case Bin(left=left, right=right):
            return names(left) + names(right)
        case CallFn(arguments=arguments):
            return [name for argument in arguments for name in names(argument)]
        case Var(name=name):
            return [name]
        case _:
            raise AssertionError


@pytest.mark.parametrize("join", [conj, disj, least, greatest])
def test_many_terms_are_a_shallow_tree(join: Callable[..., LExpr]) -> None:
    is_bool = join in (conj, disj)
    terms = [Var(f"v{n}", BOOL) if is_bool else number(f"v{n}") for n in range(2000)]
    for count in (1, 2, 8, 9, 2000):
        joined = join(*terms[:count])
        assert names(joined) == [f"v{n}" for n in range(count)]
        assert depth(joined) <= 16
