"""Matches: what an element that sees the present compares of its rows with that.

`count(v for v in ~x[t-1h : t] if v.k == ~x[t].k && v.p > 0)` counts the rows that match
now by `v.k`, of those with `v.p > 0`. Such rows are counted without a look at each of
them: by equal keys, or by the order of one key.
"""

from collections.abc import Iterator
from typing import Literal

from tiltpy.emit.elements import FoldedElement
from tiltpy.ir.nodes import Binary, Expr, If, Let, Local, Phi
from tiltpy.ir.traversal import names, rewrite
from tiltpy.lean_dataclass import dataclass

Order = Literal["==", "<", "<=", ">", ">="]
_ORDERS: dict[str, tuple[Order, Order]] = {
    "==": ("==", "=="), "<": ("<", ">"), "<=": ("<=", ">="), ">": (">", "<"),
    ">=": (">=", "<="),
}  # fmt: skip
"""Each comparison, and the one that says the same with its sides exchanged."""


class NoMatch(Exception):  # noqa: N818 - no error: all rows are looked at instead
    """Raised where rows cannot be counted by keys, with the reason."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`key op present`: the key is a row's, `present` a constant of the fold."""

    op: Order
    key: Expr
    present: Local


@dataclass(frozen=True, slots=True)
class Match:
    """The rows of a window that contribute at the present.

    `element` is φ for rows that never do. Where one of the `gates`, constants of the
    fold, is not true no row does. Of all others those for which each of `comparisons`
    is true: some `==`, or comparisons of one key.
    """

    element: Expr
    gates: tuple[Local, ...]
    comparisons: tuple[Comparison, ...]

    @staticmethod
    def of(folded: FoldedElement) -> "Match":
        """Take an element apart, or raise a `NoMatch`."""
        constants = frozenset(name for name, _ in folded.constants)
        element, conditions = _conditions(_without_names(folded.element))
        gates, comparisons = [], []
        if not constants.isdisjoint(names(element)):
            raise NoMatch("their values see the present")
        for condition in conditions:
            if constants.isdisjoint(names(condition)):
                element = If(condition, element, Phi(element.type))
            elif isinstance(condition, Local):
                gates.append(condition)
            else:
                comparisons.append(_comparison(condition, constants))
        equal = [comparison.op == "==" for comparison in comparisons]
        keys = {comparison.key for comparison in comparisons}
        if not comparisons or not (all(equal) or len(keys) == 1):
            raise NoMatch("they compare no key alone with the present")
        return Match(element, tuple(gates), tuple(comparisons))

    @property
    def by_equality(self) -> bool:
        """Return whether rows match by equal keys, not by their order."""
        return all(comparison.op == "==" for comparison in self.comparisons)


def _without_names(expr: Expr) -> Expr:
    """Replace the uses of names that an element binds by their values."""
    if not isinstance(expr, Let):
        return expr
    value = _without_names(expr.value)

    def rule(node: Expr) -> Expr:
        is_use = isinstance(node, Local) and node.name == expr.name
        return value if is_use else node

    return _without_names(rewrite(expr.body, rule))


def _conditions(expr: Expr) -> tuple[Expr, list[Expr]]:
    """Take the value of an element apart from the conditions under which it is one."""
    conditions: list[Expr] = []
    while isinstance(expr, If) and isinstance(expr.otherwise, Phi):
        conditions += _conjuncts(expr.condition)
        expr = expr.then
    return expr, conditions


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "&&":
        yield from _conjuncts(expr.left)
        yield from _conjuncts(expr.right)
    else:
        yield expr


def _comparison(expr: Expr, constants: frozenset[str]) -> Comparison:
    """Read a condition as a comparison of a key with a constant."""
    if isinstance(expr, Binary) and expr.op in _ORDERS:
        sides = (expr.left, expr.right), (expr.right, expr.left)
        for op, (key, present) in zip(_ORDERS[expr.op], sides, strict=True):
            if isinstance(present, Local) and constants.isdisjoint(names(key)):
                return Comparison(op, key, present)
    raise NoMatch("they do more with the present than compare a key with it")
