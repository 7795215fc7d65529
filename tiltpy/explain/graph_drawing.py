"""Positions of an outline's boxes, arrows and frames in a picture, in pixels.

The contents of each frame are laid out first, then the frames among the other boxes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter

from tiltpy.explain.boxes import break_lines, format_box, group_by_loop
from tiltpy.explain.layered_layout import Arrow, GraphLayout, Route, Size, lay_out
from tiltpy.explain.outline import Outline, Reference
from tiltpy.lean_dataclass import dataclass
from tiltpy.text_columns import count_columns

LETTER, LINE = 7.25, 16.0
"""The width of a letter of the fixed pitch, and the height of a line."""
SMALL = 0.85
"""The size of labels, in that of boxes."""
PADDING = 8.0
"""In a box, and in a frame."""
TITLE = 20.0
"""The height of a frame's title."""


@dataclass(frozen=True, slots=True)
class GraphDrawing:
    """Elements with their places, and the size of all."""

    boxes: tuple["PlacedBox", ...]
    frames: tuple["LoopFrame", ...]
    curves: tuple["CurvedArrow", ...]
    size: Size


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """The box of an object."""

    name: str
    style: str
    lines: tuple[str, ...]
    x: float = 0.0
    y: float = 0.0

    @property
    def size(self) -> Size:
        text = _text_size(self.lines)
        return Size(text.width + 2 * PADDING, text.height + 2 * PADDING)


@dataclass(frozen=True, slots=True)
class LoopFrame:
    """The frame around what a loop computes."""

    title: str
    size: Size
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class CurvedArrow:
    """An arrow: all references of a reader to an object."""

    reader: str
    object: str
    fused: bool
    lines: tuple[str, ...]
    points: tuple[tuple[float, float], ...] = ()
    label: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _FrameContents:
    """The contents of a frame: its boxes, and the arrows that end in it."""

    boxes: Sequence[PlacedBox]
    arrows: Sequence[CurvedArrow]
    layout: GraphLayout
    entries: Sequence[int]
    """The arrows that come from outside: those have a box without size, the first."""


def draw_outline(outline: Outline) -> GraphDrawing:
    """Lay out the contents of each frame, then the frames among the other boxes."""
    boxes = {box.name: box for box in _boxes(outline)}
    owner = {
        each.name: loop
        for loop, inside in group_by_loop(outline).items()
        for each in inside
    }
    arrows = list(_merge_references(outline.references))
    insides = {
        loop: _lay_inside(
            [box for box in boxes.values() if owner.get(box.name) == loop],
            [arrow for arrow in arrows if owner.get(arrow.reader) == loop],
        )
        for loop in dict.fromkeys(owner.values())
    }
    return _lay_outside(boxes, owner, arrows, insides)


def _boxes(outline: Outline) -> Iterator[PlacedBox]:
    for source in outline.inputs:
        yield PlacedBox(source.name, "input", tuple(break_lines(source.text)))
    for each in outline.definitions:
        style = "output" if each.output else "definition"
        yield PlacedBox(each.name, style, tuple(format_box(each, outline)))


def _merge_references(references: Sequence[Reference]) -> Iterator[CurvedArrow]:
    """Merge the references of a reader to an object into an arrow of several lines."""
    merged: dict[tuple[str, str, bool], list[str]] = {}
    for each in references:
        lines = merged.setdefault((each.reader, each.object, each.fused), [])
        lines.append(each.fold_prefix + each.bounds)
    for (reader, source, fused), lines in merged.items():
        yield CurvedArrow(reader, source, fused, tuple(lines))


def _lay_inside(
    boxes: Sequence[PlacedBox], arrows: Sequence[CurvedArrow]
) -> _FrameContents:
    places = {box.name: number for number, box in enumerate(boxes)}
    entries = [n for n, arrow in enumerate(arrows) if arrow.object not in places]
    first = len(entries)
    sizes = [*(Size(0.0, 0.0) for _ in entries), *(box.size for box in boxes)]
    linked = [
        Arrow(
            entries.index(n) if n in entries else first + places[arrow.object],
            first + places[arrow.reader],
            _label_size(arrow),
        )
        for n, arrow in enumerate(arrows)
    ]
    return _FrameContents(boxes, arrows, lay_out(sizes, linked), entries)


def _lay_outside(
    boxes: dict[str, PlacedBox],
    owner: dict[str, str],
    arrows: Sequence[CurvedArrow],
    insides: dict[str, _FrameContents],
) -> GraphDrawing:
    """Lay out frames and the boxes outside, and put together what is drawn."""
    crossing = [a for a in arrows if _outer(a.object, owner) != _outer(a.reader, owner)]
    order = _sort_by_reading(boxes, owner, crossing)
    sizes = [
        boxes[name].size if loop is None else _frame_size(insides[loop])
        for loop, name in order
    ]
    linked = [
        Arrow(
            order.index(_outer(arrow.object, owner)),
            order.index(_outer(arrow.reader, owner)),
            Size(0.0, 0.0) if arrow.reader in owner else _label_size(arrow),
            _find_exit(arrow, owner, insides),
            _find_entry(arrow, owner, insides),
        )
        for arrow in crossing
    ]
    layout = lay_out(sizes, linked)
    routes = dict(zip(crossing, layout.routes, strict=True))
    placed: list[PlacedBox] = []
    frames: list[LoopFrame] = []
    curves = [
        _bend(arrow, [route])
        for arrow, route in routes.items()
        if arrow.reader not in owner
    ]
    for (loop, name), size, (x, y) in zip(order, sizes, layout.corners, strict=True):
        if loop is None:
            placed.append(replace(boxes[name], x=x, y=y))
            continue
        inside = insides[loop]
        frames.append(LoopFrame(f"one loop: ~{loop}", size, x, y))
        left, top = x + PADDING, y + TITLE
        corners = inside.layout.corners[len(inside.entries) :]
        for box, (inner_x, inner_y) in zip(inside.boxes, corners, strict=True):
            placed.append(replace(box, x=left + inner_x, y=top + inner_y))
        for arrow, route in zip(inside.arrows, inside.layout.routes, strict=True):
            moved = _shift(route, left, top)
            outer = [routes[arrow]] if arrow in routes else []
            curves.append(_bend(arrow, [*outer, moved]))
    bottoms = {box.name: box.y + box.size.height for box in placed}
    curves = [_begin_at(curve, bottoms[curve.object]) for curve in curves]
    return GraphDrawing(tuple(placed), tuple(frames), tuple(curves), layout.size)


def _outer(name: str, owner: dict[str, str]) -> tuple[str | None, str]:
    """Find the box or frame that an object is in, outside: the frame's loop, a name."""
    return (owner[name], owner[name]) if name in owner else (None, name)


def _sort_by_reading(
    boxes: dict[str, PlacedBox], owner: dict[str, str], crossing: Sequence[CurvedArrow]
) -> list[tuple[str | None, str]]:
    """Sort boxes and frames: readers after what they read."""
    sorter = TopologicalSorter({_outer(name, owner): () for name in boxes})
    for arrow in crossing:
        sorter.add(_outer(arrow.reader, owner), _outer(arrow.object, owner))
    return list(sorter.static_order())


def _frame_size(inside: _FrameContents) -> Size:
    size = inside.layout.size
    return Size(size.width + 2 * PADDING, size.height + TITLE + PADDING)


def _find_exit(
    arrow: CurvedArrow, owner: dict[str, str], insides: dict[str, _FrameContents]
) -> float | None:
    """Find where an arrow leaves a frame: below the box that it comes from."""
    if arrow.object not in owner:
        return None
    inside = insides[owner[arrow.object]]
    corners = inside.layout.corners[len(inside.entries) :]
    for box, (x, _) in zip(inside.boxes, corners, strict=True):
        if box.name == arrow.object:
            return PADDING + x + box.size.width / 2
    return None


def _find_entry(
    arrow: CurvedArrow, owner: dict[str, str], insides: dict[str, _FrameContents]
) -> float | None:
    """Find where an arrow enters a frame."""
    if arrow.reader not in owner:
        return None
    inside = insides[owner[arrow.reader]]
    entry = inside.entries.index(inside.arrows.index(arrow))
    return PADDING + inside.layout.corners[entry][0]


def _shift(route: Route, x: float, y: float) -> Route:
    points = tuple((px + x, py + y) for px, py in route.points)
    return Route(points, (route.label[0] + x, route.label[1] + y))


def _bend(arrow: CurvedArrow, routes: Sequence[Route]) -> CurvedArrow:
    """Draw an arrow along routes; its label stands at the last."""
    points = tuple(point for route in routes for point in route.points)
    return replace(arrow, points=points, label=routes[-1].label)


def _begin_at(curve: CurvedArrow, bottom: float) -> CurvedArrow:
    """Let an arrow begin at the bottom of its box, where it crosses a frame first."""
    x, y = curve.points[0]
    if abs(y - bottom) < 1e-6:
        return curve
    return replace(curve, points=((x, bottom), *curve.points))


def _text_size(lines: Sequence[str]) -> Size:
    return Size(LETTER * max(map(count_columns, lines)), LINE * len(lines))


def _label_size(arrow: CurvedArrow) -> Size:
    size = _text_size(arrow.lines)
    return Size(SMALL * size.width + PADDING, SMALL * size.height)
