"""The verifier: every invariant of the IR that `nodes.py` states, checked.

A violation is a bug of ours, so it is an `AssertionError` with the object, the place
and the fault. It runs on every query before and after each pass.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import assert_never

from tiltpy.ir.cuts import leaf_cuts, map_cuts
from tiltpy.ir.endless import endless_bounds
from tiltpy.ir.keys import object_keys
from tiltpy.ir.nodes import (
    At,
    CellSpan,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Expr,
    InlinedCut,
    Input,
    LastRows,
    Let,
    Local,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Time,
    UserReduction,
    Window,
)
from tiltpy.ir.reductions import OUTSIDE, clauses, names_in
from tiltpy.ir.traversal import (
    children,
    depth,
    drop_unused,
    source_cuts,
    walk,
)
from tiltpy.ir.verify.types import type_fault, user_reduction_fault
from tiltpy.lean_dataclass import dataclass
from tiltpy.limits import MAX_DEPTH
from tiltpy.types import (
    ALL_FUTURE,
    ALL_PAST,
    BOOL,
    MAX_OFFSET,
    MAX_TIME,
    TDom,
    Type,
)


def verify(query: Query) -> None:
    """Raise an AssertionError with the first invariant that a query violates."""
    objects: dict[str, Type] = {}
    for declared in query.inputs:
        assert declared.name not in objects, f"~{declared.name} is declared twice"
        objects[declared.name] = declared.type
        _verify_keys(declared)
    bounded = set(objects)
    inputs = frozenset(objects)
    roots = {name: name for name in inputs}
    reductions: dict[str, UserReduction] = {}
    for reduction in query.reductions:
        assert reduction.name not in reductions, f"{reduction.name} is defined twice"
        _verify_reduction(reduction)
        reductions[reduction.name] = reduction
    for definition in query.definitions:
        assert definition.name not in objects, f"~{definition.name} is defined twice"
        _verify_definition(definition, objects, frozenset(bounded), roots, reductions)
        objects[definition.name] = definition.type
        if definition.distinct:
            bounded.add(definition.name)
        if definition.tdom.rows is not None:
            bounded.add(definition.name)
            roots[definition.name] = roots[definition.tdom.rows]
    for output in query.outputs:
        assert query.definition(output) is not None, f"output ~{output} is undefined"
    assert len(set(query.outputs)) == len(query.outputs), "an output is listed twice"
    object_keys(query.inputs, query.definitions)  # joined objects have the same keys
    for output, boundaries in query.boundaries:
        assert output in query.outputs, f"boundaries of ~{output}, which is no output"
        for name, _ in boundaries:
            assert query.input(name), f"boundaries of ~{output} name ~{name}, no input"


def verify_source(query: Query) -> None:
    """Verify a query as it was written: its cuts are those of its bodies."""
    verify(query)
    for definition in query.definitions:
        assert definition.cuts == source_cuts(definition.body), (
            f"~{definition.name} ({definition.span}): its cuts are not its references"
        )
    endless = next(endless_bounds(query.definitions), None)
    assert endless is None, f"{endless} may be infinitely far away"
    keys = object_keys(query.inputs, query.definitions)
    for definition in query.definitions:
        if definition.name in query.outputs:
            twice = set(definition.columns).intersection(keys[definition.name])
            assert not twice, f"~{definition.name} has columns like its keys: {twice}"


@dataclass(frozen=True, slots=True)
class _VerifyScope:
    """The names that an expression may refer to. `bound` collects those of its Lets.

    `bounded` are the objects whose snapshots have bounds: inputs and distinct objects.
    An element is a closed expression: its names are its own, and may recur in another
    copy of the same element. `roots` are the inputs whose rows inputs and row objects
    have, and `rows` the one at whose rows the expression stands, if it does.
    """

    where: str
    objects: dict[str, Type]
    bounded: frozenset[str]
    roots: Mapping[str, str]
    locals: dict[str, Type]
    bound: set[str]
    element: Type | None = None
    reductions: Mapping[str, UserReduction] = field(default_factory=dict)
    rows: str | None = None

    def require(self, condition: bool, fault: str, expr: Expr | None = None) -> None:
        position = f" ({expr.span})" if expr is not None else ""
        assert condition, f"{self.where}{position}: {fault}"


def _verify_keys(declared: Input) -> None:
    """Check that key columns are distinct, and are not used for time or order."""
    keys, where = set(declared.keys), f"~{declared.name}"
    assert len(keys) == len(declared.keys), f"{where}: a key column is listed twice"
    reserved = {"start", "end", declared.time, *declared.order}
    assert not keys & reserved, f"{where}: the key columns {keys & reserved}"


def _verify_reduction(reduction: UserReduction) -> None:
    """Check that all clauses keep the state's type, and see their names alone."""
    for name, body in clauses(reduction):
        seen = names_in(
            name,
            reduction.state,
            reduction.parameter,
            reduction.type,
            bounds=reduction.bounds,
        )
        where = f"{name} of {reduction.name}"
        scope = _VerifyScope(where, {}, frozenset(), {}, seen, set(seen))
        outside = next((node for node in walk(body) if isinstance(node, OUTSIDE)), None)
        scope.require(outside is None, f"{outside} is none of its names", outside)
        _verify_body(body, scope)
        if name != "result":
            fault = f"{body.type}, not the state's {reduction.state}"
            scope.require(body.type == reduction.state, fault, body)


def _verify_definition(
    definition: TemporalExpr,
    objects: dict[str, Type],
    bounded: frozenset[str],
    roots: Mapping[str, str],
    reductions: Mapping[str, UserReduction],
) -> None:
    where = f"~{definition.name}"
    scope = _VerifyScope(
        where, objects, bounded, roots, {}, set(), reductions=reductions
    )
    _verify_tdom(definition.tdom, scope)
    if definition.tdom.rows is not None:
        scope = replace(scope, rows=roots[definition.tdom.rows])
    _verify_body(definition.body, scope)
    _verify_cuts(definition.cuts, scope)
    _verify_covered(definition.body, definition.cuts, scope)


def _verify_tdom(tdom: TDom, scope: _VerifyScope) -> None:
    precision, offset = tdom.precision, tdom.offset
    scope.require(0 < precision <= MAX_OFFSET, f"precision {precision}")
    scope.require(0 <= offset < precision, f"offset {offset} of precision {precision}")
    if tdom.calendar is not None:
        scope.require((precision, offset) == (1, 0), f"{tdom.calendar} and a precision")
    for bound in (tdom.start, tdom.end):
        if isinstance(bound, int):
            scope.require(abs(bound) <= MAX_TIME, f"bound {bound} beyond ±2^62")
    if tdom.cells is not None:
        known = scope.roots.get(tdom.cells) == tdom.cells and tdom.calendar is None
        scope.require(known, f"~{tdom.cells} has no cells")
        scope.require((precision, offset) == (1, 0), "cells and a precision")
    scope.require(tdom.rows is not None or not tdom.at_ends, "the ends of no rows")
    if tdom.rows is not None:
        scope.require(tdom.rows in scope.roots, f"~{tdom.rows} has no rows")
        scope.require(tdom.is_infinite and precision == 1, "rows on a grid")


def _verify_body(expr: Expr, scope: _VerifyScope) -> None:
    levels = depth(expr)
    scope.require(levels <= MAX_DEPTH, f"{levels} levels deep, at most {MAX_DEPTH}")
    _verify_expr(expr, scope)


def _verify_expr(expr: Expr, scope: _VerifyScope) -> None:
    match expr:
        case Let():
            fresh = expr.name not in scope.bound
            scope.require(fresh, f"'{expr.name}' is bound twice", expr)
            scope.bound.add(expr.name)
            _verify_expr(expr.value, scope)
            inner = {**scope.locals, expr.name: expr.value.type}
            _verify_expr(expr.body, replace(scope, locals=inner))
        case Reduce():
            _verify_window(expr.window, scope)
            _verify_element(expr.window, expr.element, scope)
        case _:
            for child in children(expr):
                _verify_expr(child, scope)
            _verify_reference(expr, scope)
    fault = _type_fault(expr, scope)
    scope.require(fault is None, str(fault), expr)


def _type_fault(expr: Expr, scope: _VerifyScope) -> str | None:
    if isinstance(expr, Reduce) and expr.reduction in scope.reductions:
        return user_reduction_fault(expr, scope.reductions[expr.reduction])
    return type_fault(expr)


def _verify_reference(expr: Expr, scope: _VerifyScope) -> None:
    match expr:
        case At() | EventBound() | Time():
            _verify_offset(expr.offset, scope)
            if not isinstance(expr, Time) and expr.row:
                known = scope.rows is not None and expr.offset == 0
                known = known and scope.roots.get(expr.object) == scope.rows
                scope.require(known, f"~{expr.object} has other rows", expr)
        case Local():
            known_type = scope.locals.get(expr.name)
            scope.require(known_type is not None, f"no '{expr.name}' in scope", expr)
            fault = f"'{expr.name}' is {known_type}, used as {expr.type}"
            scope.require(known_type == expr.type, fault, expr)
        case Element():
            scope.require(scope.element is not None, "Element outside a window", expr)
            fault = f"the element is {scope.element}, used as {expr.type}"
            scope.require(scope.element == expr.type, fault, expr)
        case _:
            return
    match expr:
        case At():
            _verify_object(expr.object, scope)
            known_type = scope.objects[expr.object]
            fault = f"~{expr.object} is {known_type}, used as {expr.type}"
            scope.require(known_type == expr.type, fault, expr)
        case EventBound():
            known = expr.object in scope.bounded
            fault = f"bounds of ~{expr.object}, neither an input nor distinct"
            scope.require(known, fault, expr)
        case _:
            pass


def _verify_object(name: str, scope: _VerifyScope) -> None:
    scope.require(name in scope.objects, f"~{name} is not defined before it is used")


def _verify_offset(offset: int, scope: _VerifyScope) -> None:
    scope.require(abs(offset) <= MAX_OFFSET, f"offset {offset} beyond ±2^59")


def _verify_window(window: Window, scope: _VerifyScope) -> None:
    for name in window.objects:
        _verify_object(name, scope)
    for bound in {window.start, window.end} - {ALL_PAST, ALL_FUTURE}:
        _verify_offset(bound, scope)
    match window.limit:
        case Since(object=condition):
            scope.require(scope.objects[condition] == BOOL, f"since ~{condition}")
        case LastRows(count=count):
            scope.require(count > 0, f"the last {count} rows")
        case None:
            pass
        case _:
            assert_never(window.limit)
    if window.look is not None:
        scope.require(window.edge is not None, "an as-of look goes by stamps")
    ordered = window.start < window.end
    scope.require(ordered, f"window from {window.start} to {window.end} is empty")
    if window.cells is not None:
        reach = -MAX_OFFSET, 0
        if isinstance(window.cells, CellSpan):
            longest = window.cells.calendar.longest
            reach = -window.cells.count * longest, 0
        scope.require(
            (window.start, window.end) == reach, f"the reach of {window.cells}"
        )


def _verify_element(window: Window, element: Expr, scope: _VerifyScope) -> None:
    payload = scope.objects[window.object]
    _verify_expr(element, replace(scope, locals={}, bound=set(), element=payload))


def _verify_cuts(cuts: tuple[Cut, ...], scope: _VerifyScope) -> None:
    scope.require(len(set(cuts)) == len(cuts), "a cut is listed twice")
    for cut in cuts:
        match cut:
            case CutPoint():
                _verify_object(cut.object, scope)
                _verify_offset(cut.offset, scope)
            case CutWindow():
                _verify_window(cut.window, scope)
                _verify_element(cut.window, cut.element, scope)
            case CutTime():
                pass
            case InlinedCut():
                inner = replace(scope, locals={}, bound=set())
                _verify_body(cut.value, inner)
                _verify_cuts(cut.cuts, inner)
                _verify_covered(cut.value, cut.cuts, inner)


def _verify_covered(expr: Expr, cuts: tuple[Cut, ...], scope: _VerifyScope) -> None:
    """Check that all a result sees cuts it; a cut may outlive its reference."""
    covered = set(leaf_cuts(map_cuts(cuts, drop_unused)))
    for node in walk(drop_unused(expr)):
        match node:
            case At() | EventBound():
                needed: Cut = node.point
            case Time():
                needed = CutTime()
            case Reduce():
                needed = CutWindow(node.window, node.element, node.bounds)
            case _:
                continue
        scope.require(needed in covered, f"{needed} is read but does not cut", node)
