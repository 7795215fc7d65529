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


def lower_fold(folding: PaneAggregationPlan) -> LoweredKernel:
    """The kernel, over a range of panes."""
    builder = folding.builder()
    block = Block(builder)
    name = folding.definition.name
    rows = folding.rows(builder, block)
    matrices = folding.matrices(builder, written=True)
    keys = builder.array(SlotKind.KEYS, folding.input, folding.key)
    bounds = builder.array(SlotKind.PANE_ROWS, name, I64)
    given = builder.number(SlotKind.KEY_COUNT, name)
    count = block.name("keys", greatest(given, i64(0)))  # so that one test is enough
    least = builder.number(SlotKind.LEAST, name)
    lost = builder.fresh("lost")
    block.set(lost, i64(0))
    pane, row = builder.fresh("pane"), builder.fresh("row")
    each = block.inner()
    base = each.name("base", mul(pane, count))
    for matrix, nothing in zip(matrices, _nothing(folding), strict=True):
        entry = builder.fresh("entry")
        clear = (Store(matrix, entry, nothing),)
        each.add(For(entry, base, add(base, count), clear))
    visit, inside, outside = each.inner(), each.inner(), each.inner()
    code = visit.name("code", sub(convert(load(keys, row), I64), least))
    place = inside.name("place", add(base, code))
    _count(inside, folding, rows, matrices, row, place)
    _merge(inside, folding, rows, matrices, row, place)
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
    """What the entries of each matrix are before there is any row."""
    for scalar in folding.counts:
        yield Num(0, scalar)
    for part in folding.parts:
        yield from part.kept.identity


def _count(
    block: Block,
    folding: PaneAggregationPlan,
    rows: ObjectRows,
    matrices: list[Array],
    row: LExpr,
    place: LExpr,
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
        block.add(Store(matrix, place, add(load(matrix, place), step)))


def _once(condition: LExpr, one: Num) -> LExpr:
    return select(condition, one, Num(0, one.type))


def _merge(
    block: Block,
    folding: PaneAggregationPlan,
    rows: ObjectRows,
    matrices: list[Array],
    row: LExpr,
    place: LExpr,
) -> None:
    """Add an event to the states of the reductions."""
    there = rows.exists(row)
    for part in folding.parts:
        value = value_of(block, rows, row, part.element)
        contributes = block.name("in", conj(there, value.valid))
        new = lift_where(block, part.kept, value, contributes, row)
        own = matrices[part.column : part.column + len(part.kept.types)]
        old = tuple(block.name("old", load(matrix, place)) for matrix in own)
        merged = [block.name("m", one) for one in part.kept.combine(block, old, new)]
        block.add(*(Store(m, place, one) for m, one in zip(own, merged, strict=True)))


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
