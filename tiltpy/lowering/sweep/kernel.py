"""A query to a kernel: one loop for each temporal object, in order of dependency.

Objects that fusion has left besides the outputs are computed over the time that their
readers need, into scratch arrays of the chunk's size. The plan says how each loop
visits time (`plan.nodes`).
"""

from collections.abc import Collection, Iterable, Mapping

from tiltpy.abi.layouts import Layout
from tiltpy.abi.signature import Signature
from tiltpy.abi.slots import SlotKind
from tiltpy.costs import Costs
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.output_arrays import OutputArrays, output_arrays
from tiltpy.emit.references import derived_bounds, fields_read
from tiltpy.emit.row_access import ObjectRows, input_rows
from tiltpy.ir.cuts import reads
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.ir.reductions import block_ticks
from tiltpy.loops.build import (
    INF,
    NEVER,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.dead_stores import drop_dead_stores
from tiltpy.loops.nodes import Array, LExpr, LoopKernel, Store, WriteSlot
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.sweep.loop import Sweep
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.row_map import RowLoop
from tiltpy.lowering.sweep.row_scan import RowScanLoop
from tiltpy.plan.confinement import NOWHERE_CONFINED, confine
from tiltpy.plan.facts import computed_layout
from tiltpy.plan.nodes import LoopChoice, RowMap, RowScan

PAYLOADS = SlotKind.OUT_VALUES, SlotKind.OUT_VALIDITY


def lower(
    query: Query,
    layouts: Mapping[str, Layout],
    choices: Iterable[LoopChoice],
    costs: Costs,
) -> LoweredKernel:
    """Lower a query to the kernel for any rows of these layouts, as planned."""
    builder = KernelBuilder(layouts, query.reductions, costs)
    builder.block_ticks = block_ticks(query.unit)
    block = Block(builder)
    used = {name for d in query.definitions for name in reads(d)}
    objects = {
        declared.name: input_rows(builder, block, declared.name, declared.type)
        for declared in query.inputs
        if declared.name in used
    }
    rankings = Rankings(builder)
    builder.fields = fields_read(query.definitions)
    builder.rows |= {d.name for d in query.definitions if d.tdom.rows is not None}
    known = builder.rows
    seen = {bound for d in query.definitions for bound in derived_bounds(d, known)}
    confined = confine(query.definitions)
    loops = []
    for definition, choice in zip(query.definitions, choices, strict=True):
        assert choice.name == definition.name
        is_read = definition.name in used
        loop: Sweep | RowLoop | RowScanLoop
        match choice.plan:
            case RowMap() as plan:
                loop = RowLoop(builder, definition, objects, plan)
            case RowScan() as plan:
                loop = RowScanLoop(
                    builder, definition, objects, rankings, plan, is_read=is_read
                )
            case scan:
                known_rows = confined.get(definition.name, NOWHERE_CONFINED)
                loop = Sweep(builder, definition, objects, rankings, scan, known_rows)
        over = definition.tdom.rows
        layout = computed_layout(
            definition, None if over is None else objects[over].layout
        )
        rows = _append(builder, block, loop, definition, layout, is_read=is_read)
        _unbind(builder, block, rows, definition, seen)
        objects[definition.name] = rows
        loops.append(loop.describe())
    arrays = tuple(builder.arrays.values())
    private = _private_payloads(builder, query)
    body = drop_dead_stores(block.body(), private)
    kernel = LoopKernel(builder.slot_numbers(), arrays, body)
    slots, scratch = tuple(builder.slots), tuple(builder.scratch)
    signature = Signature(
        slots, tuple(loops), scratch, query.outputs, states=tuple(builder.states)
    )
    return LoweredKernel(kernel, signature)


def _private_payloads(builder: KernelBuilder, query: Query) -> list[Array]:
    """List the payload arrays of what is computed for other objects alone."""
    return [
        array
        for slot, array in builder.arrays.items()
        if slot.kind in PAYLOADS and slot.object not in query.outputs
    ]


def _append(
    builder: KernelBuilder,
    block: Block,
    loop: Sweep | RowLoop | RowScanLoop,
    definition: TemporalExpr,
    layout: Layout,
    *,
    is_read: bool,
) -> ObjectRows:
    out = output_arrays(
        builder,
        definition.name,
        definition.type,
        layout,
        nulls=definition.tdom.nulls,
        is_read=is_read,
    )
    count = loop.lower(block, out)
    if not definition.tdom.is_infinite and not loop.describe().implicit_times:
        _clip(builder, block, out, count)
    slot = builder.slot(SlotKind.OUT_COUNT, definition.name)
    block.add(WriteSlot(slot, count))
    rows = out.rows(block, count)
    if is_read and isinstance(loop, Sweep):
        return loop.share_times(block, rows)
    return rows


def _unbind(
    builder: KernelBuilder,
    block: Block,
    rows: ObjectRows,
    definition: TemporalExpr,
    seen: Collection[tuple[str, str]],
) -> None:
    """Take the bounds off the snapshots that have held since ever, or hold for ever.

    Where a bound is `seen` the loop begins before anything changes, and ends after. So
    these are the snapshots that begin or end with it, unless the domain cuts them.
    """
    inner, name = block.inner(), definition.name
    if rows.events is not None:  # whose bounds are its own
        return
    assert rows.starts is not None
    assert rows.ends is not None
    if (name, "start") in seen and definition.tdom.start is None:
        first = sub(
            builder.number(SlotKind.FIRST, name), i64(definition.tdom.precision)
        )
        start = load(rows.starts, i64(0))
        since_ever = select(le(start, first), NEVER, start)
        inner.add(Store(rows.starts, i64(0), since_ever))
    if (name, "end") in seen and definition.tdom.end is None:
        last, end = builder.number(SlotKind.LAST, name), load(rows.ends, rows.last)
        for_ever = select(le(last, end), INF, end)
        inner.add(Store(rows.ends, rows.last, for_ever))
    block.when(lt(i64(0), rows.count), inner)


def _clip(
    builder: KernelBuilder, block: Block, out: OutputArrays, count: LExpr
) -> None:
    """Clip the first and the last snapshot to a finite domain.

    Implicit times are the input's; the runtime clips them when it stitches.
    """
    low = builder.number(SlotKind.CLIP_LOW, out.name)
    high = builder.number(SlotKind.CLIP_HIGH, out.name)
    inner = block.inner()
    final = sub(count, i64(1))
    begin = greatest(load(out.starts, i64(0)), low)
    inner.add(Store(out.starts, i64(0), begin))
    inner.add(Store(out.ends, final, least(load(out.ends, final), high)))
    block.when(lt(i64(0), count), inner)
