"""Cells that the loops of a vector kernel compute, before there is any code."""

from dataclasses import replace

from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    ElementStart,
    EventBound,
    Expr,
    InlinedCut,
    Reduce,
    TemporalExpr,
    Time,
)
from tiltpy.ir.traversal import sees_more
from tiltpy.loops.build import TRUE, conj, disj, negate
from tiltpy.loops.nodes import LExpr
from tiltpy.plan.cell_facts import (
    UNKNOWN,
    CellFacts,
    input_facts,
    known_constant,
    known_constants,
    reduced_value,
    scanned_value,
)
from tiltpy.plan.definedness import trial_block, unknown_value
from tiltpy.plan.vector_plan import VectorPlan


class LoopCells:
    """The facts of the cells that a plan's loops read, and of those that they compute.

    Definitions are to be computed in the order of the loops.
    """

    def __init__(self, plan: VectorPlan) -> None:
        self.plan = plan
        self.geometry = plan.geometry
        self.user_defined = {r.name: r for r in plan.query.reductions}
        self.facts = {
            name: input_facts(plan.query.type_of(name), self.geometry.layouts[name])
            for name in self.geometry.inputs
        }

    def seen_by(self, reader: TemporalExpr, name: str) -> CellFacts:
        """State the facts of an object as the loop of a reader sees it."""
        facts = self.facts[name]
        return facts if self.plan.is_streamed(reader, name) else facts.in_memory()

    def always_cuts(self, reader: TemporalExpr, cut: Cut) -> bool:
        """Decide whether each cell sees other snapshots than the one before."""
        match cut:
            case CutTime():
                return True
            case CutPoint(object=name):
                cell = self.geometry.point(reader, cut)
                return self.seen_by(reader, name).is_dense and cell.times >= cell.over
            case CutWindow() if sees_more(cut):
                return False
            case CutWindow(window=window, element=element):
                cell = self.geometry.newest(reader, window)
                facts = self.seen_by(reader, window.object)
                return cell.times >= cell.over and facts.certain(element)
            case InlinedCut():
                return False

    def compute(self, reader: TemporalExpr) -> None:
        """Find the facts of a definition's cells."""
        self.facts[reader.name] = self._outcome(reader)

    def _outcome(self, reader: TemporalExpr) -> CellFacts:
        value = known_constants(self._lower(reader, reader.body))
        if reader.distinct:
            return CellFacts(value, UNKNOWN)
        if any(self.always_cuts(reader, cut) for cut in reader.cuts):
            return CellFacts(value, None)
        cuts = disj(*(self._cuts(reader, cut) for cut in reader.cuts))
        if cuts == TRUE:
            return CellFacts(value, None)
        begins = conj(value.valid, disj(cuts, negate(value.valid)))
        return CellFacts(value, known_constant(cuts if value.valid == TRUE else begins))

    def _cuts(self, reader: TemporalExpr, cut: Cut) -> LExpr:
        """Find out whether a cut is known to be in all cells, or in none."""
        match cut:
            case CutTime():
                return TRUE
            case CutPoint(object=name):
                regular = self.geometry.point(reader, cut).is_regular
                return self.seen_by(reader, name).changes if regular else UNKNOWN
            case CutWindow() if sees_more(cut):
                return UNKNOWN
            case CutWindow(window=window, element=element):
                facts = self.seen_by(reader, window.object)
                contributes = facts.element(trial_block(), element).valid
                return known_constant(conj(contributes, facts.changes))
            case InlinedCut(value=value, cuts=cuts):
                inner = disj(*(self._cuts(reader, inner) for inner in cuts))
                exists = self._lower(reader, value).valid
                return known_constant(conj(inner, exists)) if exists != TRUE else inner

    def _lower(self, reader: TemporalExpr, expr: Expr) -> LoopValue:
        """Lower an expression of a definition on trial."""
        block = trial_block()

        def leaf(node: Reading) -> LoopValue:
            return self._reference(block, reader, node)

        return lower_expr(block, leaf, expr)

    def _reference(
        self,
        block: Block,
        reader: TemporalExpr,
        node: Reading,
    ) -> LoopValue:
        match node:
            case At(object=name):
                return self.seen_by(reader, name).value
            case EventBound(object=name):
                valid = self.seen_by(reader, name).value.valid
                return LoopValue(node.type, unknown_value(node.type).value, valid)
            case Time():
                return LoopValue(node.type, unknown_value(node.type).value, TRUE)
            case Reduce() if sees_more(node):
                return replace(unknown_value(node.type), valid=TRUE)
            case Reduce(window=window) if window.folds_on:
                return scanned_value(
                    node,
                    self.seen_by(reader, window.object),
                    self.user_defined.get(node.reduction),
                )
            case Reduce(window=window):
                return reduced_value(
                    block,
                    node,
                    self.seen_by(reader, window.object),
                    self.geometry.window(reader, window).cells,
                    self.user_defined.get(node.reduction),
                    panes=self.plan.stage_of[reader.name].panes,
                )
            case Element() | ElementStart():
                raise AssertionError("an element outside of a window")
