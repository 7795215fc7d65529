"""The elements of windows: what an event contributes to a reduction."""

from dataclasses import replace

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import Element, ElementStart, Expr, Reduce
from tiltpy.loops.build import TRUE, conj, i64, select
from tiltpy.loops.nodes import LExpr


def element_of(block: Block, rows: ObjectRows, row: LExpr, element: Expr) -> LoopValue:
    """Evaluate a window's element at an existing row; φ where it does not contribute.

    A null row never does, even if the element does not look at it.
    """
    exists = rows.exists(row)

    def leaf(node: Reading) -> LoopValue:
        if isinstance(node, ElementStart):
            return LoopValue(node.type, rows.start_at(row), exists)
        assert isinstance(node, Element), "an element reads its snapshot alone"
        return rows.value(row, exists)

    value = lower_expr(block, leaf, element)
    return replace(value, valid=conj(exists, value.valid))


def is_filtered(builder: KernelBuilder, rows: ObjectRows, element: Expr) -> bool:
    """Decide whether existing rows may have no value of an element."""
    return element_of(Block(builder), rows, i64(0), element).valid != TRUE


def row_value(
    block: Block, rows: ObjectRows, node: Reduce, row: LExpr, exists: LExpr
) -> LoopValue:
    """Evaluate the element at a row for a `first` or `last`; φ unless `exists`."""
    readable = block.name("row", select(exists, row, i64(0)))
    value = element_of(block, rows, readable, node.element)
    return replace(value, valid=exists)
