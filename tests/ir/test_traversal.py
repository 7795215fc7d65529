"""Subexpressions: the traversal knows every field that holds one."""

from dataclasses import fields
from typing import get_args

import pytest

from tiltpy.ir import nodes, traversal
from tiltpy.ir.nodes import Expr
from tiltpy.types import F64

KINDS: list[type[Expr]] = list(get_args(Expr))


@pytest.mark.parametrize("kind", KINDS)
def test_the_subexpressions_are_the_fields_that_are_expressions(
    kind: type[Expr],
) -> None:
    annotations = {field.name: str(field.type) for field in fields(kind)}
    listed = [
        name
        for name, annotation in annotations.items()
        if annotation.startswith("tuple") and "Expr" in annotation
    ]
    single = [name for name, annotation in annotations.items() if annotation == "Expr"]
    if listed:
        assert [traversal._OPERAND_LISTS[kind]] == listed
        assert not single
    else:
        assert list(traversal._OPERANDS[kind]) == single


def test_replaced_subexpressions_are_those_that_are_read() -> None:
    one, two = nodes.Local("one", F64), nodes.Local("two", F64)
    pair = nodes.Binary("+", one, two, F64)
    assert traversal.children(pair) == (one, two)
    assert traversal.with_children(pair, (one, two)) is pair
    assert traversal.children(traversal.with_children(pair, (two, one))) == (two, one)
    call = nodes.Call("min", (one, two), F64)
    assert traversal.children(traversal.with_children(call, (two, two))) == (two, two)
    negated = nodes.Unary("-", one, F64)
    assert traversal.children(traversal.with_children(negated, (two,))) == (two,)
