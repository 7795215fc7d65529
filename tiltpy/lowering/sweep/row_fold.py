"""Folds from row to row: the states of the reductions over one element of a window."""

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where, variables_of
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import code_of
from tiltpy.aggregates.window_elements import aggregate_of, assign_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import Names, element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, UserReduction
from tiltpy.loops.build import TRUE, i64, lt, select
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.kept_states import UserState, fresh_state, reset_state
from tiltpy.lowering.sweep.sorted_elements import SortedElements
from tiltpy.ops import WHOLE_WINDOW


class RowFold:
    """The reductions over an element, which take row by row.

    `states` are those of built-in reductions, which may also be folded elsewhere.
    """

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, element: Expr) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        self.nodes: list[Reduce] = []
        self.sorted: SortedElements | None = None
        self.states: dict[Aggregate, State] = {}
        self.user_states: dict[str, UserState] = {}

    def reduce(self, node: Reduce) -> None:
        """Add a reduction."""
        self.nodes.append(node)
        if node.reduction in WHOLE_WINDOW and self.sorted is None:
            self.sorted = SortedElements(self.builder, self.rows, self.element)

    def reduction_of(self, node: Reduce) -> UserReduction | None:
        """The user-defined reduction of a node, if it is one."""
        return self.builder.user_reductions.get(node.reduction)

    def begin(self, block: Block, nodes: list[Reduce]) -> None:
        """Set the states of some reductions to those of no row."""
        fresh = self.builder.fresh
        self.user_states.clear()
        states: dict[Aggregate, tuple[Var, ...]] = {}
        for node in nodes:
            reduction = self.reduction_of(node)
            if reduction is not None:
                made = fresh_state(self.builder, reduction)
                reset_state(block, reduction, made)
                self.user_states[reduction.name] = made
            elif node.reduction in WHOLE_WINDOW:
                assert self.sorted is not None
                self.sorted.begin(block)
            else:
                for kind in (COUNT, aggregate_of(self.builder, node)):
                    states[kind] = tuple(fresh(kind.name, t) for t in kind.types)
        for kind, variables in states.items():
            assign_state(block, variables, kind.identity)
        self.states |= states

    def take(
        self,
        block: Block,
        nodes: list[Reduce],
        row: LExpr,
        value: LoopValue,
        clipped: tuple[LExpr, LExpr] | None,
    ) -> None:
        """Fold a row, `clipped` to the window, into all states."""
        kinds: dict[Aggregate, None] = {}
        whole = False
        for node in nodes:
            reduction = self.reduction_of(node)
            if reduction is not None:
                state, occupied = self.user_states[reduction.name]
                bounds = None
                if reduction.bounds:
                    assert clipped is not None
                    start, end = clipped
                    bounds = block.name("start", start), block.name("end", end)
                new = code_of(reduction).accumulate(block, state, value, bounds)
                assign_state(block, state, new)
                block.set(occupied, TRUE)
            elif node.reduction in WHOLE_WINDOW:
                whole = True
            else:
                kinds |= dict.fromkeys((COUNT, aggregate_of(self.builder, node)))
        for kind in kinds:
            lifted = lift_where(block, kind, value, TRUE, row)
            variables = self.states[kind]
            new = kind.combine(block, variables, lifted)
            assign_state(block, variables_of(variables), new)
        if whole:
            assert self.sorted is not None
            self.sorted.take(block, value.scalar, row)

    def value(self, block: Block, node: Reduce, names: Names) -> LoopValue:
        """The value of a reduction of all rows so far; `names` are the constants."""
        reduction = self.reduction_of(node)
        if reduction is not None:
            state, occupied = self.user_states[reduction.name]
            return code_of(reduction).result(block, state, occupied)
        if node.reduction in WHOLE_WINDOW:
            assert self.sorted is not None
            return self.sorted.value(block, node, names)
        (count,) = self.states[COUNT]
        if node.reduction == "count":
            return LoopValue(node.type, count, TRUE)
        states = self.states[aggregate_of(self.builder, node)]
        if node.reduction in ("first", "last"):
            some = block.name("some", lt(i64(0), count))
            row = block.name("row", select(some, states[0], i64(0)))
            value = element_of(block, self.rows, row, self.element, names)
            return LoopValue(node.type, value.value, some)
        return finish(block, node, states, count)
