"""Concatenation of keys in time: can one kernel call compute the rows of many?

The rows of each key are shifted to a time range of their own, further from those of the
other keys than any window reaches. So a call costs as much for a row of a small key as
for one of a large key. It takes a query that means the same at every time.
"""

from collections.abc import Collection, Iterator, Mapping
from math import lcm

from tiltpy.abi.signature import Signature
from tiltpy.ir.cuts import event_bounds, expressions, leaf_cuts, reads
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutWindow,
    EventBound,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.reductions import block_ticks, rounds
from tiltpy.ir.traversal import walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.time_motions import TimeMotions
from tiltpy.types import ALL_FUTURE, ALL_PAST


@dataclass(frozen=True, slots=True)
class KeyConcatenation:
    """A query whose keys can be concatenated, and what their shifts must keep.

    They are multiples of `precision` ticks, by which grids and the blocks of windows
    can be shifted. Outputs look at `reach` ticks beyond their domains. `moving` tells
    of each payload column of each output whether it has times that move with the rows.
    `sees_bounds`: it sees where events start or end. `restarts`: its windows of all the
    past restart with each key.
    """

    precision: int
    reach: int
    moving: Mapping[str, tuple[bool, ...]]
    sees_bounds: bool
    restarts: bool

    @property
    def apart(self) -> int:
        """The ticks from the end of one key's time range to the start of the next.

        Rows hold on for `reach` ticks behind the end of theirs, and what windows make
        of them as long again. The next key sees as much before the start of its own,
        and a restart must lie between.
        """
        return (3 if self.restarts else 2) * self.reach + self.precision


def plan_concatenation(
    query: Query, signature: Signature
) -> KeyConcatenation | Refusal:
    """Refuse a query that sees when its rows are, or all the rows before.

    `signature` is that of its kernel for rows of concatenated keys.
    """
    refusal = _refuse(query)
    if refusal is not None:
        return refusal
    motions = TimeMotions(query)
    if motions.refused is not None:
        return Refusal(f"~{motions.refused} uses times as numbers")
    for loop in signature.loops:
        if loop.beyond_rows:
            return Refusal(f"~{loop.name} may visit far more than there are rows")
    precision = lcm(common_precision(query), *motions.moduli)
    return KeyConcatenation(
        precision,
        furthest_reach(query) + precision,
        {name: motions.columns(name) for name in query.outputs},
        any(any(event_bounds(each)) for each in query.definitions),
        any(KEY_STARTS in reads(definition) for definition in query.definitions),
    )


def _refuse(query: Query) -> Refusal | None:
    for declared in query.inputs:
        if not declared.keys:
            return Refusal(f"~{declared.name} has no key")
    ending: Collection[str] = ()
    if query.input(KEY_STARTS) is not None:
        from tiltpy.plan.confine_to_keys import find_ending  # noqa: PLC0415 - late

        ending = find_ending(query)
    for definition in query.definitions:
        refusal = _refuse_definition(query, definition, ending)
        if refusal is not None:
            return refusal
    return None


def _refuse_definition(
    query: Query, definition: TemporalExpr, ending: Collection[str]
) -> Refusal | None:
    from tiltpy.plan.first_rows import begins_with_rows  # noqa: PLC0415 - late

    tdom, name = definition.tdom, definition.name
    if not tdom.is_infinite:
        return Refusal(f"~{name} has a bound in time")
    if tdom.calendar is not None or tdom.cells is not None:
        return Refusal(f"the cells of ~{name} are not of one length")
    for window in _windows(definition):
        if window.cells is not None:
            return Refusal(f"a window of ~{name} is not of one length")
        if KEY_STARTS in window.restarts:
            for seen in window.objects:
                if seen not in ending:
                    return Refusal(f"~{seen} may hold on behind the rows of a key")
        elif isinstance(window.limit, Since):
            if not begins_with_rows(query, definition, window):
                return Refusal(f"a window of ~{name} may reach beyond the first row")
        elif window.start == ALL_PAST:
            return Refusal(f"a window of ~{name} has no bound in time")
        if window.end == ALL_FUTURE:
            return Refusal(f"a window of ~{name} has no bound in time")
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

    Blocks in which floats are added up are as long as their window, and begin at
    multiples of that. Those of windows that fold on have a length of their own.
    """
    precisions = {each.tdom.precision for each in query.definitions}
    blocks = {
        block_ticks(query.unit) if window.folds_on else window.end - window.start
        for window in _rounded_windows(query)
        if window.folds_on or window.is_fixed
    }
    return lcm(*precisions, *blocks)


def _rounded_windows(query: Query) -> Iterator[Window]:
    """Yield the windows of reductions whose bits depend on the order of additions."""
    for definition in query.definitions:
        for expr in expressions(definition):
            for node in walk(expr):
                if isinstance(node, Reduce) and rounds(node):
                    yield node.window


def furthest_reach(query: Query) -> int:
    """Find the ticks that any output looks at beyond its domain, on a side.

    What is folded since a restart begins with the rows themselves.
    """
    reaches = [
        reach
        for _, inputs in query.boundaries
        for _, boundary in inputs
        for reach in (boundary.back, boundary.ahead)
    ]
    if any(reach.is_unbounded for reach in reaches):
        return sum(map(_reach, query.definitions))
    return max((reach.ticks for reach in reaches), default=0)


def _reach(definition: TemporalExpr) -> int:
    """Find the ticks that a definition looks at beyond its time, on a side."""
    offsets = [0, definition.tdom.precision]
    for window in _windows(definition):
        offsets += [window.start, window.end, window.center]
    for expr in expressions(definition):
        for node in walk(expr):
            if isinstance(node, At | EventBound):
                offsets.append(node.offset)
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutPoint):
            offsets.append(cut.offset)
    return max(abs(offset) for offset in offsets if offset > ALL_PAST)
