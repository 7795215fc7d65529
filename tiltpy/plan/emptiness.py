"""Counts that are looked at for one thing alone: whether they are 0."""

from collections.abc import Callable, Iterator

from tiltpy.emit.references import reductions
from tiltpy.ir.cuts import expressions
from tiltpy.ir.nodes import Binary, Const, Expr, Reduce, TemporalExpr, Window
from tiltpy.ir.traversal import children, rewrite
from tiltpy.ops import COMPARE
from tiltpy.types import BOOL, I64

_ZERO = frozenset({("==", 0), ("!=", 0), (">", 0), ("<=", 0), (">=", 1), ("<", 1)})
"""Comparisons with a number that all counts but 0 answer alike."""
_MIRRORED = {"==": "==", "!=": "!=", ">": "<", "<": ">", ">=": "<=", "<=": ">="}


def emptiness_tests(definition: TemporalExpr) -> frozenset[Reduce]:
    """Find the counts of an object that it compares as if they were 0 or 1."""
    read = {node for root in expressions(definition) for node in _read(root)}
    counts = (node for node in reductions(definition) if node.reduction == "count")
    return frozenset(node for node in counts if node not in read)


def _read(expr: Expr) -> Iterator[Reduce]:
    """Yield the reductions below whose value matters beyond that."""
    if isinstance(expr, Reduce):
        yield expr
    if not _tests_emptiness(expr):
        for child in children(expr):
            yield from _read(child)


def _tests_emptiness(expr: Expr) -> bool:
    """Decide whether an expression is `count(w) == 0`, or says as much."""
    match expr:
        case Binary(op=op, left=Reduce(reduction="count"), right=Const(value=number)):
            return (op, number) in _ZERO
        case Binary(op=op, left=Const(value=number), right=Reduce(reduction="count")):
            return (_MIRRORED.get(op), number) in _ZERO
        case _:
            return False


def count_empty(expr: Expr, is_empty: Callable[[Window], bool]) -> Expr:
    """Replace the counts of empty windows by 0, and comparisons of constants."""

    def rule(node: Expr) -> Expr:
        match node:
            case Reduce(reduction="count", window=window) if is_empty(window):
                return Const(0, I64)
            case Binary(op=op, left=Const(value=left), right=Const(value=right)):
                compare = COMPARE.get(op)
                return node if compare is None else Const(compare(left, right), BOOL)
            case _:
                return node

    return rewrite(expr, rule)
