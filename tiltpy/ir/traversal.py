"""Walking and rewriting expressions: the one place that knows every node's children."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutInlined,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    Time,
    Unary,
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in order of evaluation."""
    match expr:
        case Const() | Phi() | Time() | At() | EventBound() | Element() | Local():
            return ()
        case Reduce():
            return (expr.element,)
        case Let():
            return (expr.value, expr.body)
        case Unary() | Exists() | Cast() | Field() | In() | MatchString():
            return (expr.operand,)
        case Binary():
            return (expr.left, expr.right)
        case If():
            return (expr.condition, expr.then, expr.otherwise)
        case Call():
            return expr.arguments
        case MakeStruct():
            return expr.fields
        case _:
            assert_never(expr)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same node over other subexpressions; itself if they are the same objects."""
    old = children(expr)
    assert len(old) == len(new)
    if all(a is b for a, b in zip(old, new, strict=True)):
        return expr
    match expr:
        case Reduce():
            return replace(expr, element=new[0])
        case Let():
            return replace(expr, value=new[0], body=new[1])
        case Unary() | Exists() | Cast() | Field() | In() | MatchString():
            return replace(expr, operand=new[0])
        case Binary():
            return replace(expr, left=new[0], right=new[1])
        case If():
            return replace(expr, condition=new[0], then=new[1], otherwise=new[2])
        case Call():
            return replace(expr, arguments=new)
        case MakeStruct():
            return replace(expr, fields=new)
        case _:
            raise AssertionError(f"{type(expr).__name__} has no subexpressions")


def rewrite(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Apply a rule to every node, subexpressions first."""
    new = tuple(rewrite(child, rule) for child in children(expr))
    return rule(with_children(expr, new))


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, each before its subexpressions."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def shift(expr: Expr, ticks: int) -> Expr:
    """The expression as seen from `t + ticks`."""

    def rule(node: Expr) -> Expr:
        match node:
            case At() | EventBound() | Time():
                return replace(node, offset=node.offset + ticks)
            case Reduce(window=window):
                moved = replace(
                    window, start=window.start + ticks, end=window.end + ticks
                )
                return replace(node, window=moved)
            case _:
                return node

    return rewrite(expr, rule) if ticks else expr


def shift_cut(cut: Cut, ticks: int) -> Cut:
    """The cut as seen from `t + ticks`."""
    match cut:
        case CutPoint():
            return replace(cut, offset=cut.offset + ticks)
        case CutWindow(window=window):
            moved = replace(window, start=window.start + ticks, end=window.end + ticks)
            return replace(cut, window=moved)
        case CutTime():
            return cut
        case CutInlined():
            inner = tuple(shift_cut(c, ticks) for c in cut.cuts)
            return CutInlined(shift(cut.value, ticks), inner)
        case _:
            assert_never(cut)


def source_cuts(body: Expr) -> tuple[Cut, ...]:
    """The cuts of a body as it was written: its references, each once, in order.

    What a `Let` binds counts only if it is used on the way to the result.
    """
    cuts: dict[Cut, None] = {}
    for node in walk(drop_unused(body)):
        match node:
            case At() | EventBound():
                cuts.setdefault(CutPoint(node.object, node.offset))
            case Time():
                cuts.setdefault(CutTime())
            case Reduce():
                cuts.setdefault(CutWindow(node.window, node.element, node.bounds))
            case _:
                pass
    return tuple(cuts)


def drop_unused(expr: Expr) -> Expr:
    """The expression without the bindings that its result does not need."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Let) and node.name not in names(node.body):
            return node.body
        return node

    return rewrite(expr, rule)


def names(expr: Expr) -> set[str]:
    """The names of the locals that an expression uses."""
    return {node.name for node in walk(expr) if isinstance(node, Local)}


def depth(expr: Expr) -> int:
    """The longest way from the expression to a leaf, in nodes."""
    deepest, stack = 0, [(expr, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(node))
    return deepest
