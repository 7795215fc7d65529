"""Resolve boundaries: the lookback and lookahead of each output (section 5.1).

Before:

    ~avg[t] = ⊕(mean, ~stock[t-20 : t])
    ~o[t] = ~avg[t+1]

After, beside the query:

    ~o over (Ts, Te] needs ~stock over (Ts - 20, Te + 1]

A point `~x[t+d]` in an object of precision `p` needs `~x` over `(Ts + d, Te + p-1 + d]`
(the cell that holds `Te` is evaluated at its own grid point), a window `~x[t+a : t+b]`
over `(Ts + a, Te + p-1 + b]`; through other objects these add up. So `~m[t-10s]` sees
nothing ahead of `t` if the cells of `~m` are no longer than ten seconds. What cuts
counts, too: a cut may refer to what the body no longer does. `start(~x[t])` of a
distinct object looks back without bound, `end(~x[t])` ahead. The precision of a
calendar is the length of its longest cell.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, assert_never

from tiltpy.errors import QueryError
from tiltpy.ir.cuts import LeafCut, event_bounds, leaf_cuts
from tiltpy.ir.nodes import (
    CutPoint,
    CutTime,
    CutWindow,
    IntervalSpan,
    Query,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.reductions import rounds
from tiltpy.ir.rows import row_roots, sees_own_rows
from tiltpy.ir.traversal import walk
from tiltpy.types import ALL_FUTURE, MAX_OFFSET, Boundary, Reach, TDom

Reaches = Mapping[str, Boundary]
"""The needs of an object, by input; one that sees the past alone is ahead by less than
nothing."""
ENDLESS_REACH = Reach(ALL_FUTURE)
Past = Literal["all", "counted", "resumed"]
"""What a run has of the past: all rows; the last rows of inputs, for windows that count
them; or states of windows that fold on, too. A run that does not have all of the past
waits for the next rows of inputs that looks ask for."""
_UNKNOWN = 2 * ALL_FUTURE
"""A length without bound, whatever is added to it."""


def resolve_boundaries(query: Query, past: Past = "all") -> Query:
    """Fill in the boundaries of every output.

    Where windows that fold on have states of all that was before, they look at what
    starts since alone.
    """
    reaches = _reaches(query, past)
    boundaries = tuple(
        (output, _order_by_input(query, reaches[output])) for output in query.outputs
    )
    return replace(query, boundaries=boundaries)


def boundary_of(query: Query, output: str) -> tuple[tuple[str, Boundary], ...]:
    """Return what one object needs of each input that it depends on."""
    return _order_by_input(query, _reaches(query, "all")[output])


def inputs_of(query: Query, output: str) -> tuple[str, ...]:
    """Name the inputs that an object refers to, directly or through others.

    An output's domain is that of these inputs. They are found in the cuts, which say
    what the source referred to whatever passes have folded away since.
    """
    return tuple(name for name, _ in boundary_of(query, output))


def _order_by_input(query: Query, reaches: Reaches) -> tuple[tuple[str, Boundary], ...]:
    """Order the needs of an object, which are known up to its own time at least."""
    names = (declared.name for declared in query.inputs)
    return tuple(
        (name, replace(reaches[name], ahead=_at_least_now(reaches[name].ahead)))
        for name in names
        if name in reaches
    )


def _at_least_now(ahead: Reach) -> Reach:
    return Reach(max(0, ahead.ticks), ahead.rows)


def _reaches(query: Query, past: Past) -> dict[str, Reaches]:
    """Compute what every object needs; an input needs itself."""
    reaches: dict[str, Reaches] = {
        declared.name: {declared.name: Boundary()} for declared in query.inputs
    }
    seen = dict(reaches)
    rows = frozenset(row_roots(query))
    for definition in query.definitions:
        name = definition.name
        cell = _longest_cell(query, definition)
        reaches[name] = seen[name] = _reach(query, definition, seen, rows, cell, past)
        if definition.tdom.rows is not None:
            seen[name] = _through_lifetimes(query, definition, reaches[name])
    return reaches


def _longest_cell(query: Query, definition: TemporalExpr) -> int:
    """Find the length of the longest cell of a definition.

    Nobody knows that of intervals before they are bound.
    """
    tdom = definition.tdom
    if tdom.cells is None and not tdom.at_ends:
        return tdom.longest
    source = query.input(tdom.cells or row_roots(query)[definition.name])
    assert source is not None
    longest = None if source.lifetime is None else source.lifetime.longest
    return _UNKNOWN if longest is None else longest


def _through_lifetimes(
    query: Query, definition: TemporalExpr, reaches: Reaches
) -> Reaches:
    """Compute what the readers of a row object need of inputs.

    The rows that they see may be stamped long before, and what those see is needed.
    """
    if sees_own_rows(definition):
        return reaches
    if definition.tdom.at_ends:
        return _beyond(definition, reaches, 0, _longest_cell(query, definition) - 1)
    root = query.input(row_roots(query)[definition.name])
    assert root is not None
    back, ahead = ALL_FUTURE, ALL_FUTURE  # nobody knows before it is bound
    if root.lifetime is not None:
        before, longest = max(1, root.lifetime.before), root.lifetime.longest
        back = ALL_FUTURE if longest is None else max(0, longest - before)
        ahead = before - 1
    return _beyond(definition, reaches, back, ahead)


def _beyond(
    definition: TemporalExpr, reaches: Reaches, back: int, ahead: int
) -> Reaches:
    """Widen the needs of an object by how far others see it."""
    return {
        name: Boundary(
            _add(definition, name, "back", Reach(back), beyond.back),
            _add(definition, name, "ahead", Reach(ahead), beyond.ahead),
        )
        for name, beyond in reaches.items()
    }


def _reach(
    query: Query,
    definition: TemporalExpr,
    known: Mapping[str, Reaches],
    rows: frozenset[str],
    cell: int,
    past: Past,
) -> Reaches:
    """Compute what a definition needs, whose longest cell has `cell` ticks."""
    boundaries: dict[str, Boundary] = {}
    over = definition.tdom.rows or definition.tdom.cells
    if over is not None:
        boundaries.update(known[over])
    bounds = {(node.object, node.which) for node in event_bounds(definition)}
    for cut in leaf_cuts(definition.cuts):
        for seen, near, far in _direct(query, cut, definition.tdom, cell, past):
            derived = seen not in rows  # those have bounds of their own
            back = ENDLESS_REACH if derived and (seen, "start") in bounds else near
            if past != "all":
                back = _whole_blocks(definition, cut, back)
            ahead = ENDLESS_REACH if derived and (seen, "end") in bounds else far
            if seen not in known[seen]:  # rows that are made may be few
                back, ahead = (ENDLESS_REACH if r.rows else r for r in (back, ahead))
            for name, beyond in known[seen].items():
                reach = Boundary(
                    _add(definition, name, "back", back, beyond.back),
                    _add(definition, name, "ahead", ahead, beyond.ahead),
                )
                boundaries[name] = _farthest(boundaries.get(name, reach), reach)
    return boundaries


def _direct(
    query: Query, cut: LeafCut, tdom: TDom, cell: int, past: Past
) -> Iterator[tuple[str, Reach, Reach]]:
    """Yield each object that a cut refers to, and how far back and ahead.

    Rows are no distance: the last of them, and restarts, may be anywhere in the past,
    and the next one anywhere in the future.
    So may the intervals of an input before the one that ends. The longest cell has
    `cell` ticks.
    """
    rounding = 0 if tdom.at_ends else cell - 1
    match cut:
        case CutPoint(object=seen, offset=offset):
            yield seen, Reach(max(0, -offset)), Reach(offset + rounding)
        case CutWindow(window=window):
            ahead = Reach(window.end + rounding)
            near = Reach(max(0, 1 - window.end))
            if past == "resumed" and window.folds_on:
                for name in window.objects:
                    yield name, near, ahead
                return
            # A window by starts holds those at its left bound, too.
            ends = window.edge is not None
            back = Reach(max(0, -window.start + ends))
            if isinstance(window.cells, IntervalSpan):
                back = Reach(cell) if window.cells.count == 1 else ENDLESS_REACH
                yield window.cells.input, back, Reach(rounding)
            if past != "all" and window.last_rows:
                behind = _delay(query, window) if ends else 0
                back = Reach(near.ticks + behind, window.last_rows)
            if past != "all" and window.look is not None and window.end == ALL_FUTURE:
                center = window.center
                if window.look == "nearest":
                    behind = _delay(query, window)
                    back = Reach(max(0, 1 - center) + behind, 1)
                else:
                    center = window.start + 1
                ahead = Reach(max(0, center + rounding), 1)
            yield window.object, back, ahead
            restarts = near if past == "resumed" else ENDLESS_REACH
            for name in window.restarts:
                yield name, restarts, ahead
        case CutTime():
            pass
        case _:
            assert_never(cut)


def _whole_blocks(definition: TemporalExpr, cut: LeafCut, back: Reach) -> Reach:
    """Widen the lookback of a window that adds up floats by its length.

    It adds them up in blocks of time, and so must know whether rows of the block of its
    newest row have left it.
    """
    if not isinstance(cut, CutWindow):
        return back
    window = cut.window
    if not window.is_fixed or window.cells is not None:
        return back
    nodes = (node for node in walk(definition.body) if isinstance(node, Reduce))
    if not any(node.window == window and rounds(node) for node in nodes):
        return back
    return Reach(back.ticks + window.end - window.start, back.rows)


def _delay(query: Query, window: Window) -> int:
    """Find by how many ticks an event starts before a window by edges sees it.

    Rows are counted by their starts, and samples are seen at their ends.
    """
    declared = query.input(window.object)
    if window.edge == "start" or declared is None or declared.lifetime is None:
        return 1
    return declared.lifetime.before


def _add(
    definition: TemporalExpr, name: str, direction: str, reach: Reach, beyond: Reach
) -> Reach:
    if reach.is_unbounded or beyond.is_unbounded:
        return ENDLESS_REACH
    total = reach.ticks + beyond.ticks
    if total > MAX_OFFSET:
        raise QueryError(
            "E0302",
            f"~{definition.name} looks {direction} {total} ticks in ~{name}, "
            "further than 2^59 ticks",
            definition.span,
            "offsets, windows and precisions add up along the way: use a coarser unit",
        )
    return Reach(total, reach.rows + beyond.rows)


def _farthest(a: Boundary, b: Boundary) -> Boundary:
    return Boundary(
        Reach(max(a.back.ticks, b.back.ticks), max(a.back.rows, b.back.rows)),
        Reach(max(a.ahead.ticks, b.ahead.ticks), max(a.ahead.rows, b.ahead.rows)),
    )
