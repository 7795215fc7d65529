"""Derive merges: reductions that only count and add up integers can combine states.

Before:

    reduction total(v: i64) {
        init = { sum = 0, rows = 0 }
        acc = { sum = state.sum + v, rows = v > 0 ? state.rows + 1 : state.rows }
        result = state.sum // state.rows
    }

After, also:

        merge = { sum = a.sum + b.sum, rows = a.rows + b.rows }

Integers wrap, so that no order of additions changes a bit. A field is a total if `acc`
adds something to it that no state decides, on every path.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from tiltpy.ir.nodes import (
    Binary,
    Const,
    Expr,
    Field,
    If,
    Let,
    Local,
    MakeStruct,
    Query,
    UserReduction,
)
from tiltpy.ir.reductions import NEWER, OLDER, STATE
from tiltpy.ir.traversal import walk
from tiltpy.types import Scalar, Struct, Type


class Origin(Enum):
    """The operands that an expression is made of."""

    ROW = "the row"
    TOTAL = "a field of the state, plus something of the row"
    OTHER = "the state in another way"


Names = Mapping[str, Origin]
"""What the names of a clause are made of."""
Bindings = tuple[tuple[str, Expr], ...]
"""The names around an expression, the outermost first."""


def derive_merges(query: Query) -> Query:
    """Give reductions without `merge` one, where their state consists of totals."""
    reductions = tuple(_with_merge(reduction) for reduction in query.reductions)
    return replace(query, reductions=reductions)


def _with_merge(reduction: UserReduction) -> UserReduction:
    if reduction.merge is not None or reduction.bounds:
        return reduction
    merge = _merge(reduction.init, reduction.acc, ())
    return reduction if merge is None else replace(reduction, merge=merge)


def _merge(init: Expr, acc: Expr, bindings: Bindings) -> Expr | None:
    """Make the merge of states; None where they are no totals."""
    match init, acc:
        case _, Let():
            return _merge(init, acc.body, (*bindings, (acc.name, acc.value)))
        case MakeStruct(), MakeStruct():
            state: Struct = init.type
            fields = tuple(
                _merge_field(first, following, bindings, state, name)
                for first, following, (name, _) in zip(
                    init.fields, acc.fields, state.fields, strict=True
                )
            )
            totals = tuple(field for field in fields if field is not None)
            return MakeStruct(totals, state) if len(totals) == len(fields) else None
        case Const(), _:
            return _merge_field(init, acc, bindings, init.type, None)
        case _:
            return None


def _merge_field(
    init: Expr, acc: Expr, bindings: Bindings, state: Type, name: str | None
) -> Expr | None:
    """Make the merge of a field, or of a scalar state (`name` None)."""
    scalar = init.type
    if not isinstance(init, Const) or not isinstance(scalar, Scalar):
        return None
    names: Names = {}
    for bound, value in bindings:
        names = {**names, bound: _origin(value, names, name)}
    if not scalar.is_integer or _origin(acc, names, name) is not Origin.TOTAL:
        return None

    def total_of(of: str) -> Expr:
        whole = Local(of, state)
        return whole if name is None else Field(whole, name, scalar)

    added = Binary("+", total_of(OLDER), total_of(NEWER), scalar)
    return added if init.number == 0 else Binary("-", added, init, scalar)


def _origin(expr: Expr, names: Names, field: str | None) -> Origin:
    """Tell whether an expression is a field's total so far, plus something."""
    match expr:
        case Local(name=name) if name in names:
            return names[name]
        case Local(name=name) if name == STATE:
            return Origin.TOTAL if field is None else Origin.OTHER
        case Field(operand=Local(name=name)) if name == STATE:
            return Origin.TOTAL if expr.name == field else Origin.OTHER
        case Let():
            bound = {expr.name: _origin(expr.value, names, field)}
            return _origin(expr.body, {**names, **bound}, field)
        case Binary(op="+" | "-"):
            sides = _origin(expr.left, names, field), _origin(expr.right, names, field)
            if sides == (Origin.TOTAL, Origin.ROW):
                return Origin.TOTAL
            if sides == (Origin.ROW, Origin.TOTAL) and expr.op == "+":
                return Origin.TOTAL
        case If():
            branches = {
                _origin(branch, names, field) for branch in (expr.then, expr.otherwise)
            }
            if _is_of_row(expr.condition, names) and len(branches) == 1:
                return branches.pop()
        case _:
            pass
    return Origin.ROW if _is_of_row(expr, names) else Origin.OTHER


def _is_of_row(expr: Expr, names: Names) -> bool:
    """Tell whether no state is in an expression, nor in what its names stand for."""
    others = {name for name, origin in names.items() if origin is not Origin.ROW}
    read = {node.name for node in walk(expr) if isinstance(node, Local)}
    return not read & {STATE, *others}
