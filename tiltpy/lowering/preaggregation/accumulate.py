"""The kernel that folds rows by key: each goes to the state of its key in its pane.

The panes say which rows are theirs, so there is no time in the loop over them: a key, a
condition, and an entry in each of some rows of matrices, which stay in the cache.
"""

from collections.abc import Iterator

from tiltpy.abi.signature import Loop, Shape, Signature
from tiltpy.abi.slots import SlotKind
from tiltpy.aggregates.aggregate import lift_where
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    greatest,
    i64,
    le,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, For, LExpr, LoopKernel, Num, Store, WriteSlot
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.plan.preaggregation_plan import PaneAggregationPlan, value_of
from tiltpy.types import I64


def lower_accumulate(folding: PaneAggregationPlan) -> LoweredKernel:
    """The kernel, over a range of panes."""
    builder = folding.builder()
    block = Block(builder)
    name = folding.definition.name
    rows = folding.rows(builder, block)
    matrices = folding.matrices(builder, written=True)
    keys = builder.array(SlotKind.KEYS, folding.input, folding.key)
    bounds = builder.array(SlotKind.PANE_ROWS, name, I64)
    key_count = builder.number(SlotKind.KEY_COUNT, name)
    count = block.name(
        "keys", greatest(key_count, i64(0))
    )  # so that one test is enough
    least = builder.number(SlotKind.LEAST, name)
    lost = builder.fresh("lost")
    block.set(lost, i64(0))
    pane, row = builder.fresh("pane"), builder.fresh("row")
    each = block.inner()
    base = each.name("base", mul(pane, count))
    for matrix, nothing in zip(matrices, _nothing(folding), strict=True):
        cleared = builder.fresh("entry")
        clear = (Store(matrix, cleared, nothing),)
        each.add(For(cleared, base, add(base, count), clear))
    visit, inside, outside = each.inner(), each.inner(), each.inner()
    code = visit.name("code", sub(convert(load(keys, row), I64), least))
    index = inside.name("place", add(base, code))
    _count(inside, folding, rows, matrices, row, index)
    _merge(inside, folding, rows, matrices, row, index)
    outside.set(lost, add(lost, i64(1)))
    visit.either(conj(le(i64(0), code), lt(code, count)), inside, outside)
    begin = each.name("begin", load(bounds, pane))
    end = each.name("end", load(bounds, add(pane, i64(1))))
    each.add(For(row, begin, end, visit.body()))
    first = builder.number(SlotKind.FIRST, name)
    last = builder.number(SlotKind.LAST, name)
    block.add(For(pane, first, last, each.body()))
    block.add(WriteSlot(builder.slot(SlotKind.LOST, name), lost))
    return lowered_of(folding, builder, block, Shape.GROUPED)


def _nothing(folding: PaneAggregationPlan) -> Iterator[Num]:
    """Fill each matrix: the states of no rows."""
    for scalar in folding.counts:
        yield Num(0, scalar)
    for pane_state in folding.pane_states:
        yield from pane_state.aggregate.identity


def _count(
    block: Block,
    folding: PaneAggregationPlan,
    rows: ObjectRows,
    matrices: list[Array],
    row: LExpr,
    index: LExpr,
) -> None:
    """Count an event, and which conditions it meets; the first in the same entry."""
    there = rows.exists(row)
    steps = [_once(there, Num(1, folding.counts[0]))]
    for number, condition in enumerate(folding.conditions):
        valid = conj(there, value_of(block, rows, row, condition).valid)
        if number == 0:
            both = Num(1 + (1 << folding.half), folding.counts[0])
            steps[0] = block.name("step", select(valid, both, steps[0]))
        else:
            steps.append(_once(valid, Num(1, folding.counts[number])))
    for matrix, step in zip(matrices, steps, strict=False):
        block.add(Store(matrix, index, add(load(matrix, index), step)))


def _once(condition: LExpr, step: Num) -> LExpr:
    return select(condition, step, Num(0, step.type))


def _merge(
    block: Block,
    folding: PaneAggregationPlan,
    rows: ObjectRows,
    matrices: list[Array],
    row: LExpr,
    index: LExpr,
) -> None:
    """Add an event to the states of the reductions."""
    there = rows.exists(row)
    for pane_state in folding.pane_states:
        value = value_of(block, rows, row, pane_state.element)
        contributes = block.name("in", conj(there, value.valid))
        new = lift_where(block, pane_state.aggregate, value, contributes, row)
        state_matrices = matrices[
            pane_state.column : pane_state.column + len(pane_state.aggregate.types)
        ]
        old = tuple(block.name("old", load(matrix, index)) for matrix in state_matrices)
        merged = [
            block.name("m", number)
            for number in pane_state.aggregate.combine(block, old, new)
        ]
        block.add(
            *(
                Store(m, index, number)
                for m, number in zip(state_matrices, merged, strict=True)
            )
        )


def lowered_of(
    folding: PaneAggregationPlan, builder: KernelBuilder, block: Block, shape: Shape
) -> LoweredKernel:
    """The kernel that a block is the whole of."""
    kernel = LoopKernel(
        builder.slot_numbers(), tuple(builder.arrays.values()), block.body()
    )
    definition = folding.definition
    loop = Loop(
        definition.name,
        definition.tdom,
        definition.type,
        shape,
        (),
        (),
        every_cell=False,
        implicit_times=False,
    )
    signature = Signature(
        tuple(builder.slots),
        (loop,),
        tuple(builder.scratch),
        (definition.name,),
        pane_aggregation=folding.aggregation(),
    )
    return LoweredKernel(kernel, signature)
