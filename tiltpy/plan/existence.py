"""Conditions without which an expression is φ, or is not true, whatever the time is.

`~first[t] ? t : φ` needs `~first[t]`, which is one value from change to change. So a
loop over it, which has a snapshot in each cell, passes over what lies between changes
where that is not true.
"""

from itertools import islice
from typing import Literal

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Let,
    Local,
    MatchString,
    Phi,
    Reduce,
    StringCall,
    Time,
    Unary,
)
from tiltpy.ir.traversal import children, walk
from tiltpy.types import BOOL

Condition = Expr | None
"""An expression without times that must be true; None where nothing is known."""
FALSE = Const(False, BOOL)
LONGEST = 200
"""The nodes of a condition; of a longer one nothing is known."""


def exists_where(body: Expr) -> Condition:
    """Find a condition without which an expression is φ."""
    return _Conditions(body).exists(body)


def true_where(body: Expr) -> Condition:
    """Find a condition without which a bool is not true."""
    return _Conditions(body).has_outcome(body, outcome=True)


def is_of_points(condition: Expr) -> bool:
    """Decide whether it only says that what points refer to exists."""
    match condition:
        case If(condition=first, then=second):
            return is_of_points(first) and is_of_points(second)
        case Exists(operand=operand):
            return isinstance(operand, At | EventBound)
        case _:
            return False


class _Conditions:
    """Conditions of the parts of a body: of the values of names, too."""

    def __init__(self, body: Expr) -> None:
        self.values: dict[str, Expr] = {}
        self.timed: set[int] = set()
        """The nodes that depend on the time itself, by their ids."""
        self._mark(body)

    def _mark(self, expr: Expr) -> bool:
        timed = isinstance(expr, Time) or (isinstance(expr, Reduce) and expr.bounds)
        if isinstance(expr, Local) and expr.name in self.values:
            timed = id(self.values[expr.name]) in self.timed
        for child in children(expr):
            timed |= self._mark(child)
            if isinstance(expr, Let):
                self.values[expr.name] = expr.value
        if timed:
            self.timed.add(id(expr))
        return timed

    def exists(self, expr: Expr) -> Condition:
        """Find a condition without which a part is φ."""
        if isinstance(expr, Const | Phi):
            return None if isinstance(expr, Const) else FALSE
        if id(expr) not in self.timed:
            return Exists(expr, BOOL)
        match expr:
            case Local(name=name):
                return self.exists(self.values[name])
            case Let():
                return _within(expr, self.exists(expr.body))
            case If():
                then, other = self.exists(expr.then), self.exists(expr.otherwise)
                return self._either(expr.condition, then, other)
            case Binary(op="&&" | "||"):
                return _join("||", self.exists(expr.left), self.exists(expr.right))
            case (
                Unary() | Binary() | Cast() | Call()
                | In() | MatchString() | StringCall() | DateComponent() | Field()
            ):  # fmt: skip
                return _join("&&", *map(self.exists, children(expr)))
            case _:
                return None

    def has_outcome(self, expr: Expr, *, outcome: bool) -> Condition:
        """Find a condition without which a bool does not have this outcome."""
        timed = id(expr) in self.timed
        match expr:
            case Local(name=name) if timed:
                return self.has_outcome(self.values[name], outcome=outcome)
            case Let():
                return _within(expr, self.has_outcome(expr.body, outcome=outcome))
            case Unary(op="!", operand=operand):
                return self.has_outcome(operand, outcome=not outcome)
            case Binary(op="&&" | "||" as op):
                sides = (expr.left, expr.right)
                conditions = (self.has_outcome(side, outcome=outcome) for side in sides)
                return _join("&&" if (op == "&&") is outcome else "||", *conditions)
            case If():
                branches = (expr.then, expr.otherwise)
                then, other = (self.has_outcome(b, outcome=outcome) for b in branches)
                return self._either(expr.condition, then, other)
            case Exists(operand=operand) if outcome:
                return self.exists(operand)
            case _ if timed:
                return self.exists(expr)
            case _:
                return expr if outcome else Unary("!", expr, BOOL)

    def _either(self, test: Expr, then: Condition, other: Condition) -> Condition:
        """Join the conditions of two branches with those under which they are taken."""
        taken = _join("&&", self.has_outcome(test, outcome=True), then)
        left = _join("&&", self.has_outcome(test, outcome=False), other)
        return _join("||", taken, left)


def _within(expr: Let, condition: Condition) -> Condition:
    """Bind the name that a condition may refer to."""
    if condition is None:
        return None
    names = (node.name for node in walk(condition) if isinstance(node, Local))
    used = expr.name in names
    return _short(Let(expr.name, expr.value, condition) if used else condition)


def _join(op: Literal["&&", "||"], *conditions: Condition) -> Condition:
    """Join conditions; what is not known holds anywhere."""
    known = [each for each in conditions if each is not None]
    if not known or (op == "||" and len(known) < len(conditions)):
        return None
    result, *others = known
    for each in others:
        # One that is φ decides: a bool that is not true is all that is asked for.
        result = If(result, each, FALSE) if op == "&&" else _either(result, each)
    return _short(result)


def _either(left: Expr, right: Expr) -> Expr:
    if FALSE in (left, right):
        return right if left == FALSE else left
    return Binary("||", left, right, BOOL)


def _short(condition: Expr) -> Condition:
    size = sum(1 for _ in islice(walk(condition), LONGEST))
    return condition if size < LONGEST else None
