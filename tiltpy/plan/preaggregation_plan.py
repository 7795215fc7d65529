"""Plan of a pre-aggregation: which windows by key allow one, and their panes.

Tumbling and hopping windows of section 6.1 of the paper, per key. Where all bounds of
an output's windows lie on one grid and each event between two of its points, one kernel
visits the rows in order of time and adds each to the state of its key and pane
(`accumulate`). Another computes the output's cells from those states (`finalize`).
`abi.PaneAggregation` is what both kernels and the runtime agree on.
"""

from collections.abc import Mapping
from math import gcd

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import PaneAggregation
from tiltpy.abi.slots import SlotKind
from tiltpy.aggregates.aggregate import Aggregate
from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.references import reductions
from tiltpy.emit.row_access import ObjectRows, input_rows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.forks import cached_property
from tiltpy.ir.cuts import expressions
from tiltpy.ir.nodes import (
    At,
    CellSpan,
    Const,
    CutWindow,
    Element,
    EventBound,
    Expr,
    If,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.ir.traversal import sees_present, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, i64
from tiltpy.loops.nodes import Array, LExpr
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.nodes import Misfit, refuse_whole_window
from tiltpy.types import BOOL, U32, U64, Scalar, TDom

Span = tuple[int, int]
"""Panes of a window, counted from its cell's first."""


@dataclass(frozen=True, slots=True)
class PaneState:
    """Number `column` of the matrices from which a kind of state begins."""

    aggregate: Aggregate
    element: Expr
    column: int


class PaneAggregationPlan:
    """An output whose windows are folded by key, and what is kept for it.

    `key` is the type that the keys come in. `narrow`: no pane has more than
    2**16 - 1 rows. Raises `Misfit` with the reason where there is no such form.
    """

    def __init__(
        self,
        query: Query,
        output: str,
        layouts: Mapping[str, Layout],
        key: Scalar = U32,
        *,
        narrow: bool = False,
        costs: Costs = DEFAULT_COSTS,
    ) -> None:
        self.costs = costs
        definition = query.definition(output)
        assert definition is not None
        self.query = query
        self.definition = definition
        self.layouts = layouts
        self.key = key
        self.narrow = narrow
        _check(definition, query)

    @cached_property
    def input(self) -> str:
        """The one object that it reads."""
        return self.windows[0].object

    @cached_property
    def windows(self) -> list[Window]:
        """All windows, those that only cut among them."""
        cuts = (cut for cut in self.definition.cuts if isinstance(cut, CutWindow))
        windows = [node.window for node in reductions(self.definition)]
        return list(dict.fromkeys([*windows, *(cut.window for cut in cuts)]))

    @cached_property
    def pane(self) -> int:
        """The ticks of a pane, or 1 if panes are the cells of a calendar."""
        if self.definition.tdom.calendar is not None:
            return 1
        bounds = (
            bound for window in self.windows for bound in (window.start, window.end)
        )
        return gcd(self.definition.tdom.precision, *bounds)

    def span(self, window: Window) -> Span:
        """The panes of a window."""
        if window.cells is not None:
            return -window.cells.count, 0
        return window.start // self.pane, window.end // self.pane

    @cached_property
    def longest_window(self) -> int:
        """The number of panes of the longest window."""
        return max(high - low for low, high in map(self.span, self.windows))

    # What is kept

    @cached_property
    def conditions(self) -> list[Expr]:
        """The conditions of elements on the events that they count."""
        elements = [node.element for node in reductions(self.definition)]
        cuts = (cut for cut in self.definition.cuts if isinstance(cut, CutWindow))
        elements += [cut.element for cut in cuts]
        conditions = (self.condition(element) for element in elements)
        return list(dict.fromkeys(filter(None, conditions)))

    def condition(self, element: Expr) -> Expr | None:
        """Find the condition of an element: φ for events that do not contribute.

        None where all do. Elements that differ in their values alone have the same.
        """
        if self._certain(element):
            return None
        match element:
            case If(condition=asked, then=then, otherwise=Phi()) if self._certain(then):
                return If(asked, Const(True, BOOL), Phi(BOOL))
            case _:
                return element

    def _certain(self, element: Expr) -> bool:
        """Decide whether every event contributes."""
        builder = self.builder()
        rows = self.rows(builder, Block(builder))
        return value_of(Block(builder), rows, i64(0), element).valid == TRUE

    @cached_property
    def pane_states(self) -> list[PaneState]:
        """The states, each for an element, and where they are."""
        states: dict[tuple[Aggregate, Expr], PaneState] = {}
        column = len(self.counts)
        for node in reductions(self.definition):
            if node.reduction == "count":
                continue
            aggregate = self.aggregate(node)
            if (aggregate, node.element) not in states:
                states[aggregate, node.element] = PaneState(
                    aggregate, node.element, column
                )
                column += len(aggregate.types)
        return list(states.values())

    def aggregate(self, node: Reduce) -> Aggregate:
        """The state of a reduction, besides its count."""
        user_defined = {
            reduction.name: reduction for reduction in self.query.reductions
        }
        return aggregate_for(node.reduction, node.element.type, user_defined)

    def pane_state(self, node: Reduce) -> PaneState:
        """Find the state of a reduction."""
        aggregate = self.aggregate(node)
        return next(
            pane_state
            for pane_state in self.pane_states
            if pane_state.aggregate == aggregate and pane_state.element == node.element
        )

    @cached_property
    def half(self) -> int:
        """See `abi.PaneAggregation`."""
        return (16 if self.narrow else 32) if self.conditions else 0

    @cached_property
    def counts(self) -> tuple[Scalar, ...]:
        """The types of the matrices that count, one for each condition but the first.

        Without any condition, too, there is one.
        """
        first = U64 if self.half == 32 else U32
        return (first, *(U32 for _ in self.conditions[1:]))

    @cached_property
    def states(self) -> tuple[Scalar, ...]:
        """The types of all matrices."""
        return self.counts + tuple(
            t for pane_state in self.pane_states for t in pane_state.aggregate.types
        )

    def aggregation(self) -> PaneAggregation:
        """The part of the plan that the runtime reads."""
        tdom, payload = self.definition.tdom, self.query.type_of(self.input)
        spans = [self.span(window) for window in self.windows]
        return PaneAggregation(
            self.input,
            self.pane,
            tdom.offset % self.pane,
            tdom.calendar,
            tdom.precision // self.pane,
            min(low for low, _ in spans),
            max(high for _, high in spans),
            self.longest_window,
            self.key,
            self.half,
            isinstance(payload, Scalar) and self.layouts[self.input].nullable[0],
            self.states,
            any(
                node.reduction in ("first", "last")
                for node in reductions(self.definition)
            ),
        )

    # What both kernels refer to

    def builder(self) -> KernelBuilder:
        """Make the builder of a kernel that never reads the times of rows."""
        layout = Layout(TimeLayout.SAMPLED, self.layouts[self.input].nullable)
        return KernelBuilder({self.input: layout}, self.query.reductions, self.costs)

    def rows(self, builder: KernelBuilder, block: Block) -> ObjectRows:
        """The input's rows."""
        return input_rows(builder, block, self.input, self.query.type_of(self.input))

    def matrices(self, builder: KernelBuilder, *, written: bool) -> list[Array]:
        """The matrices in memory."""
        name = self.definition.name
        return [
            builder.array(SlotKind.STATES, name, scalar, column, written=written)
            for column, scalar in enumerate(self.states)
        ]


def _check(definition: TemporalExpr, query: Query) -> None:
    """Refuse what reads anything but windows of one input, folded by merging."""
    name = definition.name
    if definition.distinct:
        raise Misfit(f"~{name} is distinct")
    if definition.tdom.rows is not None:
        raise Misfit(f"~{name} is defined over rows")
    if not definition.cuts:
        raise Misfit(f"~{name} refers to nothing")
    objects: set[str] = set()
    for cut in definition.cuts:
        if not isinstance(cut, CutWindow):
            raise Misfit(f"~{name} refers to more than windows")
        _check_window(cut.window, definition.tdom)
        objects.add(cut.window.object)
    for expr in expressions(definition):
        for node in walk(expr):
            match node:
                case At() | EventBound() | Time():
                    raise Misfit(f"~{name} refers to more than windows")
                case Reduce():
                    objects.add(node.window.object)
                    _check_window(node.window, definition.tdom)
                    _check_reduction(node, query)
                case _:
                    pass
    for source in objects:
        if query.input(source) is None:
            raise Misfit(f"~{name} refers to ~{source}, which is not an input")
    if len(objects) > 1:
        raise Misfit(f"~{name} refers to several inputs")


def _check_window(window: Window, tdom: TDom) -> None:
    if not window.is_fixed:
        raise Misfit(f"a window of ~{window.object} is of no fixed length")
    if tdom.calendar is None and window.cells is None:
        return
    if not isinstance(window.cells, CellSpan) or window.cells.calendar != tdom.calendar:
        raise Misfit(f"a window of ~{window.object} is not of its calendar's cells")


def _check_reduction(node: Reduce, query: Query) -> None:
    if sees_present(node.element):
        raise Misfit(f"elements of ~{node.window.object} see the present")
    if node.reduction in WHOLE_WINDOW:
        raise Misfit(refuse_whole_window(node).reason)
    user_defined = next((r for r in query.reductions if r.name == node.reduction), None)
    if user_defined is not None and (user_defined.bounds or user_defined.merge is None):
        raise Misfit(f"{node.reduction} has no merge, or sees where snapshots start")


def value_of(block: Block, rows: ObjectRows, row: LExpr, element: Expr) -> LoopValue:
    """An element at a row that is an event."""

    def leaf(node: Reading) -> LoopValue:
        assert isinstance(node, Element), "an element reads its snapshot alone"
        return rows.value(row, TRUE)

    return lower_expr(block, leaf, element)
