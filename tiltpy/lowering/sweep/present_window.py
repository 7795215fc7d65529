"""Windows whose elements see the present: their rows are folded at each visit.

Before: `count(v for v in ~x[t-20 : t] if v < ~x[t])`. What the element sees of the
present is a constant of the fold, computed once a visit; no partial result outlives it.
Where rows leave in order a built-in reduction folds vectors of rows; else, and for
user-defined reductions, a loop goes from row to row. Counts of rows that compare a key
with the present need not look at all of them (`match_counts`).
"""

from collections.abc import Mapping

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import fold_row_panes
from tiltpy.aggregates.user_defined import code_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import cells_of
from tiltpy.emit.elements import FoldedElement, element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, LoopValue
from tiltpy.ir.nodes import LastRows, Reduce, TemporalExpr, UserReduction
from tiltpy.loops.build import (
    FALSE,
    INF,
    NEVER,
    TRUE,
    add,
    conj,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.limited_bound import LimitedBound
from tiltpy.lowering.sweep.match_counts import MatchCounts
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.lowering.sweep.sorted_elements import SortedElements
from tiltpy.lowering.sweep.window_elements import aggregate_of, assign_state
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.nodes import PresentChoice
from tiltpy.types import ALL_PAST, BOOL, ENDLESS


class PresentWindow:
    """A window under one element that sees the present.

    The rows from `lo` up to `hi` are in the window; where they leave in any order, or
    it matters where the window cuts them, some of them have left already (`is_mixed`).
    An open window has `limits`: the bound that moves `lo`.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        choice: PresentChoice,
        definition: TemporalExpr,
        restart: Restart | None,
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.window = choice.window
        self.folded = FoldedElement.of(choice.element)
        self.matches = MatchCounts.of(builder, rows, choice, self.folded)
        self.precision = i64(definition.tdom.precision)
        self.limits: LimitedBound | None = None
        self.lo = builder.fresh(f"{rows.name}.lo")
        self.hi = builder.fresh(f"{rows.name}.hi")
        self.low_before = builder.fresh(f"{rows.name}.low")
        if not self.window.is_fixed:
            hi, limit = bounds.new_bound(rows, "start", self.window.end - 1), None
            if isinstance(self.window.limit, LastRows):
                limit = self.window.limit.count
            self.limits = LimitedBound(
                builder, self.window, hi, count=limit, restart=restart
            )
            self.lo, self.hi = self.limits.row, hi.row
        self.own_row: LExpr | None = None
        self.nodes: list[Reduce] = []
        self.sorted: SortedElements | None = None
        self.changed: Var | None = None
        self.bounds = False
        self.states: dict[Aggregate, State] = {}
        self.user_states: dict[str, tuple[tuple[Var, ...], Var]] = {}
        self.names: Mapping[str, LoopValue] = {}
        self.due: LExpr = INF

    @property
    def is_mixed(self) -> bool:
        """Whether rows between `lo` and `hi` may have left the window."""
        in_order = self.rows.layout.fifo or not self.window.leaves_by_end
        return self.bounds or not in_order

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        self.nodes.append(node)
        reduction = self._user_defined(node)
        self.bounds |= reduction is not None and reduction.bounds
        if node.reduction in WHOLE_WINDOW and self.sorted is None:
            self.sorted = SortedElements(self.builder, self.rows, self.folded.element)

    def cut(self, *, bounds: bool) -> LExpr:
        """Whether other snapshots contribute than at the grid point before.

        With `bounds`: or the window cuts one elsewhere.
        """
        self.bounds |= bounds
        if self.changed is None:
            self.changed = self.builder.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def _user_defined(self, node: Reduce) -> UserReduction | None:
        return self.builder.user_reductions.get(node.reduction)

    def start(self, block: Block) -> None:
        """Start before the loop as an empty window."""
        if self.limits is None:
            block.set(self.lo, i64(0))
            block.set(self.hi, i64(0))
        else:
            self.limits.hi.start(block)
            self.limits.start(block)
            block.set(self.low_before, INF)
        if self.matches is not None:
            self.matches.start(block)

    @property
    def restart(self) -> Restart | None:
        """The restarts that limit it, if any do."""
        return None if self.limits is None else self.limits.restart

    @property
    def keeps_states(self) -> bool:
        """Whether it leaves its restart to the next call, which sees its rows again."""
        return self.restart is not None and self.restart.lasts

    def finish(self, block: Block, last: LExpr) -> None:
        """Leave the last restart to the next call."""
        if self.restart is not None:
            self.restart.leave(block, last)

    def advance(self, block: Block, now: LExpr, present: Leaf) -> None:
        """Move to the loop's time and fold the rows; `present` reads what is there."""
        high = block.name("high", add(now, i64(self.window.end)))
        before = self.builder.fresh("before"), self.builder.fresh("before")
        block.set(before[0], self.lo)
        block.set(before[1], self.hi)
        if self.limits is None:
            low = block.name("low", add(now, i64(self.window.start)))
            watched = self.is_mixed and self.changed is not None
            self._pass(block, sub(low, self.precision) if watched else low, high)
        else:
            self._pass_limited(block, self.limits, now)
            low = self._limited_low(block, now)
        self.names = self.folded.values(block, present)
        if self.is_mixed:
            self._fold_mixed(block, low, high, before)
            return
        if self.changed is not None:
            self._compare(block, *before)
        if self.matches is None:
            self._fold_in_order(block)
        else:
            self._count_matches(block, self.matches)

    def _pass(self, block: Block, low: LExpr, high: LExpr) -> None:
        """Move `lo` to the first row that ends after `low`, `hi` beyond the last."""
        ended, started = block.inner(), block.inner()
        ended.set(self.lo, add(self.lo, i64(1)))
        block.add(While(le(self.rows.end_or_never(self.lo), low), ended.body()))
        started.set(self.hi, add(self.hi, i64(1)))
        starts = lt(self.rows.start_or_never(self.hi), high)
        if self.own_row is not None:
            starts = le(self.hi, self.own_row)
        block.add(While(starts, started.body()))

    def _pass_limited(self, block: Block, limits: LimitedBound, now: LExpr) -> None:
        """Move `hi`, then `lo`, which it moves.

        Before the first restart neither moves: the rows that last stay to come.
        """
        until = now
        if limits.restart is not None:
            limits.restart.advance(block, now)
            if not self.window.by_row:
                come = limits.restart.has_come()
                until = block.name("until", select(come, now, i64(-ENDLESS)))
        limits.hi.run(block, until, to_row=self.own_row)
        limits.run(block, now, block.inner())

    def _limited_low(self, block: Block, now: LExpr) -> LExpr:
        """The time after which rows end that an open window holds."""
        terms: list[LExpr] = [NEVER]
        if self.window.start > ALL_PAST:
            terms.append(add(now, i64(self.window.start)))
        if self.restart is not None and not self.window.by_row:
            terms.append(self.restart.at)
        return block.name("low", greatest(*terms))

    def _element(self, block: Block, row: LExpr) -> LoopValue:
        return element_of(block, self.rows, row, self.folded.element, self.names)

    # Rows that leave in order

    def _compare(self, block: Block, lo: LExpr, hi: LExpr) -> None:
        """Look whether a row that came or left since then contributes."""
        assert self.changed is not None
        block.set(self.changed, FALSE)
        for first, stop in (
            (lo, least(self.lo, hi)),
            (greatest(self.lo, hi), self.hi),
        ):
            row, inner = self.builder.fresh("row"), block.inner()
            value = self._element(inner, row)
            inner.set(self.changed, disj(self.changed, value.valid))
            block.add(For(row, first, stop, inner.body()))

    def _count_matches(self, block: Block, matches: MatchCounts) -> None:
        """Count the matches, anew where the window has few rows."""
        count = self.builder.fresh(f"{self.rows.name}.matches")
        few, many = block.inner(), block.inner()
        self._fold_in_order(few)
        few.set(count, self.states[COUNT][0])
        many.set(count, matches.count(many, self.lo, self.hi, self.names))
        block.either(matches.has_many(self.lo, self.hi), many, few)
        self.states = {COUNT: (count,)}

    def _fold_in_order(self, block: Block) -> None:
        """Fold built-in reductions in vectors, the others row by row."""
        names = {
            node.reduction
            for node in self.nodes
            if node.reduction not in WHOLE_WINDOW and self._user_defined(node) is None
        }
        if names:
            size = self.builder.fresh(f"{self.rows.name}.held")
            block.set(size, greatest(sub(self.hi, self.lo), i64(0)))
            source, element = cells_of(self.rows), self.folded.element
            pane = Pane(source, element, self.lo, size, self.names)
            folds = fold_row_panes(block, {pane: names})
            self.states = {COUNT: (size,), **folds.get(pane, {})}
        by_row = [node for node in self.nodes if node.reduction not in names]
        self._fold_rows(block, by_row)

    def _fold_rows(self, block: Block, nodes: list[Reduce]) -> None:
        if not nodes:
            return
        self._begin(block, nodes)
        row, inner = self.builder.fresh("row"), block.inner()
        value = self._element(inner, row)
        taken = inner.inner()
        self._take(taken, nodes, row, value, None)
        inner.when(value.valid, taken)
        block.add(For(row, self.lo, self.hi, inner.body()))

    # Rows that leave in any order, or are cut by the window's edges

    def _fold_mixed(
        self, block: Block, low: LExpr, high: LExpr, bounds_before: tuple[Var, Var]
    ) -> None:
        rows, ending = self.rows, self.builder.fresh("ending")
        occupied = self.builder.fresh("some", BOOL)
        self._begin(block, self.nodes)
        block.set(ending, INF)
        block.set(occupied, FALSE)
        if self.changed is not None:
            block.set(self.changed, FALSE)
        row, inner = self.builder.fresh("row"), block.inner()
        begin = inner.name("start", rows.start_at(row))
        end = inner.name("end", rows.end_at(row))
        first: LExpr = self.lo
        within = lt(low, end)
        if self.limits is not None:
            first, within = bounds_before[0], conj(le(self.lo, row), within)
        inside = inner.name("in", within)
        inner.set(ending, select(inside, least(ending, end), ending))
        inner.set(occupied, disj(occupied, inside))
        value = self._element(inner, row)
        clipped = greatest(begin, low), least(end, high)
        if self.changed is not None:
            past_low, past_high = sub(low, self.precision), sub(high, self.precision)
            before = conj(lt(begin, past_high), lt(past_low, end))
            if self.limits is not None:
                held = lt(self.low_before, end)
                before = conj(lt(row, bounds_before[1]), held)
            differs = ne(inside, before)
            if self.bounds:
                past = greatest(begin, past_low), least(end, past_high)
                pairs = zip(clipped, past, strict=True)
                differs = disj(differs, conj(inside, disj(*(ne(*p) for p in pairs))))
            inner.set(self.changed, disj(self.changed, conj(value.valid, differs)))
        taken = inner.inner()
        self._take(taken, self.nodes, row, value, clipped)
        inner.when(inner.name("ok", conj(inside, value.valid)), taken)
        block.add(For(row, first, self.hi, inner.body()))
        self.due = INF
        if self.window.start > ALL_PAST:
            leaving = sub(ending, i64(self.window.start))
            self.due = select(lt(ending, INF), leaving, INF)
        if self.limits is not None:
            block.set(self.low_before, low)
        if self.bounds:  # an edge may cut a row at another time at the next tick
            now = sub(low, i64(self.window.start))
            self.due = select(occupied, add(now, i64(1)), INF)
        self.due = block.name("due", self.due)

    # States of a loop from row to row

    def _begin(self, block: Block, nodes: list[Reduce]) -> None:
        """Set the states of no row."""
        fresh = self.builder.fresh
        self.user_states.clear()
        states: dict[Aggregate, tuple[Var, ...]] = {}
        for node in nodes:
            reduction = self._user_defined(node)
            if reduction is not None:
                code = code_of(reduction)
                state = tuple(fresh(reduction.name, kind) for kind in code.types())
                occupied = fresh(f"{reduction.name}.some", BOOL)
                assign_state(block, state, code.initial(block))
                block.set(occupied, FALSE)
                self.user_states[reduction.name] = state, occupied
            elif node.reduction in WHOLE_WINDOW:
                assert self.sorted is not None
                self.sorted.begin(block)
            else:
                for kind in (COUNT, aggregate_of(self.builder, node)):
                    states[kind] = tuple(fresh(kind.name, t) for t in kind.types)
        for kind, variables in states.items():
            assign_state(block, variables, kind.identity)
        self.states |= states

    def _take(
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
            reduction = self._user_defined(node)
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
            assign_state(block, _variables(variables), new)
        if whole:
            assert self.sorted is not None
            self.sorted.take(block, value.scalar, row)

    # Results

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        if self.limits is not None:
            coming: LExpr = self.limits.hi.due
            if self.limits.restart is not None:
                coming = select(self.limits.restart.has_come(), coming, INF)
            return [coming, self.limits.due, self.due]
        coming = sub(self.rows.start_or_never(self.hi), i64(self.window.end - 1))
        if self.is_mixed:
            return [coming, self.due]
        leaving = sub(self.rows.end_or_never(self.lo), i64(self.window.start))
        return [coming, leaving]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        reduction = self._user_defined(node)
        if reduction is not None:
            state, occupied = self.user_states[reduction.name]
            return code_of(reduction).result(block, state, occupied)
        if node.reduction in WHOLE_WINDOW:
            assert self.sorted is not None
            return self.sorted.value(block, node, self.names)
        (count,) = self.states[COUNT]
        if node.reduction == "count":
            return LoopValue(node.type, count, TRUE)
        states = self.states[aggregate_of(self.builder, node)]
        if node.reduction in ("first", "last"):
            occupied_ = block.name("some", lt(i64(0), count))
            row = block.name("row", select(occupied_, states[0], i64(0)))
            value = self._element(block, row)
            return LoopValue(node.type, value.value, occupied_)
        return finish(block, node, states, count)


def _variables(state: State) -> tuple[Var, ...]:
    variables = tuple(number for number in state if isinstance(number, Var))
    assert len(variables) == len(state), "a state that is not in variables"
    return variables
