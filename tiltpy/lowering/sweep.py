"""The general loop: a merge of cursors that jumps from change point to change point.

Section 6.1.3 of the paper. At a grid point `now` every reference is brought up to date
and says until when it sees the same; the run of cells up to the last grid point before
anything changes is one visit. Whether the visit continues the snapshot before it is
decided by the object's cuts (see `ir.nodes.Cut`), never by values.
"""

from dataclasses import dataclass
from typing import TypeGuard, assert_never

from tiltpy.abi import Loop, Read, Rows, Shape, SlotKind
from tiltpy.ir.cuts import leaf_cuts
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
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    le,
    least,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Store, Var, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.cursors import Cursor, DisjointCursor, Seen, point_cursor
from tiltpy.lowering.references import reductions, references, uses_time
from tiltpy.lowering.rows import ObjectRows, Written
from tiltpy.lowering.trees import TreeWindow
from tiltpy.lowering.values import Leaf, Lowered, lower_expr
from tiltpy.lowering.windows import SlidingWindow
from tiltpy.types import BOOL, I64


@dataclass(slots=True)
class _Visit:
    """What the references see at the current visit."""

    points: dict[CutPoint, Seen]
    bounds: list[LExpr]


class Sweep:
    """The sweep that computes one temporal object."""

    def __init__(
        self,
        assembly: Assembly,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
    ) -> None:
        self.assembly = assembly
        self.definition = definition
        self.objects = objects
        self.tdom = definition.tdom
        self.single_step = self.tdom.precision == 1
        self.every_cell = uses_time(definition)
        points, windows = references(definition)
        self.cursors: dict[CutPoint, Cursor] = {
            point: point_cursor(
                assembly,
                objects[point.object],
                point.offset,
                single_step=self.single_step,
            )
            for point in points
        }
        self.windows: dict[Window, SlidingWindow | TreeWindow] = {
            window: self._window(window) for window in windows
        }
        for node in reductions(definition):
            self.windows[node.window].reduce(node)
        self.now = assembly.fresh("now")
        self.visit = _Visit({}, [])
        self.flags: list[Var] = []
        self.always_cuts = self.single_step and all(
            self._sure(cut) for cut in definition.cuts
        )
        if not self.always_cuts:
            for cut in leaf_cuts(definition.cuts):
                if isinstance(cut, CutWindow):
                    self.windows[cut.window].cut(cut.element)

    def _window(self, window: Window) -> SlidingWindow | TreeWindow:
        rows = self.objects[window.object]
        kind = SlidingWindow if rows.layout.fifo else TreeWindow
        return kind(self.assembly, rows, window)

    def _sure(self, cut: Cut) -> bool:
        """Whether each of its bounds is a change that the next tick sees.

        In a loop over every tick whose cuts are all like that, every visit starts a new
        snapshot and none need be compared.
        """
        match cut:
            case CutPoint(object=name):
                return self.objects[name].disjoint and self.objects[name].complete
            case CutWindow(window=window, element=element):
                slide = self.windows[window]
                if not isinstance(slide, SlidingWindow):
                    return False
                return not slide.track(element).filtered
            case CutTime():
                return True
            case CutInlined():
                return False
            case _:
                assert_never(cut)

    def lower(self, block: Block, out: Written) -> Var:
        """Append the loop; returns the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.assembly.number(SlotKind.FIRST, name)
        last = self.assembly.number(SlotKind.LAST, name)
        count = self.assembly.fresh(f"{name}.count")
        exists = self.assembly.fresh("exists", BOOL)
        begin = self.assembly.fresh("begin")
        body = block.inner()
        self._look(body)
        until = body.name("until", self._until(last))
        value = lower_expr(body, self._leaf(body), self.definition.body)
        valid = body.name("ok", value.valid)
        here = sub(self.now, i64(self.tdom.precision))
        if self.always_cuts:
            at: LExpr = count
            body.set(begin, here)
        else:
            same = body.name("same", conj(exists, valid, negate(self._cut(body))))
            at = body.name("to", sub(count, convert(same, I64)))
            body.set(begin, select(same, begin, here))
            body.set(exists, valid)
        _write(body, out, at, value, begin, until)
        body.set(count, add(at, convert(valid, I64)))
        body.set(self.now, add(until, i64(self.tdom.precision)))
        self._stride(body, out, count, last)
        block.set(count, i64(0))
        if not self.always_cuts:
            block.set(exists, FALSE)
            block.set(begin, i64(0))
        for flag in self.flags:
            block.set(flag, FALSE)
        block.set(self.now, first)
        for cursor in self.cursors.values():
            cursor.start(block, first)
        for slide in self.windows.values():
            slide.start(block)
        block.add(While(le(self.now, last), body.body()))
        return count

    def _look(self, block: Block) -> None:
        """Bring every reference up to date."""
        points = {
            point: cursor.advance(block, self.now)
            for point, cursor in self.cursors.items()
        }
        bounds = [seen.bound for seen in points.values()]
        for window, slide in self.windows.items():
            low = block.name("low", add(self.now, i64(window.start)))
            high = block.name("high", add(self.now, i64(window.end)))
            slide.advance(block, low, high)
            bounds.append(slide.bound())
        self.visit = _Visit(points, [block.name("bound", b) for b in bounds])

    def _stride(self, block: Block, out: Written, count: Var, last: LExpr) -> None:
        """Append visits for as long as every reference is well inside its rows.

        There all of them exist and have a next row, which makes a visit half as long.
        """
        strides = {p: c for p, c in self.cursors.items() if _strides(c)}
        if len(strides) != len(self.cursors) or self.windows or not self.always_cuts:
            return
        if not strides or self.every_cell:
            return
        head, visit, stretch = block.inner(), block.inner(), block.inner()
        steps = {p: c.peek(head, self.now) for p, c in strides.items()}
        until = head.name("until", least(*(s.seen.bound for s in steps.values())))
        self.visit = _Visit({p: s.seen for p, s in steps.items()}, [])
        value = lower_expr(visit, self._leaf(visit), self.definition.body)
        _write(visit, out, count, value, sub(self.now, i64(1)), until)
        visit.set(count, add(count, convert(value.valid, I64)))
        visit.set(self.now, add(until, i64(1)))
        for step in steps.values():
            step.make(visit)
        further = conj(le(until, last), *(s.inside() for s in steps.values()))
        stretch.add(While(further, visit.body(), head.body()))
        block.when(conj(*(c.inside() for c in strides.values())), stretch)

    def _until(self, last: LExpr) -> LExpr:
        """The last grid point that is certain to see the same as this one."""
        if self.every_cell:
            return self.now
        bound = least(*self.visit.bounds, last) if self.visit.bounds else last
        precision = i64(self.tdom.precision)
        if self.single_step:
            return bound
        steps = Bin("//", sub(bound, self.now), precision, I64)
        return add(self.now, Bin("*", steps, precision, I64))

    def _leaf(self, block: Block) -> Leaf:
        def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
            return self._read(block, node)

        return leaf

    def _read(
        self, block: Block, node: At | EventBound | Reduce | Time | Element
    ) -> Lowered:
        match node:
            case At(object=name, offset=offset):
                seen = self.visit.points[CutPoint(name, offset)]
                return self.objects[name].value(seen.row, seen.exists)
            case EventBound(object=name, offset=offset):
                seen = self.visit.points[CutPoint(name, offset)]
                return bound_of(self.objects[name], node, seen.row, seen.exists)
            case Time(offset=offset):
                return Lowered(node.type, add(self.now, i64(offset)), TRUE)
            case Reduce():
                return self.windows[node.window].value(block, node)
            case Element():
                raise AssertionError("an element outside of a window")
            case _:
                assert_never(node)

    def _cut(self, block: Block) -> LExpr:
        """Whether the object is cut between the visit before and this one."""
        moved = {point: cursor.cut(block) for point, cursor in self.cursors.items()}
        return disj(*(self._cuts(block, moved, cut) for cut in self.definition.cuts))

    def _cuts(self, block: Block, moved: dict[CutPoint, LExpr], cut: Cut) -> LExpr:
        match cut:
            case CutPoint():
                return moved[cut]
            case CutWindow(window=window, element=element):
                return self.windows[window].cut(element)
            case CutTime():
                return TRUE
            case CutInlined(value=value, cuts=cuts):
                inner = disj(*(self._cuts(block, moved, one) for one in cuts))
                return self._unless_gap(block, value, inner)
            case _:
                assert_never(cut)

    def _unless_gap(self, block: Block, value: Expr, inner: LExpr) -> LExpr:
        """An inlined object that is φ at both visits is one gap, whatever it reads."""
        before = self.assembly.fresh("was", BOOL)
        self.flags.append(before)
        now = block.name("is", lower_expr(block, self._leaf(block), value).valid)
        changed = block.name("cut", conj(inner, disj(now, before)))
        block.set(before, now)
        return changed

    def describe(self) -> Loop:
        """What the runtime must know of the loop."""
        reads = tuple(
            Read(point.object, point.offset - 1, point.offset) for point in self.cursors
        ) + tuple(Read(w.object, w.start, w.end) for w in self.windows)
        factors: dict[str, int] = {}
        for read in reads:
            factors[read.object] = factors.get(read.object, 0) + 2
        rows: Rows = tuple(factors.items())
        return Loop(
            self.definition.name,
            self.tdom,
            self.definition.type,
            Shape.SWEEP,
            reads,
            rows,
            self.every_cell,
            implicit_times=False,
        )


def _strides(cursor: Cursor) -> TypeGuard[DisjointCursor]:
    return isinstance(cursor, DisjointCursor) and cursor.strides


def _write(
    block: Block, out: Written, at: LExpr, value: Lowered, begin: LExpr, end: LExpr
) -> None:
    """Put a snapshot at its place; one that is φ is overwritten by the next."""
    block.add(Store(out.starts, at, begin), Store(out.ends, at, end))
    write_value(block, out, at, value)


def bound_of(rows: ObjectRows, node: EventBound, row: LExpr, exists: LExpr) -> Lowered:
    """`start(~x[t])` or `end(~x[t])` of the row that the reference sees."""
    bound = rows.start_at if node.which == "start" else rows.end_at
    return Lowered(node.type, bound(row), exists)


def write_value(block: Block, out: Written, at: LExpr, value: Lowered) -> None:
    """Put a payload at its place."""
    if value.fields:
        for field, array, flags in zip(
            value.fields, out.values, out.validity, strict=True
        ):
            block.add(Store(array, at, field.scalar))
            assert flags is not None
            block.add(Store(flags, at, field.valid))
    else:
        block.add(Store(out.values[0], at, value.scalar))
