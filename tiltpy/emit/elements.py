"""The elements of windows: what an event contributes to a reduction."""

from collections.abc import Mapping
from dataclasses import field, replace

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import (
    Const,
    Element,
    ElementStart,
    Expr,
    Let,
    Local,
    Phi,
    Reduce,
)
from tiltpy.ir.traversal import children, with_children
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, conj, i64, select
from tiltpy.loops.nodes import LExpr

Names = Mapping[str, LoopValue]
"""The values of an element's free names."""


def element_of(
    block: Block,
    rows: ObjectRows,
    row: LExpr,
    element: Expr,
    names: Names | None = None,
) -> LoopValue:
    """Evaluate a window's element at an existing row; φ where it does not contribute.

    A null row never does, even if the element does not look at it. `names` are the
    constants of the fold (see `FoldedElement`).
    """
    exists = rows.exists(row)

    def leaf(node: Reading) -> LoopValue:
        if isinstance(node, ElementStart):
            return LoopValue(node.type, rows.start_at(row), exists)
        assert isinstance(node, Element), "an element reads its snapshot alone"
        return rows.value(row, exists)

    value = lower_expr(block, leaf, element, names)
    return replace(value, valid=conj(exists, value.valid))


def is_filtered(builder: KernelBuilder, rows: ObjectRows, element: Expr) -> bool:
    """Decide whether existing rows may have no value of an element."""
    return element_of(Block(builder), rows, i64(0), element).valid != TRUE


def row_value(
    block: Block,
    rows: ObjectRows,
    node: Reduce,
    row: LExpr,
    exists: LExpr,
) -> LoopValue:
    """Evaluate the element at a row for a `first` or `last`; φ unless `exists`."""
    readable = block.name("row", select(exists, row, i64(0)))
    value = element_of(block, rows, readable, node.element)
    return replace(value, valid=exists)


@dataclass(frozen=True, slots=True)
class FoldedElement:
    """An element apart from its constants: whatever of it does not see the snapshot.

    `element` has them as free names. Each of the `constants` may use those before it.
    """

    element: Expr
    constants: tuple[tuple[str, Expr], ...]

    @staticmethod
    def of(element: Expr) -> "FoldedElement":
        """Take the largest constants out of an element."""
        constants = _Constants()
        rest = constants.take(element, {}, frozenset())
        return FoldedElement(rest, tuple((n, e) for e, n in constants.names.items()))

    def values(self, block: Block, leaf: Leaf) -> dict[str, LoopValue]:
        """Compute the constants, once for a fold, of what `leaf` reads at `t`."""
        values: dict[str, LoopValue] = {}
        for name, expr in self.constants:
            values[name] = lower_expr(block, leaf, expr, values).in_variables(block)
        return values


@dataclass(frozen=True, slots=True)
class _Constants:
    """The constants of an element found so far, by their names."""

    names: dict[Expr, str] = field(default_factory=dict)

    def take(
        self, expr: Expr, known: Mapping[str, Expr], varying: frozenset[str]
    ) -> Expr:
        """Replace what does not depend on the element by names.

        `known` are the names of the element whose values are constants, `varying` those
        of others.
        """
        match expr:
            case Const() | Phi() | Element() | ElementStart():
                return expr
            case Local(name=name):
                return known.get(name, expr)
            case Let(name=name):
                value = self.take(expr.value, known, varying)
                if not _varies(value, varying):
                    return self.take(expr.body, {**known, name: value}, varying)
                body = self.take(expr.body, known, varying | {name})
                return replace(expr, value=value, body=body)
            case Reduce():
                return self._name(expr)
            case _:
                parts = tuple(
                    self.take(each, known, varying) for each in children(expr)
                )
                whole = with_children(expr, parts)
                return whole if _varies(whole, varying) else self._name(whole)

    def _name(self, expr: Expr) -> Local:
        name = self.names.setdefault(expr, f"constant {len(self.names)}")
        return Local(name, expr.type, expr.span)


def _varies(expr: Expr, varying: frozenset[str]) -> bool:
    """Decide whether an expression depends on the element."""
    match expr:
        case Element() | ElementStart():
            return True
        case Local(name=name):
            return name in varying
        case Reduce():
            return False
        case _:
            return any(_varies(each, varying) for each in children(expr))
