"""The stages of a query, as text."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import assert_never

from tiltpy.abi.layouts import SamplingGrid, TimeLayout
from tiltpy.abi.signature import LANES, Loop, Shape
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.codegen.jit import format_assembly, format_optimized
from tiltpy.compiler.lazy_code import LazyCode
from tiltpy.compiler.output_selection import select_outputs
from tiltpy.compiler.query_kernels import Compiler, QueryKernels
from tiltpy.emit.references import present_reductions, reductions
from tiltpy.explain.strings import describe_strings
from tiltpy.ir.nodes import Query, Reduce
from tiltpy.ir.print.query import by, format_query
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.printer import format_kernel
from tiltpy.passes.analyses.fold_summaries import summarize
from tiltpy.plan.nodes import LoopPlan, Misfit, PresentPlan, Refusal, RowMap
from tiltpy.plan.partial_panes import split_into_panes
from tiltpy.plan.print import describe_plan, format_choices
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.visit_warnings import describe
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.preaggregation.run import (
    only_input,
    plan_folds,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order
from tiltpy.types import Boundary


def explain(
    source: Query,
    compiled: QueryKernels,
    sampling_grids: Mapping[str, SamplingGrid] | None = None,
    folds: "Sequence[PreaggregatedOutput] | str | None" = None,
    run: KeyedRun | TimeRun | None = None,
    hiding: Collection[str] = (),
    *,
    llvm: bool = False,
    asm: bool = False,
) -> str:
    """Format all stages of a query for one combination of layouts.

    `sampling_grids`, where all inputs have one, shows the vector kernel. `folds` are
    the outputs of an input by key that are pre-aggregated, or the reason why none is.
    `run` is the run over the data, planned, `hiding` the inputs without hidden rows.
    """
    sections = [("query", format_query(source)), *_passes(source, compiled)]
    sections.append(("boundaries", "\n".join(_boundaries(compiled.query))))
    sections.append(("layouts", "\n".join(_layouts(source, compiled, hiding))))
    strings = list(describe_strings(source))
    if strings:
        sections.append(("strings", "\n".join(strings)))
    slides = list(_explain_reductions(compiled, run))
    if slides:
        sections.append(("reductions", "\n".join(slides)))
    refusal = (
        None if sampling_grids is None else compiled.vector_refusal(sampling_grids)
    )
    sections.append(("plan", "\n".join(_plan(compiled, sampling_grids, refusal))))
    plans = {choice.name: choice.plan for choice in compiled.choices}
    code = compiled.sweep_code
    sections.extend(_kernel("sweep kernel", code, plans, llvm=llvm, asm=asm))
    if sampling_grids is not None and refusal is None:
        vector = compiled.vector_code(sampling_grids)
        assert vector is not None
        sections.extend(_kernel("vector kernel", vector, {}, llvm=llvm, asm=asm))
    if run is not None:
        sections.append(("run", "\n".join(run.describe())))
        visits = run.visits().values()
        lines = [line for bound in visits for line in describe(source, bound)]
        if lines:
            sections.append(("visits", "\n".join(lines)))
    if isinstance(folds, str):
        sections.append(("by key", f"rows are grouped: {folds}"))
    elif folds is not None:
        for fold in folds:
            sections.extend(_fold(fold, llvm=llvm, asm=asm))
    moves = list(_moves_on_spark(source))
    if moves:
        sections.append(("on Spark", "\n".join(moves)))
    sections.append(("compile time", "\n".join(_seconds(compiled))))
    return "\n".join(f"== {title} ==\n{text.rstrip()}\n" for title, text in sections)


def _moves_on_spark(source: Query) -> Iterator[str]:
    """Say of each output of one input by key whether Spark moves states or rows."""
    for name in source.outputs:
        query = select_outputs(source, (name,))
        (declared, *others) = query.inputs or (None,)
        if others or declared is None or not declared.keys or not declared.lifetime:
            continue
        split = split_into_panes(query, name)
        if isinstance(split, Refusal):
            yield f"~{name}: rows are moved: {split.reason}"
            continue
        yield f"~{name}: rows are folded into panes, whose states are moved"
        if split.is_selective:
            yield f"~{name}: Spark's own aggregates fold, if it has the conditions"


def _passes(source: Query, compiled: QueryKernels) -> Iterator[tuple[str, str]]:
    """Format the query after each pass that changed it."""
    before = format_query(source)
    for name, query in compiled.stages:
        after = format_query(query)
        if after != before:
            yield f"after {name}", after
        before = after


def _boundaries(query: Query) -> Iterator[str]:
    for output, inputs in query.boundaries:
        for name, boundary in inputs:
            needs = f"({_time('Ts', boundary, -1)}, {_time('Te', boundary, 1)}]"
            yield f"~{output} over (Ts, Te] needs ~{name} over {needs}"


def _time(name: str, boundary: Boundary, direction: int) -> str:
    reach = boundary.back if direction < 0 else boundary.ahead
    sign = "-" if direction < 0 else "+"
    if reach.is_unbounded:
        return "-∞" if direction < 0 else "∞"
    return f"{name} {sign} {reach.ticks}" if reach.ticks else name


def _layouts(
    source: Query, compiled: QueryKernels, hiding: Collection[str]
) -> Iterator[str]:
    keys = {declared.name: declared.keys for declared in source.inputs}
    for name, layout in compiled.layouts.items():
        without = ", without the rows that ties hide" if name in hiding else ""
        yield f"~{name}{by(keys[name])}: {layout}{without}"


def _plan(
    compiled: QueryKernels,
    sampling_grids: Mapping[str, SamplingGrid] | None,
    refusal: Refusal | None,
) -> Iterator[str]:
    """Say what computes the outputs: a vector kernel where it can, else a sweep."""
    if refusal is not None:
        yield f"not vector_kernel: {refusal.reason}"
    elif sampling_grids is not None:
        yield f"vector_kernel, {LANES} cells at a time; beside it"
    yield format_choices(compiled.choices, compiled.query.unit)


def _present_plan(compiled: QueryKernels, name: str, node: Reduce) -> PresentPlan:
    """Look up how an object reduces a window by an element that sees the present."""
    for choice in compiled.choices:
        if choice.name == name and not isinstance(choice.plan, RowMap):
            for present in choice.plan.operands.present:
                if (present.window, present.element) == (node.window, node.element):
                    return present.plan
    return PresentPlan.FOLDED


def _explain_reductions(
    compiled: QueryKernels, run: KeyedRun | TimeRun | None
) -> Iterator[str]:
    """Say how reductions that are user-defined, or see the present, follow windows."""
    one_chunk = run.one_chunk if isinstance(run, TimeRun) else compiled.one_chunk
    user_defined = {each.name: each for each in compiled.query.reductions}
    for definition in compiled.query.definitions:
        for node in present_reductions(definition):
            reduced = f"~{definition.name}: {node.reduction} of ~{node.window.object}"
            plan = _present_plan(compiled, definition.name, node)
            if plan is PresentPlan.FOLDED:
                anew = f"{Slide.RECOMPUTE.value}: its element sees the present"
                yield f"{reduced} {anew}"
            else:
                yield f"{reduced} {plan.value}"
        for node in reductions(definition):
            if node.reduction in user_defined:
                name = node.window.object
                layout = compiled.layouts.get(name)
                in_order = layout is None or layout.fifo
                disjoint = layout is None or layout.time is not TimeLayout.OVERLAPPING
                reduction = user_defined[node.reduction]
                slide = slide_of(reduction, in_order=in_order, disjoint=disjoint)
                if node.window.folds_on:
                    slide = Slide.FOLD_ON
                yield f"~{definition.name}: {node.reduction} of ~{name} {slide.value}"
            elif node.window.folds_on:
                fold = (
                    f"{node.reduction} of ~{node.window.object} {Slide.FOLD_ON.value}"
                )
                yield f"~{definition.name}: {fold}"
            if node.window.folds_on:
                yield f"    fold: {summarize(node, user_defined).describe(one_chunk)}"


def _kernel(
    title: str,
    lazy: LazyCode,
    plans: Mapping[str, LoopPlan],
    *,
    llvm: bool,
    asm: bool,
) -> Iterator[tuple[str, str]]:
    code, lowered = lazy.code(), lazy.lower()
    optimized = offload(partial(format_optimized, lowered.kernel, code))
    loops = lowered.signature.loops
    shapes = "\n".join(_shape(loop, plans.get(loop.name), optimized) for loop in loops)
    yield title, f"{shapes}\n\n{format_kernel(lowered.kernel)}"
    if llvm:
        yield f"{title}: LLVM IR", optimized
    if asm:
        yield (
            f"{title}: machine code",
            offload(partial(format_assembly, lowered.kernel, code)),
        )


@dataclass(frozen=True, slots=True)
class PreaggregatedOutput:
    """An output by key whose rows are pre-aggregated."""

    name: str
    text: str
    codes: tuple[LazyCode, LazyCode]


def explain_preaggregation(
    compiler: Compiler, bindings: Mapping[str, InputBinding]
) -> list[PreaggregatedOutput] | str | None:
    """Say how rows by key are pre-aggregated, or why not; None where none have keys.

    `compiler` is that of outputs with the same keys.
    """
    if not compiler.query.is_keyed:
        return None
    query, costs = compiler.query, compiler.options.costs.preaggregation
    declared = only_input(query)
    if declared is None:
        return "the outputs look at more than windows of one input by key"
    rows = read_in_time_order(declared, bindings[declared.name], query.unit, costs)
    if isinstance(rows, str):
        return rows
    try:
        plan = plan_folds(OutputGroup(query, compiler.compile_for), rows, costs)
    except Misfit as reason:
        return str(reason)
    compiled = compiler.compile_for(plan.layouts)
    outputs = []
    for fold in plan.folds:
        length = f"of {fold.aggregation.pane:,} ticks"
        if fold.aggregation.calendar is not None:
            length = "of its calendar"
        text = f"rows are folded as they come, in {len(fold.panes):,} panes {length}"
        codes = compiled.preaggregation_code(
            fold.name, fold.keys.scalar, narrow=fold.narrow
        )
        outputs.append(PreaggregatedOutput(fold.name, text, codes))
    return outputs


def _fold(
    output: PreaggregatedOutput, *, llvm: bool, asm: bool
) -> Iterator[tuple[str, str]]:
    yield "by key", f"~{output.name}: {output.text}"
    titles = f"fold of ~{output.name}", f"cells of ~{output.name}"
    for title, code in zip(titles, output.codes, strict=True):
        yield from _kernel(title, code, {}, llvm=llvm, asm=asm)


def _shape(loop: Loop, plan: LoopPlan | None, optimized: str) -> str:
    """Describe a loop's shape, and how much its machine code computes at once."""
    implied = ", times implied" if loop.implicit_times else ""
    shape = (
        f"~{loop.name}: {loop.shape.value}{implied}, {_at_once(loop, plan, optimized)}"
    )
    return "\n".join([shape, *(f"    of {structure}" for structure in loop.structures)])


def _at_once(loop: Loop, plan: LoopPlan | None, optimized: str) -> str:
    match loop.shape:
        case Shape.MAP | Shape.STENCIL | Shape.PANES:
            return f"vectorised: {LANES} cells at a time"
        case Shape.GROUPED:
            return "not vectorised: each row goes to the state of its key"
        case Shape.KEYS:
            return f"vectorised: {_width(optimized)} keys at a time"
        case Shape.ROWS:
            width = _width(optimized)
            if width > 1:
                return f"vectorised: {width} rows at a time"
            if not loop.implicit_times:
                return "not vectorised: where a result goes depends on those before"
            return "not vectorised: LLVM found it not worth while"
        case Shape.SWEEP | Shape.ROW_PANES:
            assert plan is not None
            return describe_plan(plan)
        case _:
            assert_never(loop.shape)


def _width(optimized: str) -> int:
    """Find how many values code reads or writes at once, at most."""
    widths = re.findall(r"\b(?:load|store) <(\d+) x ", optimized)
    return max(map(int, widths), default=1)


def _seconds(compiled: QueryKernels) -> Iterator[str]:
    for stage, seconds in compiled.seconds.items():
        yield f"{stage:<14}{seconds * 1e3:7.1f} ms"
    yield f"{'in all':<14}{sum(compiled.seconds.values()) * 1e3:7.1f} ms"


DEFAULT_LAYOUT = TimeLayout.CONTIGUOUS
"""The layout that `explain` assumes of an input without data."""
