"""Share subexpressions: compute once what a body says more than once.

Before:

    ~o[t] = (~m[t] + ~n[t]) > 0 ? (~m[t] + ~n[t]) * 2 : φ

After:

    ~o[t] = { shared = ~m[t] + ~n[t]
              return shared > 0 ? shared * 2 : φ }

The body becomes a graph in which equal nodes are one. A node used more than once is
bound at the lowest point that all its uses share: at the top of the body, or of the one
branch that needs it; what the query named stays named. Elements of windows are closed
expressions and stay as they are.
"""

from dataclasses import dataclass, field, replace

from tiltpy.ir.nodes import Exists, Expr, Field, If, Local, Query, Reduce
from tiltpy.ir.traversal import depth, with_children
from tiltpy.limits import MAX_DEPTH
from tiltpy.passes.analyses.dominators import Graph, dominators
from tiltpy.passes.analyses.substitution import Binding, Names, is_atom, wrap


def share_subexpressions(query: Query) -> Query:
    """Compute the common subexpressions of each body once."""
    definitions = tuple(
        replace(each, body=_share(each.body)) for each in query.definitions
    )
    return replace(query, definitions=definitions)


def _share(body: Expr) -> Expr:
    graph = Graph()
    root = graph.number(body, {})
    shared = _BindingPlacement(graph, root, Names.of(body)).write()
    return shared if depth(shared) <= MAX_DEPTH else body


@dataclass(slots=True)
class _BindingPlacement:
    """The points at which named nodes are bound, and the body over those names.

    `bound_at` lists, for each node, the named ones that it immediately dominates.
    """

    graph: Graph
    root: int
    names: Names
    bound_at: dict[int, list[int]] = field(default_factory=dict)
    written: dict[int, tuple[list[Binding], Expr]] = field(default_factory=dict)
    locals: dict[int, Local] = field(default_factory=dict)

    def write(self) -> Expr:
        uses, last_common = dominators(self.graph, self.root)
        for number in self.graph.in_order_of_use(self.root):
            named = uses[number] > 1 or number in self.graph.named
            if number == self.root or not named or self.is_trivial(number):
                continue
            self.bound_at.setdefault(last_common[number], []).append(number)
            # What it needs came before it: this does not recurse from name to name.
            self.written[number] = self.expression(number)
            value = self.written[number][1]
            name = self.graph.named.get(number) or self.names.fresh("shared")
            self.locals[number] = Local(name, value.type, value.span)
        bindings, body = self.expression(self.root)
        return wrap(bindings, body)

    def is_trivial(self, number: int) -> bool:
        """Tell whether a node is no work: an atom, or `atom != φ`."""
        node = self.graph.nodes[number]
        if isinstance(node, Exists):
            return all(self.is_atom(each) for each in self.graph.operands(number))
        return self.is_atom(number)

    def is_atom(self, number: int) -> bool:
        node = self.graph.nodes[number]
        if isinstance(node, Field):
            return all(self.is_atom(each) for each in self.graph.operands(number))
        return is_atom(node)

    def expression(self, number: int) -> tuple[list[Binding], Expr]:
        """Write out a node, and the bindings that must stand before it."""
        bindings: list[Binding] = []
        for shared in self.bound_at.get(number, ()):
            before, value = self.written[shared]
            bindings += [*before, (self.locals[shared].name, value)]
        node = self.graph.nodes[number]
        operands: list[Expr] = []
        for position, operand in enumerate(self.graph.operands(number)):
            if operand in self.locals:
                operands.append(self.locals[operand])
                continue
            before, value = self.expression(operand)
            if isinstance(node, If) and position > 0:
                value = wrap(before, value)  # only this branch needs them
            else:
                bindings += before
            operands.append(value)
        if isinstance(node, Reduce):
            return bindings, node
        return bindings, with_children(node, tuple(operands))
