"""Windows seen through maps: which objects have one snapshot for each of another's.

If `~a[t]` is computed from `~x[t+d]` alone and is φ where that is, then the snapshots
of `~a` are those of `~x` on which the body is not φ. A reduction of a window of `~a` is
one of a window of `~x` whose element is the body.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tiltpy.ir.cuts import LeafCut, expressions, leaf_cuts
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutWindow,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    InlinedCut,
    Input,
    LastRows,
    Phi,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import rewrite, rewrite_element, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.strictness import never_phi, strict_in
from tiltpy.passes.analyses.substitution import (
    access,
    expand_lets,
    expanded_size,
    inline_element,
)
from tiltpy.types import BOOL, Struct

MAX_ELEMENT = 64
"""Nodes that an element may have: it is evaluated for every snapshot of every
window that reads it."""


@dataclass(frozen=True, slots=True)
class Map:
    """`~a[t]` as `value` over the snapshot of `~object[t+offset]`."""

    object: str
    offset: int
    value: Expr


def map_of(
    definition: TemporalExpr, objects: Callable[[str], Input | TemporalExpr]
) -> Map | None:
    """Read a definition as a map, if it has one snapshot for each that it reads."""
    tdom = definition.tdom
    if not tdom.is_infinite or tdom.calendar or len(definition.cuts) != 1:
        return None
    cut = definition.cuts[0]
    if not isinstance(cut, CutPoint) or cut not in strict_in(definition.body):
        return None
    if definition.tdom.rows is not None:
        if not cut.row:
            return None
    elif not _boundaries_on_grid(objects(cut.object), cut.offset, definition):
        return None
    if expanded_size(definition.body) > MAX_ELEMENT:
        return None
    body = expand_lets(definition.body)
    if any(isinstance(node, EventBound) for node in walk(body)):
        return None

    def rule(node: Expr) -> Expr:
        match node:
            case At():
                return Element(node.type, node.span)
            case Field():
                return access(node)
            case _:
                return node

    return Map(cut.object, cut.offset, rewrite(body, rule))


def _boundaries_on_grid(
    seen: Input | TemporalExpr, offset: int, reader: TemporalExpr
) -> bool:
    """Tell whether an object never overlaps and no cell of its reader spans a bound."""
    tdom = reader.tdom
    if isinstance(seen, Input):
        return seen.disjoint and tdom.precision == 1
    if seen.tdom.rows is not None:
        return False
    if tdom.precision == 1:
        return True
    aligned = (seen.tdom.offset - offset - tdom.offset) % tdom.precision == 0
    return (
        seen.tdom.is_infinite and seen.tdom.precision % tdom.precision == 0 and aligned
    )


def see_through(reader: TemporalExpr, object: str, map: Map) -> TemporalExpr | None:
    """Replace the reader's windows of an object by windows of what the object maps.

    None if an element would grow too large, or if it matters where the snapshots start
    and end, or the window, and the map looks elsewhere: its own do so at other times.
    """
    if map.offset and any(_sees_edges(cut, object) for cut in leaf_cuts(reader.cuts)):
        return None
    if any(_sees_rows(cut, object, map) for cut in leaf_cuts(reader.cuts)):
        return None
    if any(expanded_size(each) > MAX_ELEMENT for each in _elements(reader.cuts)):
        return None

    folded = set(_folded_structs(reader, object))

    def map_element(element: Expr) -> Expr:
        return _map_element(element, map, counted=element not in folded)

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Reduce) or node.window.object != object:
            return node
        window = _shift_window(node.window, map)
        return replace(node, window=window, element=map_element(node.element))

    def map_cut(cut: Cut) -> Cut:
        match cut:
            case CutWindow():
                element = rewrite(cut.element, rule)
                if cut.window.object != object:
                    return replace(cut, element=element)
                window = _shift_window(cut.window, map)
                return replace(cut, window=window, element=map_element(element))
            case InlinedCut():
                inner = tuple(map_cut(each) for each in cut.cuts)
                return InlinedCut(rewrite(cut.value, rule), inner)
            case _:
                return cut

    cuts = tuple(dict.fromkeys(map_cut(cut) for cut in reader.cuts))
    if any(expanded_size(each) > MAX_ELEMENT for each in _elements(cuts)):
        return None
    return replace(reader, body=rewrite(reader.body, rule), cuts=cuts)


def _folded_structs(reader: TemporalExpr, object: str) -> Iterator[Expr]:
    """Yield the structs of an object's windows that are reduced, not just counted."""
    for node in (node for expr in expressions(reader) for node in walk(expr)):
        if not isinstance(node, Reduce) or node.window.object != object:
            continue
        if isinstance(node.element.type, Struct) and node.reduction != "count":
            yield node.element


def _sees_edges(cut: Cut, object: str) -> bool:
    """Tell whether a cut is a window that must stay where it is."""
    if not isinstance(cut, CutWindow) or cut.window.object != object:
        return False
    return cut.bounds or cut.window.cells is not None


def _sees_rows(cut: LeafCut, object: str, map: Map) -> bool:
    """Tell whether a window counts, or looks for, snapshots that the map may drop.

    Or restarts at other times than at those of the map's object.
    """
    if not isinstance(cut, CutWindow) or object not in cut.window.objects:
        return False
    window = cut.window
    if window.look is not None or isinstance(window.limit, LastRows):
        return True
    return window.limit is not None and (object in window.restarts or map.offset != 0)


def _elements(cuts: tuple[Cut, ...]) -> Iterator[Expr]:
    """Yield the elements of all windows that cut."""
    return (cut.element for cut in leaf_cuts(cuts) if isinstance(cut, CutWindow))


def _shift_window(window: Window, map: Map) -> Window:
    return replace(window.shift_by(map.offset), object=map.object)


def _map_element(element: Expr, map: Map, *, counted: bool) -> Expr:
    """Rewrite an element over the map's source: φ too where the map has no snapshot."""
    mapped = inline_element(element, map.value, counted=counted)
    if never_phi(map.value) or _is_strict_in_element(element):
        return mapped
    exists = Exists(map.value, BOOL, map.value.span)
    return If(exists, mapped, Phi(mapped.type, mapped.span), mapped.span)


def _is_strict_in_element(element: Expr) -> bool:
    def rule(node: Expr) -> Expr:
        return At("", 0, node.type) if isinstance(node, Element) else node

    return CutPoint("", 0) in strict_in(rewrite_element(element, rule))
