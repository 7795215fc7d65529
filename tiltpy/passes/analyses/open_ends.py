"""Objects whose last snapshot may go on, although a cell more says that it ends.

A live session takes a snapshot as final that ends where a cell is final, if the next
cell, over the rows so far, does not go on with it. That is right where rows to come
only add: whatever cuts there cuts for ever. It is wrong of

- distinct objects, whose neighbours are one snapshot if their values are alike;
- windows over an object of which a snapshot may vanish, because a condition on values
  says whether it is there, and over elements whose condition sees values that change;
- windows over a number of last rows, of which a condition on values takes some;
- windows since an object whose values change;
- all that depends on such objects.
"""

from collections.abc import Iterable, Sequence

from tiltpy.ir.cuts import reads
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Input,
    LastRows,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Query,
    Reduce,
    Since,
    StringCall,
    TemporalExpr,
    Time,
    Unary,
)
from tiltpy.ir.traversal import children, sees_present, walk
from tiltpy.lifetimes import Point, Sampled, UntilNext
from tiltpy.ops import REDUCTIONS
from tiltpy.passes.analyses.strictness import strict_in

Presence = frozenset[Expr] | None
"""The parts that have to be there for an expression to have a value, once and for all.

None: rows to come may take its value away.
"""
ALWAYS: frozenset[Expr] = frozenset()


def find_open_ends(query: Query) -> frozenset[str]:
    """Find the open-ended objects of a query that is not optimised."""
    facts = _Facts(query.inputs)
    for definition in query.definitions:
        facts.add(definition)
    return frozenset(facts.open_ended)


class _Facts:
    """Facts about objects: `lasting` ones never change once their rows have come.

    Those are inputs, and row objects that are functions of a row of one. Of `fleeting`
    ones a snapshot may vanish.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.lasting = {each.name for each in inputs}
        self.covered = {each.name for each in inputs if _may_overlap(each)}
        """Inputs of which a row may be hidden by one that starts later."""
        self.fleeting: set[str] = set()
        self.open_ended: set[str] = set()

    def add(self, definition: TemporalExpr) -> None:
        """Learn of a definition, whose objects are known."""
        name, body = definition.name, definition.body
        if definition.tdom.rows is not None and self._is_function_of_row(body):
            self.lasting.add(name)
        elif self._presence(body, {}) is None:
            self.fleeting.add(name)
        if (
            definition.distinct
            or self.open_ended.intersection(reads(definition))
            or self._reads_what_changes(body)
        ):
            self.open_ended.add(name)

    def _is_function_of_row(self, body: Expr) -> bool:
        return all(
            node.row and node.object in self.lasting
            for node in walk(body)
            if isinstance(node, At | EventBound)
        ) and not any(isinstance(node, Reduce) for node in walk(body))

    def _reads_what_changes(self, body: Expr) -> bool:
        strict = strict_in(body)
        for node in walk(body):
            if isinstance(node, At | EventBound) and node.object in self.fleeting:
                if node.offset > 0 or node.point not in strict:
                    return True
            elif isinstance(node, Reduce) and self._folds_what_changes(node):
                return True
        return False

    def _folds_what_changes(self, fold: Reduce) -> bool:
        window, limit = fold.window, fold.window.limit
        if window.object in self.fleeting:
            return True
        if isinstance(limit, Since) and limit.object not in self.lasting:
            return True
        return not self._takes_lasting_rows(fold)

    def _takes_lasting_rows(self, fold: Reduce) -> bool:
        """Tell whether a snapshot of the window that is taken once always is.

        A later row that is not taken puts one out of a window that counts rows.
        """
        if self._presence(fold.element, {}) == ALWAYS:
            return True
        if isinstance(fold.window.limit, LastRows):
            return False
        return fold.window.object in self.lasting and not sees_present(fold.element)

    def _presence(self, expr: Expr, known: dict[str, Presence]) -> Presence:
        """Find what has to be there for an expression to have a value."""
        match expr:
            case Const() | Time() | Exists() | MakeStruct():
                return ALWAYS
            case Element() | ElementStart():
                return ALWAYS
            case Phi():
                return frozenset({expr})
            case At() | EventBound():
                return None if expr.object in self.fleeting else frozenset({expr})
            case Reduce():
                return self._presence_of_fold(expr)
            case Local():
                return known[expr.name]
            case Let():
                value = self._presence(expr.value, known)
                return self._presence(expr.body, {**known, expr.name: value})
            case If():
                return self._presence_of_choice(expr, known)
            case Field():
                return self._presence_of_field(expr, known)
            case Binary(op="//" | "%") if not _divides_surely(expr):
                return None
            case StringCall() if expr.is_partial:
                return None
            case Cast() if expr.type.is_temporal:
                return None
            case Binary(op="&&" | "||"):
                left, right = (self._presence(e, known) for e in children(expr))
                return left if left == right else None
            case (
                Unary() | Binary() | Cast() | Call()
                | In() | MatchString() | StringCall() | DateComponent()
            ):  # fmt: skip
                return _all_of(self._presence(e, known) for e in children(expr))

    def _presence_of_fold(self, fold: Reduce) -> Presence:
        if fold.reduction == "count":
            return ALWAYS
        is_known = fold.reduction in REDUCTIONS  # a user's result may be φ
        if not is_known or isinstance(fold.window.limit, Since):
            return None
        if fold.window.object in self.fleeting or not self._takes_lasting_rows(fold):
            return None
        return frozenset({fold})

    def _presence_of_choice(self, choice: If, known: dict[str, Presence]) -> Presence:
        """Both branches are there, or the condition asks for just what one needs."""
        condition, then, other = (self._presence(e, known) for e in children(choice))
        if condition is None or then is None or other is None:
            return None
        if isinstance(choice.condition, Exists):
            asked = self._presence(choice.condition.operand, known)
            if asked is None or not then <= asked:
                return None
            if isinstance(choice.otherwise, Phi):
                return asked
            return ALWAYS if not other else None
        return condition if then | other <= condition else None

    def _presence_of_field(self, field: Field, known: dict[str, Presence]) -> Presence:
        operand, presence = field.operand, self._presence(field.operand, known)
        if presence is None or isinstance(operand, MakeStruct):
            return None
        if isinstance(operand, At) and (
            operand.object not in self.lasting or operand.object in self.covered
        ):
            return None
        return presence | {field}


def _may_overlap(declared: Input) -> bool:
    apart = Point | UntilNext | Sampled
    return not isinstance(declared.lifetime, apart) and not declared.cells


def _divides_surely(quotient: Binary) -> bool:
    """Tell whether a division of integers has no divisor that may be 0."""
    divisor = quotient.right
    if not quotient.type.is_integer:
        return True
    return isinstance(divisor, Const) and divisor.number != 0


def _all_of(presences: Iterable[Presence]) -> Presence:
    every = list(presences)
    if any(each is None for each in every):
        return None
    return ALWAYS.union(*(each for each in every if each is not None))
