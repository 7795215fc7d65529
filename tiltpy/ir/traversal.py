"""Traversal and rewriting of expressions: every node's children are listed here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter, is_
from typing import Any, assert_never

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    InlinedCut,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    StringCall,
    Time,
    Unary,
)

_OPERANDS: Mapping[type[Expr], tuple[str, ...]] = {
    Const: (),
    Phi: (),
    Time: (),
    At: (),
    EventBound: (),
    Element: (),
    ElementStart: (),
    Local: (),
    Reduce: ("element",),
    Let: ("value", "body"),
    Unary: ("operand",),
    Binary: ("left", "right"),
    If: ("condition", "then", "otherwise"),
    Exists: ("operand",),
    Cast: ("operand",),
    In: ("operand",),
    MatchString: ("operand",),
    DateComponent: ("operand",),
    Field: ("operand",),
}
"""The fields of each kind of node that are subexpressions, in order of evaluation."""

_OPERAND_LISTS: Mapping[type[Expr], str] = {
    Call: "arguments",
    StringCall: "operands",
    MakeStruct: "fields",
}
"""The field that lists the subexpressions of a kind that may have any number."""


def _getter(names: tuple[str, ...]) -> Callable[[Expr], tuple[Expr, ...]]:
    """Make what reads the subexpressions of a node from its fields."""
    match names:
        case ():
            return lambda _: ()
        case (name,):
            read_one: Callable[[Expr], Expr] = attrgetter(name)
            return lambda node: (read_one(node),)
        case _:
            read: Callable[[Expr], tuple[Expr, ...]] = attrgetter(*names)
            return read


# Matching patterns in `children` took a tenth of the time of compiling.
_CHILDREN: Mapping[type[Expr], Callable[[Expr], tuple[Expr, ...]]] = {
    **{kind: _getter(names) for kind, names in _OPERANDS.items()},
    **{kind: attrgetter(name) for kind, name in _OPERAND_LISTS.items()},
}


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions, in order of evaluation."""
    return _CHILDREN[type(expr)](expr)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """Replace a node's subexpressions; return the node itself if none has changed."""
    old = children(expr)
    assert len(old) == len(new)
    if all(map(is_, old, new)):
        return expr
    listed = _OPERAND_LISTS.get(type(expr))
    changed: dict[str, Any] = (
        dict(zip(_OPERANDS[type(expr)], new, strict=True))
        if listed is None
        else {listed: new}
    )
    return replace(expr, **changed)


def rewrite(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Apply a rule to every node, subexpressions first."""
    new = tuple(rewrite(child, rule) for child in children(expr))
    return rule(with_children(expr, new))


def rewrite_element(element: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Apply a rule to every node of an element, but not to those of other windows."""
    if isinstance(element, Reduce):
        return element
    new = tuple(rewrite_element(child, rule) for child in children(element))
    return rule(with_children(element, new))


def sees_present(element: Expr) -> bool:
    """Tell whether an element refers to more than its snapshot: to what is at `t`."""
    present = At | EventBound | Time | Reduce
    return any(isinstance(node, present) for node in walk(element))


def sees_more(fold: Reduce | CutWindow) -> bool:
    """Tell whether a fold of a window sees more than the values that move with it.

    That is the present, or where an open window, or one by row, cuts its snapshots.
    """
    moves_on = fold.window.is_fixed and not fold.window.by_row
    return (fold.bounds and not moves_on) or sees_present(fold.element)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every node, each before its subexpressions."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def shift(expr: Expr, ticks: int) -> Expr:
    """Shift an expression to `t + ticks`."""

    def rule(node: Expr) -> Expr:
        match node:
            case At(row=True) | EventBound(row=True):
                raise AssertionError("a row has no other time")
            case At() | EventBound() | Time():
                return replace(node, offset=node.offset + ticks)
            case Reduce(window=window):
                return replace(node, window=window.shift_by(ticks))
            case _:
                return node

    return rewrite(expr, rule) if ticks else expr


def shift_cut(cut: Cut, ticks: int) -> Cut:
    """Shift a cut to `t + ticks`."""
    match cut:
        case CutPoint():
            return replace(cut, offset=cut.offset + ticks)
        case CutWindow(window=window):
            element = shift(cut.element, ticks) if ticks else cut.element
            return replace(cut, window=window.shift_by(ticks), element=element)
        case CutTime():
            return cut
        case InlinedCut():
            inner = tuple(shift_cut(c, ticks) for c in cut.cuts)
            return InlinedCut(shift(cut.value, ticks), inner)
        case _:
            assert_never(cut)


def source_cuts(body: Expr) -> tuple[Cut, ...]:
    """Collect the cuts of a source body: its references, each once, in order.

    What a `Let` binds counts only if it is used on the way to the result.
    """
    cuts: dict[Cut, None] = {}
    for node in walk(drop_unused(body)):
        match node:
            case At() | EventBound():
                cuts.setdefault(node.point)
            case Time():
                cuts.setdefault(CutTime())
            case Reduce():
                cuts.setdefault(CutWindow(node.window, node.element, node.bounds))
            case _:
                pass
    return tuple(cuts)


def drop_unused(expr: Expr) -> Expr:
    """Drop the bindings that an expression's result does not need."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Let) and node.name not in names(node.body):
            return node.body
        return node

    return rewrite(expr, rule)


def names(expr: Expr) -> set[str]:
    """Collect the names of the locals that an expression uses."""
    return {node.name for node in walk(expr) if isinstance(node, Local)}


def depth(expr: Expr) -> int:
    """Measure the longest path from the expression to a leaf, in nodes."""
    deepest, stack = 0, [(expr, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(node))
    return deepest
