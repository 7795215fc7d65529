"""`python -m tests.plan.shapes [FIRST LAST]`: which kernels random queries reach.

A `Census` looks on while queries are lowered and run, and counts in how many runs each
form was not only lowered but called: shapes, windows by length class, layouts, tiles.
What the forms are is written in the constructors of the lowering's own classes, so they
are counted there.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

from tests.compiled import compiler_of, random_setting, run_compiled
from tests.random.events import random_event_case, random_event_setting
from tests.random.grids import random_grid_case, random_grid_setting
from tests.random.queries import random_case
from tests.runtime.execution.fences import rows_of
from tiltpy.abi.signature import LANES, Shape, Signature
from tiltpy.abi.slots import OF_STRINGS, SlotKind
from tiltpy.aggregates.central_moments import ORDERS
from tiltpy.aggregates.masked_variance import MaskedVariance
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.compiler import stages
from tiltpy.costs import Costs
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import Bitmap, CellArrays
from tiltpy.emit.elements import element_of
from tiltpy.emit.stream_stores import StreamStore
from tiltpy.ir.nodes import EventBound, InlinedCut, Reduce, Time
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import TRUE, i64
from tiltpy.loops.distribute import Distribution
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.sweep.count_tree import CountTree
from tiltpy.lowering.sweep.cursors import ScanCursor, StackCursor, StepCursor
from tiltpy.lowering.sweep.edge_loop import EdgeLoop
from tiltpy.lowering.sweep.event_loop import EventLoop
from tiltpy.lowering.sweep.event_vectors import EventVectors
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.merge_loop import MergeLoop
from tiltpy.lowering.sweep.mode_tree import ModeTree
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.order_statistics import DistinctCount
from tiltpy.lowering.sweep.tumbling_rows import TumblingWindow
from tiltpy.lowering.sweep.unordered_window import UnorderedWindow
from tiltpy.lowering.vector.densify import DensifiedInput
from tiltpy.lowering.vector.doubling_windows import WindowFold
from tiltpy.lowering.vector.history import History
from tiltpy.lowering.vector.outputs import Output
from tiltpy.lowering.vector.tile_buffers import TileBuffer
from tiltpy.lowering.vector.value_counts import ValueCounts
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import greatest, item
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.vector_calls import VectorChunks

Forms = Iterable[str]
Lower = Callable[..., LoweredKernel | Refusal]


def of_grid(grid: VectorPlan) -> Forms:
    """List the forms of a vector kernel: its references, and its number of loops."""
    yield f"grid: {min(len(grid.stages), 3)} loops"
    if not grid.fused:
        yield "grid: not fused"
    if any(grid.lags.values()):
        yield "grid: looks ahead"
    if any(map(grid.is_long_chain, grid.stages)):
        yield "grid: long chain"
    if (
        len(
            {
                grid.geometry.definitions[name].tdom.precision
                for name in grid.query.outputs
            }
        )
        > 1
    ):
        yield "grid: outputs of different precision"
    for reader in grid.query.definitions:
        points, windows = grid.geometry.references[reader.name]
        for point in points:
            yield f"point: {_step(grid.geometry.point(reader, point))}"
        for window in windows:
            seen = grid.geometry.window(reader, window)
            yield f"window: {_step(seen.newest)}, {_length(seen.cells, grid.costs)}"
            if seen.newest.plus < seen.newest.times - 1:
                yield "window: ends in the past"
        for window in grid.geometry.folds[reader.name]:
            streamed = grid.is_streamed(reader, window.object)
            yield f"lanes: scan{' of what others scan' * streamed}"
        if any(isinstance(cut, InlinedCut) for cut in reader.cuts):
            yield "cut: inlined"
        for node in walk(reader.body):
            match node:
                case Time():
                    yield "t as a number"
                case EventBound():
                    yield "start or end of a sample"
                case Reduce():
                    yield f"reduction: {node.reduction}"
                case _:
                    pass


def _step(step: Any) -> str:
    if step.is_regular:
        return "cell by cell"
    if step.over == 1:
        return "strided"
    if step.times == 1:
        return "of a coarser object"
    return "of a grid that does not divide"


def _length(cells: int, costs: Costs) -> str:
    if cells <= LANES:
        return "within a vector" if cells > 1 else "one cell"
    return "some vectors" if cells <= costs.longest_tree else "longer than a tree"


def of_fold(fold: WindowFold) -> Forms:
    certain = "in every cell" if fold.certain else "some cells without"
    if fold.blocks:
        yield f"blocks: {certain}"
    if len(fold.windows) > len(fold.blocks):
        yield f"tree: {certain}"
    if fold.delays:
        yield "blocks: and a rest"
    if len(fold.windows) > 1:
        yield "windows that share their parts"


def of_pane(pane: Pane) -> Forms:
    if not isinstance(pane.cells, int):
        return
    certain = pane.certain(Block(KernelBuilder({})))
    yield "pane: in every cell" if certain else "pane: some cells without"
    yield f"pane: {'straight' if pane.cells <= 128 else 'in a loop'}"
    if pane.cells >= 256:
        yield "pane: four vectors at a time"


def of_row_pane(pane: TumblingWindow) -> Forms:
    rows = pane.rows
    yield f"row pane: {rows.layout.time.value}{' points' * rows.layout.points}"
    yield f"row pane: {'every row' if rows.complete else 'rows that may be null'}"
    for element, names in pane.names.items():
        trial = element_of(Block(pane.builder), rows, i64(0), element)
        if rows.complete and trial.valid != TRUE:
            yield "row pane: some rows only"
        if not ORDERS.keys().isdisjoint(names):
            yield "row pane: two passes"


def of_merge(merge: MergeLoop) -> Forms:
    yield f"merge: {'one object' if len(merge.inputs) == 1 else 'some objects'}"
    if merge.slow:
        yield "merge: with one that was computed"
    for side in merge.fast:
        if side.gapless:
            yield "merge: rows without gaps"
        else:
            gaps = "no" if side.inside is None else "a"
            yield f"merge: gaps have {gaps} visit"
    if merge.lanes is not None:
        yield f"merge: rows in lanes{', gaps too' if merge.lanes.gaps else ''}"


def of_output(output: Output) -> Forms:
    kind = "every cell" if output.outcome.full else "packed"
    struct = "struct" if output.outcome.value.fields else "scalar"
    yield f"output: {kind}, {struct}"
    if output.outcome.begins is not None:
        yield "output: snapshots longer than a cell"


def of_stored(stored: CellArrays) -> Forms:
    if isinstance(stored.alive, Bitmap):
        yield "input: samples that may be null"
    if any(isinstance(flags, Bitmap) for flags in stored.validity):
        yield "input: samples with fields that may be null"


def of_following(following: SweepOperands) -> Forms:
    yield "sweep: steps" if following.plan.stepped else "sweep: runs"
    if following.plan.skipped:
        yield "sweep: skips gaps"
    if following.plan.one_tick is not None:
        yield "sweep: rows of one tick"


def of_events(loop: EventLoop) -> Forms:
    yield "sweep: windows at events"
    for window in loop.windows():
        yield f"at events: window that {loop.advances[window.window].value}"


OBSERVED: tuple[tuple[type, Callable[[Any], Forms]], ...] = (
    (VectorPlan, of_grid),
    (WindowFold, of_fold),
    (MaskedVariance, lambda _: ["spread: of the values"]),
    (ValueCounts, lambda _: ["lanes: counts by value"]),
    (Pane, of_pane),
    (Output, of_output),
    (CellArrays, of_stored),
    (SweepOperands, of_following),
    (Distribution, lambda d: ["grid: loop that is distributed"] * (len(d.groups) > 1)),
    (History, lambda found: ["ring of vectors"] if found.ring is not None else []),
    (DensifiedInput, lambda _: ["input: rows spread over ticks"]),
    (TileBuffer, lambda _: ["temporary"]),
    (TumblingWindow, of_row_pane),
    (MergeLoop, of_merge),
    (StreamStore, lambda _: []),
    (EventLoop, of_events),
    (EventVectors, lambda _: ["sweep: events in lanes"]),
    (EdgeLoop, lambda _: ["sweep: windows from edge to edge"]),
    (SlidingWindow, lambda w: [f"sweep: window that {'steps' if w.steps else 'runs'}"]),
    (UnorderedWindow, lambda _: ["sweep: window over ends out of order"]),
    (CountTree, lambda found: [f"sweep: {found.name}"]),
    (ModeTree, lambda found: [f"sweep: {found.name}"]),
    (DistinctCount, lambda found: [f"sweep: {found.name}"]),
    (StackCursor, lambda _: ["sweep: point among overlapping events"]),
    (StepCursor, lambda _: ["sweep: point that steps"]),
    (ScanCursor, lambda _: ["sweep: point that runs"]),
)
"""The classes whose instances tell of a form, and what they tell when complete."""


class Census:
    """The number of runs that reached each form."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lowered: dict[Signature, list[object]] = {}
        self._met: set[str] = set()

    @contextmanager
    def looking_on(self) -> Iterator[None]:
        """Count what is lowered and run in here."""
        with ExitStack() as stack:
            for name in ("lower", "lower_vector"):
                wrapped = self._observed(getattr(stages, name))
                stack.enter_context(patch.object(stages, name, wrapped))
            for called in (SweepChunks, VectorChunks):
                after = _after(called.__init__, self._called)
                stack.enter_context(patch.object(called, "__init__", after))
            yield

    def run(self, execute: Callable[[], object]) -> None:
        """One run; each form counts once, and is lowered in it."""
        self._met.clear()
        self._lowered.clear()
        compiler_of.cache_clear()
        with self.looking_on():
            execute()
        self.counts.update(self._met)

    def _observed(self, lower: Lower) -> Lower:
        def observed(*given: object, **named: object) -> LoweredKernel | Refusal:
            made: list[object] = [a for a in given if isinstance(a, VectorPlan)]
            with ExitStack() as stack:
                for kind, _ in OBSERVED:
                    after = _after(kind.__init__, made.append)  # type: ignore[misc]
                    stack.enter_context(patch.object(kind, "__init__", after))
                plan = lower(*given, **named)
            if isinstance(plan, LoweredKernel):
                self._lowered.setdefault(plan.signature, made)
            return plan

        return observed

    def _called(self, chunk: SweepChunks | VectorChunks) -> None:
        signature = chunk.signature
        for loop in signature.loops:
            self._met.add(f"shape: {loop.shape.value}")
        where = "grid" if isinstance(chunk, VectorChunks) else "general"
        for slot in signature.slots:
            if slot.kind in OF_STRINGS:
                asked = "" if slot.kind is SlotKind.CODE else " that is looked up"
                self._met.add(f"{where}: string{asked}")
        for one in self._lowered.get(signature, ()):
            for kind, forms in OBSERVED:
                if isinstance(one, kind):
                    self._met.update(forms(one))
            if isinstance(one, VectorPlan) and isinstance(chunk, VectorChunks):
                self._met.update(_extent(one, chunk))
            if isinstance(one, TumblingWindow) and isinstance(chunk, SweepChunks):
                self._met.update(_most_rows(one, chunk))
            if isinstance(one, EdgeLoop) and isinstance(chunk, SweepChunks):
                self._met.update(_many_rows(one, chunk))
            if isinstance(one, StreamStore):
                self._met.update(_much_kept(one, chunk))


def _extent(grid: VectorPlan, chunks: VectorChunks) -> Forms:
    """List the forms of vector calls: the share of time that they cover."""
    low, high = chunks.calls.low, chunks.calls.high
    for length in {item(high - low, k) for k in range(chunks.count)}:
        yield from _covered(grid, length)


def _covered(grid: VectorPlan, length: int) -> Forms:
    made = length + grid.warm_up + grid.lag
    if grid.tile is None:
        yield "grid: in one go"
    else:
        yield "grid: several tiles" if made > grid.tile else "grid: one tile"
    finest = min(d.tdom.precision for d in grid.query.definitions)
    if length // finest > grid.costs.streamed_bytes:
        yield "grid: much to write"
    if length // finest < LANES:
        yield "grid: less than a vector"


def _pieces(chunk: SweepChunks, name: str) -> list[SnapshotBuffer]:
    """The rows that calls see of an input, if it is one."""
    slices = chunk.coverage.slices.get(name)
    return [] if slices is None else [rows_of(slices, k) for k in range(chunk.count)]


def _most_rows(pane: TumblingWindow, chunk: SweepChunks) -> Forms:
    """Return whether a window of a chunk may have more rows than are folded at once."""
    for piece in _pieces(chunk, pane.rows.name):
        starts, _ = piece.times()
        length = pane.window.end - pane.window.start
        if (starts[LANES:] - starts[:-LANES] < length).any():
            yield "row pane: more than a vector"


def _many_rows(found: EdgeLoop, chunk: SweepChunks) -> Forms:
    """Return whether there may be rows for a run of short visits, of each object."""
    some = (_pieces(chunk, step.bound.rows.name) for step in found.steps)
    if all(any(one.n > 2 * found.run for one in pieces) for pieces in some):
        yield "sweep: windows from edge to edge, for a while"


def _much_kept(found: StreamStore, chunk: SweepChunks | VectorChunks) -> Forms:
    """Return whether what is kept of a chunk goes past the caches, perhaps in parts."""
    (loop,) = (one for one in chunk.signature.loops if one.name == found.name)
    if isinstance(chunk, VectorChunks):
        longest = greatest(chunk.calls.high - chunk.calls.low)
        form, rows = "grid", longest // loop.tdom.precision
    elif loop.shape is Shape.ROWS:
        first, stop = chunk.coverage.row_range(loop)
        form, rows = loop.shape.value, greatest(stop - first)
    else:
        form, rows = "merge", greatest(chunk.coverage.rows_of(loop.changes, 0)) // 2
    if form != "merge":
        yield f"{form}: packed"
    width = sum(array.type.entry_bytes for array in found.target)
    if rows > found.builder.costs.streamed_bytes // width:
        yield f"{form}: past the caches"
        if rows > found.builder.costs.staging_buffer:
            yield f"{form}: more than a basin"


def _after(
    make: Callable[..., None], look: Callable[[Any], None]
) -> Callable[..., None]:
    """A constructor that shows what it made."""

    def made(self: object, *given: object, **named: object) -> None:
        make(self, *given, **named)
        look(self)

    return made


def count_forms(seeds: Iterable[int], wanted: Collection[str] = ()) -> Census:
    """Count the forms that the cases of these seeds reach, a grid case each.

    With forms that are wanted it is enough to reach each of them once.
    """
    census = Census()
    for seed in seeds:
        if wanted and census.counts.keys() >= set(wanted):
            break
        random = Random(seed)  # noqa: S311 - tests, not secrets
        case = random_grid_case(seed, exact=True)
        setting = replace(random_grid_setting(random, case), optimize=False)
        census.run(partial(run_compiled, case, setting))
        if seed % 4 == 2:
            rolling = random_event_case(seed, exact=True)
            setting = replace(random_event_setting(random), optimize=False)
            census.run(partial(run_compiled, rolling, setting))
        if seed % 4 == 0:
            plain = random_case(seed, exact=True)
            setting = replace(random_setting(random, span=80), optimize=False)
            census.run(partial(run_compiled, plain, setting))
    return census


def main() -> None:
    first, last = (int(given) for given in sys.argv[1:] or ("0", "400"))
    counts = count_forms(range(first, last)).counts
    for form, count in sorted(counts.items()):
        print(f"{count:6} {form}")


if __name__ == "__main__":
    main()
