"""How much code a query will be, estimated from its nodes before any is made.

LLVM takes some 20 us for an operation. A node is about one for each of its columns, a
window some thirty, and so are the loop around an object and what it writes.
"""

from tiltpy.errors import QueryError
from tiltpy.ir.cuts import expressions
from tiltpy.ir.nodes import Query, Reduce, TemporalExpr
from tiltpy.ir.traversal import walk
from tiltpy.limits import MAX_OPERATIONS
from tiltpy.types import Scalar, Type

_WINDOW, _WRITTEN = 30, 8


def check_operations(query: Query) -> None:
    """Raise a QueryError at the definition with which a query becomes too large."""
    total = 0
    for definition in query.definitions:
        total += operations(definition)
        if total > MAX_OPERATIONS:
            raise QueryError(
                "E0304",
                f"up to ~{definition.name} the query is more than {MAX_OPERATIONS:,} "
                "operations",
                definition.span,
                "split the query in two: the outputs of one can be the inputs of the "
                "other",
            )


def operations(definition: TemporalExpr) -> int:
    """About how many operations the loop of an object has."""
    nodes = (node for expr in expressions(definition) for node in walk(expr))
    inside = sum(
        _columns(node.type) + (_WINDOW if isinstance(node, Reduce) else 0)
        for node in nodes
    )
    return inside + _WRITTEN * (1 + _columns(definition.type))


def _columns(of: Type) -> int:
    """How many columns a payload has."""
    return 1 if isinstance(of, Scalar) else sum(_columns(f) for _, f in of.fields)
