"""Window references in a loop whose rows leave in the order in which they came.

Rows `[lo, hi)` are in the window. States with an exact inverse are kept running; the
others in two stacks: rows `[lo, middle)` have the merged states of their suffixes in an
array, rows `[middle, hi)` one running state. When the front runs out, all rows move
there in one backward pass: every row is merged at most twice, whatever the window's
size, and what has left leaves no trace.
"""

from collections.abc import Iterable
from dataclasses import replace

from tiltpy.ir.nodes import At, Element, EventBound, Expr, Reduce, Time, Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    disj,
    i64,
    le,
    least,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, LExpr, Store, Var, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.reducers import COUNT, Kept, State, finish, kept_for
from tiltpy.lowering.rows import ObjectRows
from tiltpy.lowering.values import Lowered, lower_expr
from tiltpy.types import BOOL, Scalar


def element_of(block: Block, rows: ObjectRows, row: LExpr, element: Expr) -> Lowered:
    """A window's element at an existing row; invalid where it does not contribute.

    A null row never does, even if the element does not look at it.
    """
    exists = rows.exists(row)

    def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
        assert isinstance(node, Element), "an element reads its snapshot alone"
        return rows.value(row, exists)

    value = lower_expr(block, leaf, element)
    return replace(value, valid=conj(exists, value.valid))


def lift(kept: Kept, row: LExpr, value: Lowered) -> State:
    """The state of one snapshot; only a count may be of a struct."""
    return kept.lift(row, value.value if value.value is not None else i64(0))


class Track:
    """One element of a window: the states of the reductions over it."""

    def __init__(self, assembly: Assembly, rows: ObjectRows, element: Expr) -> None:
        self.assembly = assembly
        self.rows = rows
        self.element = element
        trial = element_of(Block(assembly), rows, i64(0), element)
        self.filtered = trial.valid != TRUE
        self.running: dict[Kept, tuple[Var, ...]] = {}
        self.stacked: dict[Kept, tuple[Array, ...]] = {}
        self.changed: Var | None = None
        if self.filtered:
            self.keep(COUNT)

    def keep(self, kept: Kept) -> None:
        """Have a state kept."""
        if kept in self.running:
            return
        label = f"{self.rows.name}.{kept.name}"
        self.running[kept] = tuple(self.assembly.fresh(label, t) for t in kept.types)
        if kept.inverse is None:
            self.stacked[kept] = tuple(
                self.assembly.temporary(f"{label}.front", t, ((self.rows.name, 1),), 1)
                for t in kept.types
            )

    def mark(self) -> Var:
        """Have it noted whether the contributing snapshots change."""
        if self.changed is None:
            self.changed = self.assembly.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def reset(self, block: Block, kinds: Iterable[Kept]) -> None:
        """Set running states to their identity."""
        for kept in kinds:
            for var, value in zip(self.running[kept], kept.identity, strict=True):
                block.set(var, value)

    def enter(self, block: Block, row: LExpr, *, seen: LExpr) -> None:
        """A row comes in; `seen`: it has not left again at the time of the window."""
        if not self.running and self.changed is None:
            return
        value = element_of(block, self.rows, row, self.element)
        inner = block.inner()
        for kept, state in self.running.items():
            assign_state(inner, state, kept.merge(state, lift(kept, row, value)))
        if self.changed is not None:
            inner.set(self.changed, disj(self.changed, seen))
        block.when(value.valid, inner)

    def evict(self, block: Block, row: LExpr, *, seen: LExpr) -> None:
        """A row leaves; `seen`: it was in the window at the visit before.

        What has no inverse is dealt with by the two stacks.
        """
        if len(self.stacked) == len(self.running) and self.changed is None:
            return
        inner = block.inner()
        value = element_of(block, self.rows, row, self.element)
        for kept, state in self.running.items():
            if kept.inverse is not None:
                assign_state(inner, state, kept.inverse(state, lift(kept, row, value)))
        if self.changed is not None:
            inner.set(self.changed, disj(self.changed, seen))
        block.when(value.valid, inner)


def row_value(
    block: Block, rows: ObjectRows, node: Reduce, row: LExpr, some: LExpr
) -> Lowered:
    """The element at a row, as the value of a `first` or `last`; φ unless `some`."""
    there = block.name("row", select(some, row, i64(0)))
    value = element_of(block, rows, there, node.element)
    return Lowered(node.type, value.value, some)


def assign_state(block: Block, state: tuple[Var, ...], new: State) -> None:
    """Set a state's variables together: the new one may be made of the old."""
    values = [block.name("s", value) for value in new] if len(state) > 1 else new
    for var, value in zip(state, values, strict=True):
        block.set(var, value)


class SlidingWindow:
    """A window over rows that leave in order."""

    def __init__(self, assembly: Assembly, rows: ObjectRows, window: Window) -> None:
        self.assembly = assembly
        self.rows = rows
        self.window = window
        self.tracks: dict[Expr, Track] = {}
        label = f"{rows.name}.window"
        self.lo = assembly.fresh(f"{label}.lo")
        self.hi = assembly.fresh(f"{label}.hi")
        self.middle = assembly.fresh(f"{label}.middle")
        self.base = assembly.fresh(f"{label}.base")
        self.coming = assembly.fresh(f"{label}.coming")
        self.oldest = assembly.fresh(f"{label}.oldest")

    def reduce(self, node: Reduce) -> None:
        """Have a reduction over the window computed."""
        track = self.track(node.element)
        if self._row(node) is None and not (
            node.reduction == "count" and not track.filtered
        ):
            track.keep(kept_of(node))

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        if element not in self.tracks:
            self.tracks[element] = Track(self.assembly, self.rows, element)
        return self.tracks[element]

    def start(self, block: Block) -> None:
        """Before the loop: an empty window ahead of the first row."""
        for var in (self.hi, self.lo, self.middle, self.base):
            block.set(var, i64(0))
        for track in self.tracks.values():
            track.reset(block, track.running)

    def advance(self, block: Block, low: LExpr, high: LExpr) -> None:
        """Move to the window `(low, high]`: rows come in, then the oldest leave.

        Where times are skipped a row may do both at once; it has not been seen then.
        """
        noted = [t.changed for t in self.tracks.values() if t.changed is not None]
        for changed in noted:
            block.set(changed, FALSE)
        before = self.assembly.fresh("before")
        if noted:
            block.set(before, self.hi)
        head, come = block.inner(), block.inner()
        head.set(self.coming, self.rows.start_or_never(self.hi))
        stays = lt(low, self.rows.end_at(self.hi))
        for track in self.tracks.values():
            track.enter(come, self.hi, seen=stays)
        come.set(self.hi, add(self.hi, i64(1)))
        block.add(While(lt(self.coming, high), come.body(), head.body()))
        head, go = block.inner(), block.inner()
        end = self.rows.end_at(self.rows.clamp(self.lo))
        head.set(self.oldest, select(lt(self.lo, self.hi), end, INF))
        self._evict(go, lt(self.lo, before))
        block.add(While(le(self.oldest, low), go.body(), head.body()))

    def _evict(self, block: Block, seen: LExpr) -> None:
        """The oldest row leaves."""
        if any(track.stacked for track in self.tracks.values()):
            flip = block.inner()
            self._flip(flip)
            block.when(le(self.middle, self.lo), flip)
        for track in self.tracks.values():
            track.evict(block, self.lo, seen=seen)
        block.set(self.lo, add(self.lo, i64(1)))

    def _flip(self, block: Block) -> None:
        """Move all rows to the front: merge their suffixes, newest first."""
        row = self.assembly.fresh(f"{self.rows.name}.flip")
        block.set(self.middle, self.hi)
        block.set(self.base, self.lo)
        block.set(row, self.hi)
        inner = block.inner()
        inner.set(row, sub(row, i64(1)))
        for track in self.tracks.values():
            track.reset(block, track.stacked)
            if not track.stacked:
                continue
            value = element_of(inner, self.rows, row, track.element)
            merged = inner.inner()
            for kept in track.stacked:
                state = track.running[kept]
                assign_state(merged, state, kept.merge(lift(kept, row, value), state))
            inner.when(value.valid, merged)
            for kept, arrays in track.stacked.items():
                for array, var in zip(arrays, track.running[kept], strict=True):
                    inner.add(Store(array, sub(row, self.base), var))
        block.add(While(lt(self.lo, row), inner.body()))
        for track in self.tracks.values():
            track.reset(block, track.stacked)

    def bound(self) -> LExpr:
        """The last time of the loop at which the window holds the same rows."""
        coming = sub(self.coming, i64(self.window.end))
        return least(coming, sub(self.oldest, i64(self.window.start + 1)))

    def cut(self, element: Expr) -> LExpr:
        """Whether other snapshots contribute than at the visit before."""
        return self.track(element).mark()

    def value(self, block: Block, node: Reduce) -> Lowered:
        """The value of a reduction over the window as it is now."""
        track = self.track(node.element)
        row = self._row(node)
        if row is not None:
            return row_value(block, self.rows, node, row, lt(self.lo, self.hi))
        if node.reduction == "count" and not track.filtered:
            return Lowered(node.type, sub(self.hi, self.lo), TRUE)
        kept = kept_of(node)
        state = self._state(block, track, kept)
        count = self._count(track)
        if node.reduction in ("first", "last"):
            some = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, state[0], some)
        return Lowered(node.type, *finish(node, state, count))

    def _count(self, track: Track) -> LExpr:
        if track.filtered:
            return track.running[COUNT][0]
        return sub(self.hi, self.lo)

    def _row(self, node: Reduce) -> LExpr | None:
        """Where every row contributes, the first and the last one are known."""
        if node.reduction not in ("first", "last"):
            return None
        if self.track(node.element).filtered:
            return None
        return self.lo if node.reduction == "first" else sub(self.hi, i64(1))

    def _state(self, block: Block, track: Track, kept: Kept) -> State:
        running = track.running[kept]
        if kept not in track.stacked:
            return running
        has_front = block.name("front", lt(self.lo, self.middle))
        at = block.name("top", select(has_front, sub(self.lo, self.base), i64(0)))
        front = tuple(block.name("f", load(array, at)) for array in track.stacked[kept])
        merged = kept.merge(front, running)
        return tuple(
            block.name("w", select(has_front, both, back))
            for both, back in zip(merged, running, strict=True)
        )


def kept_of(node: Reduce) -> Kept:
    """The state that a reduction needs besides the count."""
    kind = node.element.type
    return kept_for(node.reduction, kind if isinstance(kind, Scalar) else BOOL)
