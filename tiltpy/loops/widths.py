"""Widths: which variables of a kernel are wide, which means vectors of `LANES` values.

An expression with a wide operand is wide, and so is a variable that is anywhere
assigned such a value.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import assert_never

from tiltpy.loops.nodes import (
    Assign,
    Bin,
    Branch,
    CallFn,
    Choose,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    For,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    Not,
    Num,
    Pack,
    Pick,
    Pour,
    Prefetch,
    Select,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
    WriteSlot,
)


def wide_variables(body: tuple[Stmt, ...]) -> frozenset[Var]:
    """The wide variables of a kernel's body, as a fixed point over its assignments."""
    pending = list(_assignments(body))
    wide: set[Var] = set()
    while True:
        known, rest = len(wide), []
        for assignment in pending:
            if assignment.var in wide:
                continue
            if is_wide_expr(assignment.value, wide):
                wide.add(assignment.var)
            else:
                rest.append(assignment)
        if len(wide) == known:
            return frozenset(wide)
        pending = rest  # again: a loop's end assigns what its start reads


def assigned_once(body: tuple[Stmt, ...]) -> frozenset[Var]:
    """The variables that one statement alone assigns."""
    counts = Counter(assignment.var for assignment in _assignments(body))
    return frozenset(var for var, count in counts.items() if count == 1)


def is_wide_expr(expr: LExpr, variables: AbstractSet[Var]) -> bool:
    """Return whether an expression is wide, given the wide variables."""
    match expr:  # the most frequent nodes first
        case Var():
            return expr in variables
        case Bin(left=left, right=right):
            return is_wide_expr(left, variables) or is_wide_expr(right, variables)
        case Num() | Extract() | CountTrue() | LastTrue():
            return False
        case Load(index=operand) | Not(operand=operand) | Convert(operand=operand):
            return is_wide_expr(operand, variables)
        case Wide() | Lane() | Lanes() | Splat() | FromLanes():
            return True
        case Earlier() | Pick() | Fill():
            return True
        case Select():
            operands = (expr.condition, expr.then, expr.otherwise)
            return any(is_wide_expr(each, variables) for each in operands)
        case CallFn(arguments=arguments):
            return any(is_wide_expr(argument, variables) for argument in arguments)
        case _:
            assert_never(expr)


def _assignments(body: tuple[Stmt, ...]) -> Iterator[Assign]:
    for statement in body:
        match statement:
            case Assign():
                yield statement
            case While(body=inner, head=head):
                yield from _assignments(head)
                yield from _assignments(inner)
            case For(body=inner):
                yield from _assignments(inner)
            case Branch(then=then, otherwise=otherwise):
                yield from _assignments(then)
                yield from _assignments(otherwise)
            case Store() | Prefetch() | Pack() | Choose() | Pour() | WriteSlot():
                pass
            case _:
                assert_never(statement)
