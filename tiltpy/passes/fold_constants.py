"""Fold constants: compute what is known, and see through what hides it.

Before:

    ~o[t] = { k = 2 * 3
              return (k > 5 && ~m[t] != φ) ? ~m[t] * 1 : φ }

After:

    ~o[t] = ~m[t] != φ ? ~m[t] : φ

Values are those a kernel would compute, to the bit; `x + 0.0` stays (it makes `-0.0` of
`+0.0`) and so does `x * 0` (it is φ where `x` is). Fields of struct literals, names of
constants and of structs, and branches of known conditions fold too. References that are
folded away still cut: the cuts of a definition say so on their own.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.ir.cuts import expressions, map_definition
from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
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
    Query,
    Reduce,
    StringCall,
    TemporalExpr,
    Unary,
    UserReduction,
)
from tiltpy.ir.reductions import END, NEWER, OLDER, START, STATE, map_clauses
from tiltpy.ir.traversal import children, depth, walk, with_children
from tiltpy.lean_dataclass import dataclass
from tiltpy.limits import MAX_DEPTH
from tiltpy.passes.analyses.constants import Operation, fold_operation
from tiltpy.passes.analyses.strictness import never_phi
from tiltpy.passes.analyses.substitution import (
    Names,
    access,
    bind,
    is_atom,
    presence,
    wrap,
)
from tiltpy.types import BOOL, Struct

MAX_PATTERN = 32
"""Nodes that may be repeated for each use of a named struct."""


def fold_constants(query: Query) -> Query:
    """Compute every constant subexpression of a query."""
    definitions = tuple(_fold_definition(each) for each in query.definitions)
    reductions = tuple(_fold_reduction(each) for each in query.reductions)
    return replace(query, definitions=definitions, reductions=reductions)


def _fold_reduction(reduction: UserReduction) -> UserReduction:
    seen = {STATE, START, END, OLDER, NEWER, reduction.parameter}

    def rule(clause: Expr) -> Expr:
        folder = _ConstantFolder(Names(seen | Names.of(clause).taken))
        folded = folder.fold(clause, {})
        return folded if depth(folded) <= MAX_DEPTH else clause

    return map_clauses(reduction, rule)


def _fold_definition(definition: TemporalExpr) -> TemporalExpr:
    folded = map_definition(definition, _fold_body)
    shallow = all(depth(expr) <= MAX_DEPTH for expr in expressions(folded))
    return folded if shallow else definition


def _fold_body(body: Expr) -> Expr:
    return _ConstantFolder(Names.of(body)).fold(body, {})


@dataclass(frozen=True, slots=True)
class _ConstantFolder:
    names: Names

    def fold(self, expr: Expr, known: Mapping[str, Expr]) -> Expr:
        match expr:
            case Local():
                return known.get(expr.name, expr)
            case Let():
                return self.fold_let(expr, known)
            case Reduce():
                # Alone, so that the element stays equal to that of its cut.
                return replace(expr, element=_fold_body(expr.element))
            case _:
                new = tuple(self.fold(child, known) for child in children(expr))
                return _simplify(with_children(expr, new))

    def fold_let(self, expr: Let, known: Mapping[str, Expr]) -> Expr:
        """Replace the name of a constant by the constant, of a struct by its fields."""
        value = self.fold(expr.value, known)
        if is_atom(value):
            return self.fold(expr.body, {**known, expr.name: value})
        if isinstance(value.type, Struct):
            bindings, pattern = bind(value, expr.name, self.names)
            if sum(1 for _ in walk(pattern)) <= MAX_PATTERN:
                body = self.fold(expr.body, {**known, expr.name: pattern})
                return wrap(bindings, body)
        body = self.fold(expr.body, known)
        return replace(expr, value=value, body=body)


def _simplify(expr: Expr) -> Expr:
    """Simplify a node over folded operands."""
    operands = children(expr)
    constants = tuple(each for each in operands if isinstance(each, Const))
    if isinstance(expr, Operation) and len(constants) == len(operands):
        return fold_operation(expr, constants)
    match expr:
        case Unary() | Binary(
            op="+" | "-" | "*" | "/" | "//" | "%"
            | "==" | "!=" | "<" | "<=" | ">" | ">="
        ) | Cast() | Call() | In() | MatchString() | StringCall() | DateComponent(
        ) if _has_phi(expr):  # fmt: skip
            return Phi(expr.type, expr.span)
        case Unary(op="!", operand=Unary(op="!", operand=inner)):
            return inner
        case Cast() if expr.operand.type == expr.type:
            return expr.operand
        case Binary(op="&&" | "||"):
            return _fold_logical(expr)
        case Binary():
            return _fold_identity(expr)
        case If():
            return _fold_if(expr)
        case Exists():
            return _fold_exists(expr)
        case Field():
            return access(expr)
        case _:
            return expr


def _has_phi(expr: Expr) -> bool:
    return any(isinstance(child, Phi) for child in children(expr))


def _fold_logical(expr: Binary) -> Expr:
    decisive = expr.op == "||"
    for this, other in ((expr.left, expr.right), (expr.right, expr.left)):
        if isinstance(this, Const):
            return this if this.value is decisive else other
    if isinstance(expr.left, Phi) and isinstance(expr.right, Phi):
        return Phi(BOOL, expr.span)
    return expr


def _fold_identity(expr: Binary) -> Expr:
    """Drop an operation that changes nothing, not even a sign of zero."""
    left, right = expr.left, expr.right
    whole = expr.type.is_integer
    if isinstance(right, Const):
        value = right.value
        if value == 1 and expr.op in ("*", "/"):
            return left
        if value == 1 and whole and expr.op == "//":
            return left
        if value == 0 and whole and expr.op in ("+", "-"):
            return left
    if isinstance(left, Const):
        if left.value == 1 and expr.op == "*":
            return right
        if left.value == 0 and whole and expr.op == "+":
            return right
    return expr


def _fold_if(expr: If) -> Expr:
    match expr.condition:
        case Const(value=value):
            return expr.then if value else expr.otherwise
        case Phi():
            return Phi(expr.type, expr.span)
        case Unary(op="!", operand=operand):
            return _fold_if(If(operand, expr.otherwise, expr.then, expr.span))
    match expr.then, expr.otherwise:
        case Phi(), Phi():
            return expr.then
        case Const(value=True), Const(value=False) if expr.type == BOOL:
            return expr.condition
    return expr


def _fold_exists(expr: Exists) -> Expr:
    operand = expr.operand
    if isinstance(operand, Phi):
        return Const(False, BOOL, expr.span)
    if never_phi(operand):
        return Const(True, BOOL, expr.span)
    if isinstance(operand.type, Struct) and _has_literal(operand):
        return Exists(presence(operand), BOOL, expr.span)
    return expr


def _has_literal(expr: Expr) -> bool:
    """Tell whether a struct literal is among the branches."""
    if isinstance(expr, If):
        return _has_literal(expr.then) or _has_literal(expr.otherwise)
    return isinstance(expr, MakeStruct)
