"""Facts of cells before a loop computes them: which may be φ, where snapshots begin.

Bodies are lowered on trial over cells of which nothing but constants is known: so the
null rules stand in one place, `emit.values`.
"""

from dataclasses import replace

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.aggregates.aggregate import State
from tiltpy.aggregates.user_defined import code_of, substitute
from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import Element, Expr, Reduce, UserReduction
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, conj
from tiltpy.loops.nodes import LExpr, Num, Var
from tiltpy.ops import REDUCTIONS
from tiltpy.plan.definedness import trial_block, unknown_value
from tiltpy.types import BOOL, Struct, Type

UNKNOWN = Var("there", BOOL)
"""A mask of which nothing is known."""


@dataclass(frozen=True, slots=True)
class CellFacts:
    """The payload of any cell of an object, and whether a snapshot begins in it.

    Constants are the same in all cells, variables stand for what may be anything.
    `begins` is None where no snapshot is longer than a cell.
    """

    value: LoopValue
    begins: LExpr | None

    @property
    def is_dense(self) -> bool:
        """Return whether each cell has a snapshot of its own."""
        return self.value.valid == TRUE and self.begins is None

    @property
    def changes(self) -> LExpr:
        """Return whether a cell has another snapshot or gap than the one before."""
        if self.value.valid != TRUE:
            return UNKNOWN
        return TRUE if self.begins is None else self.begins

    def in_memory(self) -> "CellFacts":
        """The facts of a reader that loads the cells: constants are not known there."""
        begins = None if self.begins is None else UNKNOWN
        return CellFacts(_forget_constants(self.value), begins)

    def element(self, block: Block, element: Expr) -> LoopValue:
        """Evaluate the element of a window in a cell."""

        def leaf(node: object) -> LoopValue:
            assert isinstance(node, Element)
            return self.value

        value = lower_expr(block, leaf, element)
        return replace(value, valid=conj(self.value.valid, value.valid))

    def certain(self, element: Expr) -> bool:
        """Decide whether each cell has a snapshot of its own that contributes."""
        return self.is_dense and self.element(trial_block(), element).valid == TRUE


def input_facts(payload: Type, layout: Layout) -> CellFacts:
    """State the facts of an input's cells: its samples, or its rows densified."""
    sampled = layout.time is TimeLayout.SAMPLED
    gapless = sampled or layout.time is TimeLayout.CONTIGUOUS
    value = unknown_value(payload)
    if isinstance(payload, Struct):
        fields = tuple(
            field if nullable else replace(field, valid=TRUE)
            for field, nullable in zip(value.fields, layout.nullable, strict=True)
        )
        value = replace(value, fields=fields)
    else:
        gapless = gapless and not layout.nullable[0]
    if gapless:
        value = replace(value, valid=TRUE)
    return CellFacts(value, None if sampled or layout.points else UNKNOWN)


def reduced_value(
    block: Block,
    node: Reduce,
    source: CellFacts,
    cells: int,
    user_reduction: UserReduction | None,
    *,
    panes: bool,
) -> LoopValue:
    """Evaluate a reduction over a window of `cells` cells of a source.

    With `panes` a loop folds the window into variables, else each cell is combined.
    """
    element = source.element(block, node.element)
    if node.reduction in ("first", "last"):
        return element if element.valid == TRUE else _forget_constants(element)
    if user_reduction is not None:
        code = code_of(user_reduction)
        state = tuple(Var("some", scalar) for scalar in code.types())
        return code.result(block, state, UNKNOWN if panes else element.valid)
    certain = source.begins is None and element.valid == TRUE
    valid = node.reduction == "count" or (certain and node.ddof < cells)
    return replace(unknown_value(node.type), valid=TRUE if valid else UNKNOWN)


def scanned_value(
    node: Reduce, source: CellFacts, user_reduction: UserReduction | None
) -> LoopValue:
    """Evaluate a reduction over a window that folds on, of which cells have come."""
    element = source.element(trial_block(), node.element)
    known = source.certain(node.element)
    if user_reduction is not None:
        code = code_of(user_reduction)
        state: State = tuple(Var("some", scalar) for scalar in code.types())
        if known:
            state = substitute(state, code.find_invariants(element))
        return code.result(trial_block(), state, TRUE if known else UNKNOWN)
    valid = node.reduction == "count" or (
        known and REDUCTIONS[node.reduction].never_null
    )
    return replace(unknown_value(node.type), valid=TRUE if valid else UNKNOWN)


def known_constants(value: LoopValue) -> LoopValue:
    """Reduce a lowered value to its constants."""
    fields = tuple(map(known_constants, value.fields))
    scalar = None if value.value is None else known_constant(value.value)
    return LoopValue(value.type, scalar, known_constant(value.valid), fields)


def known_constant(lowered: LExpr) -> LExpr:
    """Reduce a lowered expression to a constant, or a variable if it is none."""
    return lowered if isinstance(lowered, Num) else Var("there", lowered.type)


def _forget_constants(value: LoopValue) -> LoopValue:
    """Forget all constants but that a value is certain."""
    scalar = None if value.value is None else Var("some", value.value.type)
    valid = TRUE if value.valid == TRUE else UNKNOWN
    return LoopValue(
        value.type, scalar, valid, tuple(map(_forget_constants, value.fields))
    )
