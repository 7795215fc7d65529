"""A body as a graph in which equal nodes are one, and its dominators."""

from collections.abc import Mapping
from dataclasses import field

from tiltpy.ir.nodes import Expr, Let, Local, Reduce
from tiltpy.ir.traversal import children, with_children
from tiltpy.lean_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes over the numbers of their operands, operands first.

    An operand stands in its node as a `Local` named by its number. `named` holds what
    the body called a node. Elements are closed: a `Reduce` has no operands here.
    """

    nodes: list[Expr] = field(default_factory=list)
    numbers: dict[Expr, int] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)

    def number(self, expr: Expr, known: Mapping[str, int]) -> int:
        """Number an expression and all below it; equal nodes have one number."""
        match expr:
            case Local():
                return known[expr.name]
            case Let():
                value = self.number(expr.value, known)
                self.named.setdefault(value, expr.name)
                return self.number(expr.body, {**known, expr.name: value})
            case Reduce():
                return self._add(expr)
            case _:
                operands = tuple(
                    Local(str(self.number(child, known)), child.type)
                    for child in children(expr)
                )
                return self._add(with_children(expr, operands))

    def _add(self, node: Expr) -> int:
        number = self.numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def operands(self, number: int) -> tuple[int, ...]:
        """Return the numbers of a node's operands, in their order."""
        node = self.nodes[number]
        if isinstance(node, Reduce):
            return ()
        return tuple(int(c.name) for c in children(node) if isinstance(c, Local))

    def in_order_of_use(self, root: int) -> tuple[int, ...]:
        """List all that a node needs and then itself, operands from left to right."""
        order: dict[int, None] = {}
        stack = [(root, iter(self.operands(root)))]
        while stack:
            number, operands = stack[-1]
            missing = next((each for each in operands if each not in order), None)
            if missing is not None:
                stack.append((missing, iter(self.operands(missing))))
            else:
                order.setdefault(number)
                stack.pop()
        return tuple(order)


def dominators(graph: Graph, root: int) -> tuple[dict[int, int], dict[int, int]]:
    """Count the uses of each node and find its immediate dominator."""
    uses: dict[int, int] = {root: 1}
    immediate: dict[int, int] = {root: root}
    levels: dict[int, int] = {root: 0}

    def common(a: int, b: int) -> int:
        while a != b:
            if levels[a] >= levels[b]:
                a = immediate[a]
            else:
                b = immediate[b]
        return a

    for number in range(root, -1, -1):  # users come after what they use
        if number not in uses:
            continue
        if number != root:
            levels[number] = levels[immediate[number]] + 1
        for operand in graph.operands(number):
            uses[operand] = uses.get(operand, 0) + 1
            immediate[operand] = common(immediate.get(operand, number), number)
    return uses, immediate
