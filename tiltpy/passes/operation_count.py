"""An estimate of the code of a query, from its nodes, before any is emitted.

LLVM takes some 20 us for an operation. A node is about one for each of its columns, a
window some thirty, and so are the loop around an object and what it writes.

Many outputs over one chain are large only when each has the chain fused in. `Growth`
refuses those while they are fused: the rest of the passes may take them for smaller,
but not below what is distinct in them.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from tiltpy.errors import QueryError
from tiltpy.ir.cuts import expressions
from tiltpy.ir.nodes import Expr, Query, Reduce, TemporalExpr
from tiltpy.ir.traversal import children, walk
from tiltpy.limits import MAX_OPERATIONS
from tiltpy.passes.analyses.dominators import Graph
from tiltpy.passes.fold_constants import fold_constants
from tiltpy.types import Scalar, Type

_WINDOW, _WRITTEN = 30, 8


def check_operations(query: Query) -> None:
    """Raise a QueryError at the definition with which a query becomes too large."""
    total = 0
    for definition in query.definitions:
        total += count_operations(definition)
        _check(total, definition)


@dataclass
class Growth:
    """The operations of definitions that will all be in the kernel of a query.

    `most` is what they have as they are, `least` what they will have at least, counted
    for those that no longer wait: it takes longer, and few queries need it.
    """

    query: Query
    most: int = 0
    least: int = 0
    waiting: deque[TemporalExpr] = field(default_factory=deque)

    def add(self, definition: TemporalExpr) -> None:
        """Raise a QueryError if the query is surely too large with this one."""
        self.most += count_operations(definition)
        self.waiting.append(definition)
        while self.waiting and self.most > MAX_OPERATIONS:
            first = self.waiting.popleft()
            self.least += count_least(self.query, first)
            _check(self.least, first)


def count_least(query: Query, definition: TemporalExpr) -> int:
    """Count the operations left once constants are folded and the rest is shared.

    Each use of a value is at least a name for it. What cuts like inlined objects does
    not count: it may be implied.
    """
    alone = replace(query, definitions=(definition,), reductions=())
    (folded,) = fold_constants(alone).definitions
    graph = Graph()
    root = graph.number(folded.body, {})
    nodes = (graph.nodes[number] for number in graph.in_order_of_use(root))
    uses = sum(_inside(node) for node in nodes)
    return _columns(folded.type) + uses + _count_output(definition)


def _inside(node: Expr) -> int:
    """Count the operations of a graph's node, but for its result."""
    if isinstance(node, Reduce):
        return _WINDOW + sum(_columns(each.type) for each in walk(node.element))
    return sum(_columns(operand.type) for operand in children(node))


def _check(total: int, definition: TemporalExpr) -> None:
    if total > MAX_OPERATIONS:
        raise QueryError(
            "E0304",
            f"up to ~{definition.name} the query is more than {MAX_OPERATIONS:,} "
            "operations",
            definition.span,
            "split the query in two: the outputs of one can be the inputs of the other",
        )


def count_operations(definition: TemporalExpr) -> int:
    """Estimate the operations of the loop of an object."""
    nodes = (node for expr in expressions(definition) for node in walk(expr))
    inside = sum(
        _columns(node.type) + (_WINDOW if isinstance(node, Reduce) else 0)
        for node in nodes
    )
    return inside + _count_output(definition)


def _count_output(definition: TemporalExpr) -> int:
    """Count the operations around an object and of what it writes."""
    return _WRITTEN * (1 + _columns(definition.type))


def _columns(of: Type) -> int:
    """Count the columns of a payload."""
    return 1 if isinstance(of, Scalar) else sum(_columns(f) for _, f in of.fields)
