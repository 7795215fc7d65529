"""The loop over cells that move on together, sixteen at a time: map and stencil."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tiltpy.abi import LANES, Shape
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutInlined,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    i64,
    le,
    lt,
    mul,
    ne,
    negate,
)
from tiltpy.loops.nodes import CallFn, CountTrue, For, Lane, LExpr, Num, Splat, Var
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.folds import LONGEST_TREE, Fold
from tiltpy.lowering.lattice import Step
from tiltpy.lowering.objects import History, Place, Stored, Streamed, place, single
from tiltpy.lowering.outcomes import Outcome
from tiltpy.lowering.reducers import (
    NARROW_MOMENTS,
    SHORT_COUNT,
    Kept,
    State,
    finish,
    kept_for,
    lift_where,
    minus,
    narrow_for,
    over,
    plus,
    times,
)
from tiltpy.lowering.references import reductions
from tiltpy.lowering.stages import Grid, Seen, Unfit
from tiltpy.lowering.values import Lowered, lower_expr
from tiltpy.types import BOOL, F32, F64, I64, Scalar


class LaneLoop:
    """One loop: its objects, their windows, and what they have been."""

    def __init__(
        self,
        grid: Grid,
        assembly: Assembly,
        stored: Mapping[str, Stored],
        low: LExpr,
    ) -> None:
        self.grid = grid
        self.assembly = assembly
        self.stored = stored
        self.low = low
        self.streams: dict[str, Streamed] = {}
        self.folds: dict[tuple[str, Expr, Kept], Fold] = {}
        self.histories: list[History] = []
        self.block = Block(assembly)
        self.cell: LExpr = i64(0)
        self.reader: TemporalExpr
        self.lag = 0
        self.anchors: dict[tuple[str, Expr], int] = {}
        self.has_windows = False
        self.fetched: set[str] = set()

    def shape(self) -> Shape:
        """Whether it has looked at neighbours."""
        looks = self.has_windows or self.histories
        past = any(h.past for s in self.streams.values() for h in s.histories)
        return Shape.STENCIL if looks or past else Shape.MAP

    def start(self, block: Block) -> None:
        """Before the loop."""
        for stream in self.streams.values():
            for history in stream.histories:
                history.start(block)
        for history in self.histories:
            history.start(block)
        for fold in self.folds.values():
            fold.start(block)

    def advance(self, block: Block) -> None:
        """At the end of a round."""
        for stream in self.streams.values():
            for history in stream.histories:
                history.advance(block)
        for history in self.histories:
            history.advance(block)
        for fold in self.folds.values():
            fold.advance(block)

    def define(self, block: Block, cell: Var, definition: TemporalExpr) -> Outcome:
        """Append what computes an object; `cell` counts the first lane's cell."""
        self.block, self.reader = block, definition
        self.lag = self.grid.lags[definition.name]
        self.cell = cell
        value = lower_expr(block, self._leaf, definition.body)
        value = _named(block, value)
        begins = self._begins(definition, value)
        _, ahead = self.grid.reach(definition.name)
        back, _ = self.grid.reach(definition.name)
        precision = definition.tdom.precision
        stream = Streamed(
            self.assembly,
            definition.name,
            definition.type,
            self.grid.axes[definition.name],
            (back + ahead) // precision + self.lag + 1,
            self.lag,
        )
        stream.set(block, value, begins)
        self.streams[definition.name] = stream
        return Outcome(value, begins)

    # What expressions read

    def _leaf(self, node: At | EventBound | Reduce | Time | Element) -> Lowered:
        match node:
            case At(object=name, offset=offset):
                return self._point(CutPoint(name, offset))
            case Time(offset=offset):
                return Lowered(node.type, self._time(offset), TRUE)
            case EventBound():
                return self._bound(node)
            case Reduce():
                self.has_windows = True
                return self._reduce(node)
            case _:
                raise AssertionError("an element outside of a window")

    def _time(self, offset: int) -> LExpr:
        """The grid points of the reader's cells, `offset` ticks on."""
        precision = self.reader.tdom.precision
        ticks = mul(add(self.cell, i64(1 - self.lag)), i64(precision))
        first = self.block.name("time", add(add(self.low, ticks), i64(offset)))
        return add(first, mul(Lane(I64), i64(precision)))

    def _point(self, point: CutPoint) -> Lowered:
        return self._value(point.object, self.grid.point(self.reader, point))

    def _value(self, name: str, step: Step) -> Lowered:
        if self._streams(name):
            return self.streams[name].value(self.block, self._back(name, step))
        if step.regular:
            self._prefetch(name)
        return self.stored[name].value(self.block, self._place(step))

    def _prefetch(self, name: str) -> None:
        """Ask for what a loop over an input will come to.

        Where another loop has read the tile already, that is the next one.
        """
        source = self.stored[name]
        if source.start is not None and name not in self.fetched:
            self.fetched.add(name)
            again = self.grid.reads_before(self.reader, name) and self.grid.tile
            ahead = again // source.axis.period if again else 0
            source.prefetch(self.block, self.cell, ahead)

    def _streams(self, name: str) -> bool:
        return self.grid.is_streamed(self.reader, name)

    def _back(self, name: str, step: Step) -> int:
        """How many cells ago the loop has computed what a reference sees."""
        assert step.regular, "cells of one loop move on together"
        return self.lag - self.grid.lags[name] - step.plus

    def _place(self, step: Step) -> Place:
        """Where a stored object has the cells that a reference sees."""
        found = place(self.cell, step.earlier(self.lag))
        return replace(found, base=self.block.name("base", found.base))

    def _bound(self, node: EventBound) -> Lowered:
        """`start` or `end` of a row of a sampled input."""
        source = self.stored[node.object]
        if source.start is None:
            raise Unfit(f"the rows of ~{node.object} are spread over ticks")
        at = self._place(
            self.grid.point(self.reader, CutPoint(node.object, node.offset))
        )
        base = add(at.base, i64(int(node.which == "end")))
        lanes = Lane(I64) if at.lanes is None else at.lanes
        period = i64(source.axis.period)
        first = self.block.name("time", add(source.start, mul(base, period)))
        alive = source.living(self.block, at)
        return Lowered(node.type, add(first, mul(lanes, period)), alive)

    # Windows

    def _reduce(self, node: Reduce) -> Lowered:
        seen = self.grid.window(self.reader, node.window)
        if seen.newest.regular:
            return self._sliding(node, seen)
        if seen.newest.strided:
            return self._strided(node, seen)
        raise Unfit(f"a window of ~{node.window.object} has cells of varying number")

    def _certain(self, name: str, element: Expr) -> bool:
        """Whether each cell has a snapshot of its own that contributes."""
        source = self._source(name)
        if not (source.complete and source.always_begins):
            return False
        return self._element(Block(self.assembly), name, element, None).valid == TRUE

    def _source(self, name: str) -> Stored | Streamed:
        return self.streams[name] if self._streams(name) else self.stored[name]

    def _element(
        self, block: Block, name: str, element: Expr, at: int | Place | None
    ) -> Lowered:
        """The element of the snapshots in a vector of cells.

        `at`: how many cells after the counter's they are, or where, or None: anywhere.
        """
        if isinstance(at, Place):
            given = self.stored[name].value(block, at)
        elif self._streams(name):
            back = 0 if at is None else -self.grid.lags[name] - at
            given = self.streams[name].value(block, back)
        else:
            base = block.name("base", add(self.cell, i64(at or 0)))
            given = self.stored[name].value(block, Place(base))
            self._prefetch(name)

        def leaf(node: object) -> Lowered:
            assert isinstance(node, Element)
            return given

        value = lower_expr(block, leaf, element)
        valid = block.name("in", conj(given.valid, value.valid))
        return Lowered(value.type, value.value, valid, value.fields)

    def _after(self, step: Step) -> int:
        """How many cells after the counter's a regular reference sees."""
        return step.plus - self.lag

    def _beginning(self, name: str, after: int) -> LExpr:
        if self._streams(name):
            back = -self.grid.lags[name] - after
            return self.streams[name].beginning(self.block, back)
        base = add(self.cell, i64(after))
        return self.stored[name].beginning(self.block, Place(base))

    def _moved(self, name: str, after: int) -> LExpr:
        if self._streams(name):
            back = -self.grid.lags[name] - after
            return self.streams[name].moved(self.block, back)
        base = add(self.cell, i64(after))
        return self.stored[name].moved(self.block, Place(base))

    def _sliding(self, node: Reduce, seen: Seen) -> Lowered:
        """A window that moves on with the cells."""
        name, element = node.window.object, node.element
        certain = self._certain(name, element)
        newest, oldest = self._after(seen.newest), self._after(seen.oldest)
        if node.reduction in ("first", "last"):
            at = oldest if node.reduction == "first" else newest
            found = self._element(self.block, name, element, at)
            if found.valid != TRUE:
                raise Unfit(f"{node.reduction} of a window that may have gaps")
            return found
        if certain and node.reduction == "count":
            return Lowered(node.type, i64(seen.cells), TRUE)
        if certain and self._is_short_spread(node, seen):
            return self._short_spread(node, newest, seen.cells)
        _, state = self._window(node, narrow_for, newest, seen.cells, certain=certain)
        count: LExpr = i64(seen.cells)
        if not certain:
            count = self._count(node, newest, seen.cells)
        return _finished(node, state, count, certain=certain, cells=seen.cells)

    def _is_short_spread(self, node: Reduce, seen: Seen) -> bool:
        """Whether it is the variance of a few `f32` that lie in memory."""
        few = node.ddof < seen.cells <= LONGEST_TREE
        spread = node.reduction in ("var", "std") and node.element.type == F32
        return few and spread and not self._streams(node.window.object)

    def _short_spread(self, node: Reduce, newest: int, cells: int) -> Lowered:
        """A variance in single precision, as long as nothing of it can get lost.

        Squares of values beyond these bounds leave the range of `f32`; such vectors,
        and those with a NaN, are computed again in double precision.
        """
        block, name, element = self.block, node.window.object, node.element
        fold = self._fold(name, element, NARROW_MOMENTS, certain=True)
        back = self._anchor(name, element) - newest
        _, (_, mean, squares) = fold.window(block, cells, back)
        variance = self.assembly.fresh("variance", F32)
        block.set(variance, times(squares, Num(1.0 / (cells - node.ddof), F32)))
        size = CallFn("abs", (mean,), F32)
        large = disj(le(Num(2.0**-90, F32), variance), le(Num(2.0**-30, F32), size))
        safe = conj(large, le(variance, Num(2.0**100, F32)))
        again = block.inner()
        exact = self._spread_again(again, node, newest, cells)
        again.set(variance, exact)
        unsafe = lt(CountTrue(Splat(safe, BOOL), I64), i64(LANES))
        block.when(block.name("unsafe", unsafe), again)
        if node.reduction == "std":
            root = CallFn("sqrt", (variance,), F32)
            return Lowered(node.type, block.name("w", root), TRUE)
        return Lowered(node.type, variance, TRUE)

    def _spread_again(
        self, block: Block, node: Reduce, newest: int, cells: int
    ) -> LExpr:
        """The variance by Welford's method, in double precision."""
        fresh = self.assembly.fresh
        number, mean, squares = fresh("n"), fresh("mean", F64), fresh("squares", F64)
        for var in (mean, squares):
            block.set(var, Splat(Num(0.0, F64), F64))
        inner = block.inner()
        first = add(self.cell, i64(newest - cells + 1))
        at = Place(inner.name("base", add(first, number)))
        value = self._element(inner, node.window.object, node.element, at)
        wide = inner.name("x", convert(value.scalar, F64))
        delta = inner.name("d", minus(wide, mean))
        count = convert(add(number, i64(1)), F64)
        inner.set(mean, plus(mean, over(delta, count)))
        inner.set(squares, plus(squares, times(delta, minus(wide, mean))))
        block.add(For(number, i64(0), i64(cells), inner.body()))
        free = Num(float(cells - node.ddof), F64)
        return block.name("w", convert(over(squares, free), F32))

    def _count(self, node: Reduce, newest: int, cells: int) -> LExpr:
        def counted(_reduction: str, _kind: Scalar) -> Kept:
            return SHORT_COUNT

        _, (count,) = self._window(node, counted, newest, cells, certain=False)
        return count

    def _window(
        self,
        node: Reduce,
        choose: Callable[[str, Scalar], Kept],
        newest: int,
        cells: int,
        *,
        certain: bool,
    ) -> tuple[Kept, State]:
        """The state of a window; of what began before it, its first cell has it."""
        name, element = node.window.object, node.element
        kind = element.type if isinstance(element.type, Scalar) else BOOL
        kept = choose(node.reduction, kind)
        source = self._source(name)
        fold = self._fold(name, element, kept, certain=certain)
        back = self._anchor(name, element) - newest
        if source.always_begins:
            return fold.window(self.block, cells, back)
        oldest = newest - cells + 1
        first = self._element(self.block, name, element, oldest)
        state = lift_where(kept, first, first.valid, i64(0))
        if cells == 1:
            return kept, state
        wider, rest = fold.window(self.block, cells - 1, back)
        if wider != kept:
            state = kept.widen(state)
        merged = wider.merge(state, rest)
        return wider, tuple(self.block.name("w", part) for part in merged)

    def _anchor(self, name: str, element: Expr) -> int:
        """The cells after the counter's at which an element is evaluated.

        As early as the furthest window of the loop needs it.
        """
        if (name, element) not in self.anchors:
            found = []
            stage = self.grid.stage_of[self.reader.name]
            for reader in stage.definitions:
                for node in reductions(reader):
                    if (node.window.object, node.element) == (name, element):
                        newest = self.grid.window(reader, node.window).newest
                        if newest.regular:
                            lag = self.grid.lags[reader.name]
                            found.append(newest.plus - lag)
            self.anchors[name, element] = max(found)
        return self.anchors[name, element]

    def _deepest(self, name: str, element: Expr) -> int:
        """How far back of the anchor a window is seen, at most."""
        anchor, found = self._anchor(name, element), [0]
        for reader in self.grid.stage_of[self.reader.name].definitions:
            for node in reductions(reader):
                if (node.window.object, node.element) == (name, element):
                    newest = self.grid.window(reader, node.window).newest.plus
                    found.append(anchor - newest + self.grid.lags[reader.name])
        return max(found)

    def _fold(self, name: str, element: Expr, kept: Kept, *, certain: bool) -> Fold:
        key = name, element, kept
        if key not in self.folds:
            label = f"{name}.{kept.name}"
            deepest = self._deepest(name, element)
            fold = Fold(self.assembly, label, kept, certain, deepest)
            anchor = self._anchor(name, element)
            value = self._element(self.block, name, element, anchor)
            contributes = value.valid
            if not self._source(name).always_begins:
                contributes = conj(value.valid, self._beginning(name, anchor))
            fold.lift(self.block, lift_where(kept, value, contributes, i64(0)))
            self.folds[key] = fold
        return self.folds[key]

    def _strided(self, node: Reduce, seen: Seen) -> Lowered:
        """A short window of finer cells, in whole: each lane gathers its own."""
        name, element = node.window.object, node.element
        if self._streams(name) or not self._certain(name, element):
            raise Unfit(f"a short window of finer ~{name} may have gaps")
        if node.reduction in ("first", "last"):
            step = seen.oldest if node.reduction == "first" else seen.newest
            return self._element(self.block, name, element, self._place(step))
        if node.reduction == "count":
            return Lowered(node.type, i64(seen.cells), TRUE)
        kind = element.type if isinstance(element.type, Scalar) else BOOL
        kept = kept_for(node.reduction, kind)
        state: State | None = None
        for cell in range(seen.cells):
            at = self._place(seen.oldest.further(cell))
            value = self._element(self.block, name, element, at)
            lifted = lift_where(kept, value, TRUE, i64(0))
            merged = lifted if state is None else kept.join(state, lifted)
            state = tuple(self.block.name("w", part) for part in merged)
        assert state is not None
        count = i64(seen.cells)
        return _finished(node, state, count, certain=True, cells=seen.cells)

    # Where snapshots begin

    def _begins(self, definition: TemporalExpr, value: Lowered) -> LExpr | None:
        """Where one begins; None: wherever there is a value."""
        if any(self._always_cuts(cut) for cut in definition.cuts):
            return None
        cut = disj(*(self._cuts(one) for one in definition.cuts))
        if cut == TRUE:
            return None
        cut = self.block.name("cut", cut)
        if value.valid == TRUE:
            return cut
        before = self._before(f"{definition.name}.was", value.valid)
        begins = conj(value.valid, disj(cut, negate(before)))
        return self.block.name("begins", begins)

    def _before(self, name: str, flags: LExpr) -> LExpr:
        """Flags of the cells one earlier."""
        history = History(self.assembly, name, BOOL)
        history.set(self.block, flags)
        self.histories.append(history)
        return history.at(self.block, 1)

    def _always_cuts(self, cut: Cut) -> bool:
        """Whether each cell sees other snapshots than the one before."""
        match cut:
            case CutTime():
                return True
            case CutPoint(object=name):
                source = self._source(name)
                step = self.grid.point(self.reader, cut)
                moves = step.times >= step.over
                return moves and source.complete and source.always_begins
            case CutWindow(window=window, element=element):
                step = self.grid.window(self.reader, window).newest
                moves = step.times >= step.over
                return moves and self._certain(window.object, element)
            case CutInlined():
                return False

    def _cuts(self, cut: Cut) -> LExpr:
        match cut:
            case CutTime():
                return TRUE
            case CutPoint(object=name):
                return self._point_cuts(name, self.grid.point(self.reader, cut))
            case CutWindow(window=window, element=element):
                return self._window_cuts(window, element)
            case CutInlined(value=value, cuts=cuts):
                inner = disj(*(self._cuts(one) for one in cuts))
                now = lower_expr(self.block, self._leaf, value).valid
                now = self.block.name("is", now)
                if now == TRUE:
                    return inner
                before = self._before(f"{self.reader.name}.inlined", now)
                return self.block.name("cut", conj(inner, disj(now, before)))

    def _point_cuts(self, name: str, step: Step) -> LExpr:
        if step.regular:
            return self._moved(name, self._after(step))
        if step.times > step.over:
            raise Unfit(f"~{name} may have gaps between the cells that are seen")
        source = self.stored[name]
        at = self._place(step)
        before = step.earlier(self.lag + 1)
        if at.single:  # only the first lane can be in another cell than the one before
            moves = ne(at.base, single(self.cell, before).base)
            other = conj(eq(Lane(I64), i64(0)), self.block.name("moves", moves))
        else:
            other = ne(at.cell(), place(self.cell, before).cell())
        return self.block.name("cut", conj(other, source.moved(self.block, at)))

    def _window_cuts(self, window: Window, element: Expr) -> LExpr:
        """A snapshot that contributes has come, or one has gone."""
        seen = self.grid.window(self.reader, window)
        if not seen.newest.regular:
            raise Unfit(f"a window of ~{window.object} may hold the same twice")
        name = window.object
        newest, oldest = self._after(seen.newest), self._after(seen.oldest)
        new = self._element(self.block, name, element, newest).valid
        gone = self._element(self.block, name, element, oldest - 1).valid
        comes = conj(new, self._moved(name, newest))
        goes = conj(gone, self._moved(name, oldest))
        return self.block.name("cut", disj(comes, goes))


def _finished(
    node: Reduce, state: State, count: LExpr, *, certain: bool, cells: int
) -> Lowered:
    value, valid = finish(node, state, count)
    if certain:
        valid = TRUE if node.ddof < cells else lt(i64(1), i64(0))
    return Lowered(node.type, value, valid)


def _named(block: Block, value: Lowered) -> Lowered:
    """The same in variables."""
    if value.fields:
        fields = tuple(_named(block, field) for field in value.fields)
        return Lowered(value.type, None, block.name("ok", value.valid), fields)
    named = block.name("v", value.scalar)
    return Lowered(value.type, named, block.name("ok", value.valid))
