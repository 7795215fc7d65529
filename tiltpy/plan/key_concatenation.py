"""Whether keys can be concatenated in time: one kernel call over the rows of many.

The rows of each key are shifted to a time range of their own, further from those of the
other keys than any window reaches. So a call costs as much for a row of a small key as
for one of a large key. It takes a query that means the same at every time.
"""

from collections.abc import Iterator
from math import lcm

from tiltpy.abi.signature import Signature
from tiltpy.ir.cuts import expressions, leaf_cuts
from tiltpy.ir.nodes import (
    CutTime,
    CutWindow,
    ElementStart,
    EventBound,
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.ir.traversal import walk
from tiltpy.plan.nodes import Refusal


def refuse_concatenation(query: Query, signature: Signature) -> Refusal | None:
    """Refuse a query that sees when its rows are, or all the rows before.

    `signature` is that of its kernel for rows of concatenated keys.
    """
    for declared in query.inputs:
        if not declared.keys:
            return Refusal(f"~{declared.name} has no key")
    for definition in query.definitions:
        refusal = _refuse_definition(definition)
        if refusal is not None:
            return refusal
    for loop in signature.loops:
        if loop.is_unbounded:
            return Refusal(f"~{loop.name} looks at rows at any distance")
        if loop.beyond_rows:
            return Refusal(f"~{loop.name} may visit far more than there are rows")
    return None


def _refuse_definition(definition: TemporalExpr) -> Refusal | None:
    tdom, name = definition.tdom, definition.name
    if not tdom.is_infinite:
        return Refusal(f"~{name} has a bound in time")
    if tdom.calendar is not None or tdom.cells is not None:
        return Refusal(f"the cells of ~{name} are not of one length")
    for expr in expressions(definition):
        for node in walk(expr):
            bounds = isinstance(node, Reduce) and node.bounds
            if bounds or isinstance(node, Time | EventBound | ElementStart):
                return Refusal(f"~{name} uses times as numbers")
    if any(isinstance(cut, CutTime) for cut in leaf_cuts(definition.cuts)):
        return Refusal(f"~{name} uses times as numbers")
    for window in _windows(definition):
        if not window.is_fixed or window.cells is not None:
            return Refusal(f"a window of ~{name} is not of one length")
    return None


def _windows(definition: TemporalExpr) -> Iterator[Window]:
    for expr in expressions(definition):
        for node in walk(expr):
            if isinstance(node, Reduce):
                yield node.window
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutWindow):
            yield cut.window


def common_precision(query: Query) -> int:
    """Find the ticks by which all grids, and the blocks of windows, can be shifted.

    Blocks are as long as their window, and begin at multiples of that.
    """
    windows = (w for definition in query.definitions for w in _windows(definition))
    lengths = {window.end - window.start for window in windows}
    return lcm(*(each.tdom.precision for each in query.definitions), *lengths)


def furthest_reach(query: Query) -> int:
    """Find the ticks that any output looks at beyond its domain, on a side."""
    reaches = [
        reach.ticks
        for _, inputs in query.boundaries
        for _, boundary in inputs
        for reach in (boundary.back, boundary.ahead)
    ]
    return max(reaches, default=0) + common_precision(query)
