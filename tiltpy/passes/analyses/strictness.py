"""References that an expression is strict in: where they are φ, it is φ.

`a + 1` is strict in `a`; `a != φ ? a : 0` is not; `a != φ && b != φ ? a + b : φ` is
strict in both, since its condition is then not true. Fusion asks this to know which
cuts an inlined object leaves behind (see `fuse_operators`).
"""

from collections.abc import Mapping
from typing import assert_never

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    CutPoint,
    DateComponent,
    Element,
    ElementStart,
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
    StringCall,
    Time,
    Unary,
)
from tiltpy.ir.traversal import children, walk
from tiltpy.lean_dataclass import dataclass

References = frozenset[CutPoint]
NONE: References = frozenset()


@dataclass(frozen=True, slots=True)
class Strictness:
    """For each outcome, the references whose φ alone rules the others out.

    `phi`: the result is φ; `not_true`: a bool result is φ or false; `not_false`: it is
    φ or true.
    """

    phi: References
    not_true: References
    not_false: References


def strict_in(expr: Expr) -> References:
    """Find the point references that are φ only where the expression is φ too."""
    everything = frozenset(
        node.point for node in walk(expr) if isinstance(node, At | EventBound)
    )
    return _analyse(expr, {}, everything).phi


def never_phi(expr: Expr, locals: Mapping[str, bool] | None = None) -> bool:
    """Tell whether an expression surely has a value at every time."""
    known = locals or {}
    match expr:
        case Const() | Time() | Exists() | MakeStruct():
            return True
        case Element() | ElementStart():
            return True
        case Phi() | At() | EventBound() | Field():
            return False
        case Reduce():
            return expr.reduction == "count"
        case Local():
            return known.get(expr.name, False)
        case Let():
            inner = {**known, expr.name: never_phi(expr.value, known)}
            return never_phi(expr.body, inner)
        case Binary(op="//" | "%") if expr.type.is_integer:
            return False
        case StringCall() if expr.is_partial:
            return False
        case (
            Unary() | Binary() | Cast() | Call()
            | In() | MatchString() | StringCall() | DateComponent() | If()
        ):  # fmt: skip
            return all(never_phi(child, known) for child in children(expr))
        case _:
            assert_never(expr)


def _same(phi: References) -> Strictness:
    return Strictness(phi, phi, phi)


def _analyse(
    expr: Expr, locals: Mapping[str, Strictness], everything: References
) -> Strictness:
    def of(child: Expr) -> Strictness:
        return _analyse(child, locals, everything)

    match expr:
        case Phi():
            return _same(everything)
        case Const(value=value):
            true, false = value is True, value is False
            return Strictness(
                NONE, everything if false else NONE, everything if true else NONE
            )
        case At() | EventBound():
            return _same(frozenset({expr.point}))
        case Time() | Element() | ElementStart() | Reduce() | MakeStruct():
            return _same(NONE)
        case Local():
            return locals.get(expr.name, _same(NONE))
        case Let():
            inner = {**locals, expr.name: of(expr.value)}
            return _analyse(expr.body, inner, everything)
        case Unary(op="!"):
            operand = of(expr.operand)
            return Strictness(operand.phi, operand.not_false, operand.not_true)
        case Binary(op="&&" | "||"):
            return _logical(expr, of(expr.left), of(expr.right))
        case If():
            return _conditional(of(expr.condition), of(expr.then), of(expr.otherwise))
        case Exists():
            return Strictness(NONE, of(expr.operand).phi, NONE)
        case Field(operand=MakeStruct() as struct):
            names = [name for name, _ in struct.type.fields]
            return of(struct.fields[names.index(expr.name)])
        case (
            Unary() | Binary() | Cast() | Call()
            | In() | MatchString() | StringCall() | DateComponent() | Field()
        ):  # fmt: skip
            return _same(NONE.union(*(of(child).phi for child in children(expr))))
        case _:
            assert_never(expr)


def _logical(expr: Binary, left: Strictness, right: Strictness) -> Strictness:
    phi = left.phi & right.phi  # false decides `&&` and true `||`, φ or not
    if expr.op == "&&":
        not_true = left.not_true | right.not_true
        return Strictness(phi, not_true, left.not_false & right.not_false)
    not_false = left.not_false | right.not_false
    return Strictness(phi, left.not_true & right.not_true, not_false)


def _conditional(
    condition: Strictness, then: Strictness, otherwise: Strictness
) -> Strictness:
    def outcome(then: References, otherwise: References) -> References:
        # The condition is φ, or decides for a branch with this outcome, or both have.
        return (
            condition.phi
            | (then & otherwise)
            | (condition.not_true & otherwise)
            | (condition.not_false & then)
        )

    return Strictness(
        outcome(then.phi, otherwise.phi),
        outcome(then.not_true, otherwise.not_true),
        outcome(then.not_false, otherwise.not_false),
    )
