"""The kernel that makes cells of what was folded by key, for a range of keys.

For each cell the panes of its windows are merged, then the result is computed and
whether a window has changed: each step for all of the keys, side by side.
"""

from tiltpy.abi.signature import Shape
from tiltpy.abi.slots import SlotKind
from tiltpy.aggregates.aggregate import State
from tiltpy.aggregates.finalize import finish
from tiltpy.emit.builder import Block
from tiltpy.emit.elements import row_value
from tiltpy.emit.references import reductions
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import (
    CutWindow,
    Expr,
    Reduce,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    add,
    convert,
    disj,
    greatest,
    i64,
    least,
    load,
    lt,
    mul,
    ne,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Store, Var
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.preaggregation.accumulate import lowered_of
from tiltpy.ops import BinaryOp
from tiltpy.plan.preaggregation_plan import PaneAggregationPlan, PaneState, Span
from tiltpy.types import BOOL, I64, Scalar, columns


def lower_finalize(folding: PaneAggregationPlan) -> LoweredKernel:
    """The kernel, over a range of cells."""
    return _FinalizeKernel(folding).plan()


@dataclass(frozen=True, slots=True)
class _PaneMerge:
    """States of panes to merge into those of a window, for each key.

    A count (of a condition, or of all events), or those of a `state`.
    """

    span: Span
    count: Expr | None
    state: PaneState | None = None


class _FinalizeKernel:
    """The kernel, put together step by step."""

    def __init__(self, folding: PaneAggregationPlan) -> None:
        self.folding = folding
        self.name = name = folding.definition.name
        self.builder = builder = folding.builder()
        self.block = Block(builder)
        self.matrices = folding.matrices(builder, written=False)
        self.rows = folding.rows(builder, self.block)
        self.keys = builder.number(SlotKind.KEY_COUNT, name)
        self.panes = builder.number(SlotKind.PANE_COUNT, name)
        self.low = builder.number(SlotKind.KEY_LOW, name)
        high = builder.number(SlotKind.KEY_HIGH, name)
        self.width = self.block.name("width", sub(high, self.low))
        self.merged = self._plan_merges()
        self.rows_of: dict[_PaneMerge, tuple[Array, ...]] = {
            merge: self._scratch(merge) for merge in self.merged
        }
        self.moved = self._temporary("moved", BOOL)

    def _plan_merges(self) -> list[_PaneMerge]:
        """Find the merges that reductions need, each once."""
        merges: dict[_PaneMerge, None] = {}
        for node in reductions(self.folding.definition):
            count, states = self._needs(node)
            merges.setdefault(count)
            if states is not None:
                merges.setdefault(states)
        return list(merges)

    def _needs(self, node: Reduce) -> tuple[_PaneMerge, _PaneMerge | None]:
        span = self.folding.span(node.window)
        count = _PaneMerge(span, self.folding.condition(node.element))
        if node.reduction == "count":
            return count, None
        return count, _PaneMerge(span, None, self.folding.pane_state(node))

    def _scratch(self, merge: _PaneMerge) -> tuple[Array, ...]:
        if merge.state is None:
            return (self._temporary("n", I64),)
        aggregate = merge.state.aggregate
        return tuple(self._temporary(aggregate.name, kind) for kind in aggregate.types)

    def _temporary(self, name: str, scalar: Scalar) -> Array:
        return self.builder.temporary(name, scalar, (("", 1),))

    def plan(self) -> LoweredKernel:
        """The kernel and its signature."""
        number = self.builder.number
        first, last = (number(k, self.name) for k in (SlotKind.FIRST, SlotKind.LAST))
        cell = self.builder.fresh("cell")
        each = self.block.inner()
        ahead = mul(cell, i64(self.folding.aggregation().stride))
        pane = each.name("pane", add(ahead, number(SlotKind.SHIFT, self.name)))
        self._clear(each)
        for merge in self.merged:
            self._merge(each, merge, pane)
        for cut in dict.fromkeys(self._cuts()):
            self._mark(each, cut, pane)
        self._finish(each, mul(sub(cell, first), self.width))
        self.block.add(For(cell, first, last, each.body()))
        return lowered_of(self.folding, self.builder, self.block, Shape.KEYS)

    # Merging

    def _each_key(self, block: Block) -> tuple[Var, Block]:
        """Make the variable of a loop over the keys, and its body."""
        return self.builder.fresh("key"), block.inner()

    def _over_keys(self, block: Block, key: Var, inner: Block) -> None:
        block.add(For(key, i64(0), self.width, inner.body()))

    def _clear(self, block: Block) -> None:
        key, inner = self._each_key(block)
        for merge, arrays in self.rows_of.items():
            nothing = (
                (i64(0),) if merge.state is None else merge.state.aggregate.identity
            )
            for array, value in zip(arrays, nothing, strict=True):
                inner.add(Store(array, key, value))
        inner.add(Store(self.moved, key, FALSE))
        self._over_keys(block, key, inner)

    def _merge(self, block: Block, merge: _PaneMerge, pane: LExpr) -> None:
        low, high = merge.span
        at, body, base = self._pane(block)
        key, inner = self._each_key(body)
        index = inner.name("place", add(base, key))
        arrays = self.rows_of[merge]
        if merge.state is None:
            total = add(load(arrays[0], key), self._count(inner, merge.count, index))
            inner.add(Store(arrays[0], key, total))
        else:
            aggregate, column = merge.state.aggregate, merge.state.column
            state_matrices = self.matrices[column : column + len(aggregate.types)]
            old = tuple(inner.name("old", load(array, key)) for array in arrays)
            new = tuple(
                inner.name("new", load(matrix, index)) for matrix in state_matrices
            )
            merged = [
                inner.name("m", number) for number in aggregate.combine(inner, old, new)
            ]
            for array, number in zip(arrays, merged, strict=True):
                inner.add(Store(array, key, number))
        self._over_keys(body, key, inner)
        self._panes(block, at, body, add(pane, i64(low)), add(pane, i64(high)))

    def _pane(self, block: Block) -> tuple[Var, Block, LExpr]:
        """Make a loop over panes: its variable, its body, its first key's entry."""
        at, body = self.builder.fresh("at"), block.inner()
        return at, body, body.name("base", add(mul(at, self.keys), self.low))

    def _panes(
        self, block: Block, at: Var, body: Block, low: LExpr, high: LExpr
    ) -> None:
        """Append such a loop, over the panes that there are."""
        first, last = greatest(low, i64(0)), least(high, self.panes)
        block.add(For(at, first, last, body.body()))

    def _count(self, block: Block, condition: Expr | None, index: LExpr) -> LExpr:
        """Count the events of a pane that meet a condition; all if there is none."""
        conditions, half = self.folding.conditions, self.folding.half
        number = 0 if condition is None else conditions.index(condition)
        entry = block.name("entry", load(self.matrices[number], index))
        if half == 0 or number > 0:
            return convert(entry, I64)
        op: BinaryOp = "%" if condition is None else "//"
        both = Num(1 << half, entry.type)
        return convert(Bin(op, entry, both, entry.type), I64)

    # Cuts

    def _cuts(self) -> list[tuple[Span, Expr | None]]:
        return [
            (self.folding.span(cut.window), self.folding.condition(cut.element))
            for cut in self.folding.definition.cuts
            if isinstance(cut, CutWindow)
        ]

    def _mark(self, block: Block, cut: tuple[Span, Expr | None], pane: LExpr) -> None:
        """Mark the keys of which a row enters a window or leaves it.

        With steps longer than the window that is any row of it, and of the one before.
        """
        (low, high), condition = cut
        stride = self.folding.aggregation().stride
        came = max(low, high - stride), high
        left = low - stride, min(low, high - stride)
        for first, last in (left, came):
            at, body, base = self._pane(block)
            key, inner = self._each_key(body)
            index = inner.name("place", add(base, key))
            occupied = ne(self._count(inner, condition, index), i64(0))
            inner.add(Store(self.moved, key, disj(load(self.moved, key), occupied)))
            self._over_keys(body, key, inner)
            self._panes(block, at, body, add(pane, i64(first)), add(pane, i64(last)))

    # Results

    def _finish(self, block: Block, base: LExpr) -> None:
        """Every key's value, and the two bytes beside it."""
        key, inner = self._each_key(block)
        index = inner.name("place", add(base, key))

        def leaf(node: Reading) -> LoopValue:
            assert isinstance(node, Reduce), "a result reads windows alone"
            return self._reduce(inner, node, key)

        definition = self.folding.definition
        value = lower_expr(inner, leaf, definition.body)
        values = value.fields or (value,)
        kinds = columns(definition.type)
        for number, (field, (_, scalar)) in enumerate(zip(values, kinds, strict=True)):
            out = self._output_array(SlotKind.OUT_VALUES, scalar, number)
            inner.add(Store(out, index, field.scalar))
            if value.fields:
                flags = self._output_array(SlotKind.OUT_VALIDITY, BOOL, number)
                inner.add(Store(flags, index, field.valid))
        covered = self._output_array(SlotKind.OUT_COVERED, BOOL)
        begins = self._output_array(SlotKind.OUT_BEGINS, BOOL)
        inner.add(Store(covered, index, value.valid))
        inner.add(Store(begins, index, load(self.moved, key)))
        self._over_keys(block, key, inner)

    def _output_array(self, kind: SlotKind, scalar: Scalar, column: int = 0) -> Array:
        return self.builder.array(kind, self.name, scalar, column, written=True)

    def _reduce(self, block: Block, node: Reduce, key: Var) -> LoopValue:
        """The value of a reduction for a key."""
        count, states = self._needs(node)
        number = block.name("n", load(self.rows_of[count][0], key))
        state: State = ()
        if states is not None:
            arrays = self.rows_of[states]
            state = tuple(block.name("s", load(array, key)) for array in arrays)
        if node.reduction in ("first", "last"):
            occupied = block.name("some", lt(i64(0), number))
            return row_value(block, self.rows, node, state[0], occupied)
        result = finish(block, node, state, number)
        if result.value is None:
            return result
        value, valid = block.name("r", result.scalar), block.name("ok", result.valid)
        return LoopValue(result.type, value, valid)
