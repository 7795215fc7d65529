"""Python values used twice -> local names.

In Python an expression can be used many times over without being written again; its
tree would then grow without bound. Whatever is used more than once gets a name, as it
would have in a text. The inside of a reduction stays as it is: no name reaches there.
"""

from collections import Counter
from dataclasses import replace
from itertools import count

from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import split_active
from tiltpy.ops import FUNCTIONS, REDUCTIONS

_LEAVES = (
    syntax.Number,
    syntax.DurationLiteral,
    syntax.Moment,
    syntax.Bool,
    syntax.PhiLiteral,
    syntax.Text,
    syntax.Name,
    syntax.Ref,
)


def share(expr: syntax.Expr) -> syntax.Expr | syntax.BlockBody:
    """Make an expression a block, if something in it is used more than once."""
    uses = Counter[int]()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        uses[id(node)] += 1
        if uses[id(node)] == 1:
            waiting.extend(_operands(node))
    sharing = _SharedNodes(uses, _names(expr))
    result = sharing.rewrite(expr)
    if not sharing.bindings:
        return result
    return syntax.BlockBody(tuple(sharing.bindings), result, expr.span)


def is_reduction(node: syntax.Expr) -> bool:
    """Tell whether a node is a reduction of a window."""
    match node:
        case syntax.CallExpression(reduce=True):
            return True
        case syntax.CallExpression(callee=callee, arguments=arguments):
            twofold = callee.text in FUNCTIONS and len(arguments) == 2
            return split_active(callee.text)[0] in REDUCTIONS and not twofold
        case _:
            return False


def _operands(node: syntax.Expr) -> tuple[syntax.Expr, ...]:
    if isinstance(node, _LEAVES) or is_reduction(node):
        return ()
    return syntax.operands(node)


def _names(expr: syntax.Expr) -> set[str]:
    """Collect the names in an expression, which no name of a part may hide."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Name):
            names.add(node.text)
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(syntax.operands(node))
    return names


class _SharedNodes:
    def __init__(self, uses: Counter[int], names: set[str]) -> None:
        self.uses = uses
        candidates = (f"v{number}" for number in count(1))
        self.names = (name for name in candidates if name not in names)
        self.bindings: list[syntax.NamedValue] = []
        self.rewritten: dict[int, syntax.Expr] = {}

    def rewrite(self, node: syntax.Expr) -> syntax.Expr:
        """Rewrite a node: to the name that it got, if it is used more than once."""
        if isinstance(node, _LEAVES):
            return node
        if id(node) not in self.rewritten:
            self.rewritten[id(node)] = self._rewrite_new(node)
        return self.rewritten[id(node)]

    def _rewrite_new(self, node: syntax.Expr) -> syntax.Expr:
        rewritten = node if is_reduction(node) else self._rewrite_operands(node)
        if self.uses[id(node)] == 1:
            return rewritten
        name = syntax.Word(next(self.names), node.span)
        self.bindings.append(syntax.NamedValue(name, rewritten))
        return syntax.Name(name.text, node.span)

    def _rewrite_operands(self, node: syntax.Expr) -> syntax.Expr:
        match node:
            case syntax.PrefixOperation() | syntax.Member():
                return replace(node, operand=self.rewrite(node.operand))
            case syntax.InfixOperation():
                left, right = self.rewrite(node.left), self.rewrite(node.right)
                return replace(node, left=left, right=right)
            case syntax.Conditional():
                return replace(
                    node,
                    condition=self.rewrite(node.condition),
                    then=self.rewrite(node.then),
                    otherwise=self.rewrite(node.otherwise),
                )
            case syntax.Membership():
                return replace(node, operand=self.rewrite(node.operand))
            case syntax.CallExpression():
                arguments = tuple(self.rewrite(a) for a in node.arguments)
                return replace(node, arguments=arguments)
            case syntax.StructValue():
                return replace(node, fields=self._rewrite_fields(node.fields))
            case syntax.With():
                operand = self.rewrite(node.operand)
                return replace(
                    node, operand=operand, fields=self._rewrite_fields(node.fields)
                )
            case _:
                return node

    def _rewrite_fields(
        self, fields: tuple[syntax.NamedValue, ...]
    ) -> tuple[syntax.NamedValue, ...]:
        return tuple(replace(f, value=self.rewrite(f.value)) for f in fields)
