"""Outputs of a query for keys that have no rows, or no new ones.

A stream by key computes a key where its rows, or the clock, change anything. So it must
know what comes without rows.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.ir.cuts import expressions, leaf_cuts, reads
from tiltpy.ir.nodes import (
    At,
    Const,
    CutPoint,
    CutTime,
    CutWindow,
    EventBound,
    Expr,
    Phi,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.reductions import rounds
from tiltpy.ir.rows import row_roots, sees_own_rows
from tiltpy.ir.traversal import rewrite, sees_more, sees_present, walk
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.passes.fold_constants import fold_constants
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.types import ALL_FUTURE, ALL_PAST, I64


def find_key_traits(query: Query) -> Mapping[str, KeyTraits]:
    """Find the traits of the outputs of an optimised query, which all have keys.

    But for `open_ended` and `shifts`, which only live sessions ask for.
    """
    unkeyed, absent = _find_unkeyed(query)
    dense: set[str] = set()
    for definition in query.definitions:
        if set(reads(definition)) & dense or _has_cut_in_each_cell(definition):
            dense.add(definition.name)
    return {
        name: KeyTraits(
            name in absent,
            name in dense,
            name not in unkeyed | dense,
            _sees_rows_once(query, name),
        )
        for name in query.outputs
    }


def _find_unkeyed(query: Query) -> tuple[set[str], set[str]]:
    """Find what depends on inputs without keys, and what is φ without rows of a key."""
    unkeyed = {declared.name for declared in query.inputs if not declared.keys}
    absent = {declared.name for declared in query.inputs if declared.keys}
    for definition in query.definitions:
        if unkeyed.intersection(reads(definition)):
            unkeyed.add(definition.name)
        if _is_phi(query, definition, absent):
            absent.add(definition.name)
    return unkeyed, absent


def has_open_windows(query: Query) -> bool:
    """Tell whether there are windows that may hold any row of the past or future."""
    return any(
        _has_no_bound(cut.window)
        for definition in query.definitions
        for cut in leaf_cuts(definition.cuts)
        if isinstance(cut, CutWindow)
    )


def check_streamed(
    query: Query,
    traits: Mapping[str, KeyTraits],
    holding: Collection[str],
    *,
    resumes: bool,
) -> None:
    """Refuse outputs by key that cannot be computed as their rows come.

    The query has its boundaries. Rows of the inputs `holding` last until the next row
    of their key. If the kernel `resumes`, it keeps states of windows without a bound.
    """
    for states in dict.fromkeys((True, resumes)):  # a window's own reason says more
        for definition in query.definitions:
            _check_lasting_rows(query, definition, holding)
            _check_references(query, definition, holding, resumes=states)
    unkeyed = {declared.name for declared in query.inputs if not declared.keys}
    for name, reach in query.boundaries:
        others = [source for source, _ in reach if source in unkeyed]
        output = query.definition(name)
        assert output is not None
        if others and any(boundary.ahead.rows for _, boundary in reach):
            raise QueryError(
                "E0305",
                f"~{name} waits for the next row of a key, which may never come, and "
                f"~{others[0]}, which has no keys, would have to wait with it",
                output.span,
                "bound the look, as in ~x[t : next within 1h], or use run()",
            )
        if others and not traits[name].sparse:
            raise QueryError(
                "E0305",
                f"~{name} has values where a key has no rows, and ~{others[0]}, which "
                "has no keys, says where: a key that comes late would have some in the "
                "past, which a stream has passed",
                output.span,
                "make it φ without rows of the key, as in `exists(~x[t]) ? ... : φ`, "
                "or use run()",
            )


def _check_references(
    query: Query,
    definition: TemporalExpr,
    holding: Collection[str],
    *,
    resumes: bool,
) -> None:
    """Refuse what needs all rows, or rows to come, of each key."""
    roots = row_roots(query)
    broadcast = set[str].difference(*_find_unkeyed(query))
    inputs = {declared.name for declared in query.inputs}
    for node in (n for expr in expressions(definition) for n in walk(expr)):
        match node:
            case Reduce(window=window) if _has_no_bound(window):
                if not (_counts_rows(window) and window.object in inputs):
                    _check_open(node, broadcast, resumes=resumes)
            case EventBound(which="end", object=name) if roots.get(name) in holding:
                raise QueryError(
                    "E0305",
                    f"the end of a row of ~{node.object} is known once its key has "
                    "another row, and a stream does not wait for that",
                    node.span,
                    "give the input another lifetime, or use run()",
                )
            case EventBound() if node.object not in roots:
                raise QueryError(
                    "E0305",
                    f"a snapshot of ~{node.object} may have any length, so a "
                    "stream by key would keep all rows of each key",
                    node.span,
                    "use run()",
                )
            case _:
                pass


def _check_lasting_rows(
    query: Query, definition: TemporalExpr, holding: Collection[str]
) -> None:
    """Refuse to see rows of a row object for as long as they last, if for ever.

    What a row saw when it began would be needed for as long.
    """
    roots = row_roots(query)
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutTime) or (isinstance(cut, CutPoint) and cut.row):
            continue
        name = cut.object if isinstance(cut, CutPoint) else cut.window.object
        seen, root = query.definition(name), roots.get(name)
        source = None if root is None else query.input(root)
        if seen is None or source is None or root not in holding:
            continue
        endless = source.lifetime is None or source.lifetime.longest is None
        if endless and not sees_own_rows(seen):
            raise QueryError(
                "E0305",
                f"a row of ~{name} lasts until the next row of its key, and what it "
                "saw when it began would be needed for as long",
                definition.span,
                f"give ~{root} another lifetime, such as until_next max 1d, or use "
                "run()",
            )


def _check_open(node: Reduce, broadcast: Collection[str], *, resumes: bool) -> None:
    """Refuse a window without a bound where no state of each key can stand for it."""
    window = node.window
    unkeyed = [name for name in window.objects if name in broadcast]
    if node.reduction in WHOLE_WINDOW and window.folds_on:
        why = f"{node.reduction} keeps all values of a window that has no bound"
    elif window.look is not None and window.end == ALL_FUTURE:
        why = (
            f"the next snapshot of ~{window.object}, which is not an input, may come "
            "at any time, and a stream by key waits for rows of inputs alone"
        )
    elif window.last_rows:
        why = (
            f"the last rows of ~{window.object}, which is not an input, may be "
            "anywhere in the past, so a stream by key would keep all rows of each key"
        )
    elif sees_more(node) and window.folds_on:
        sees = "its elements see the present"
        if not sees_present(node.element):
            sees = f"{node.reduction} sees where it cuts rows"
        why = (
            f"this window has no bound, and {sees}, so a stream by key would keep all "
            "rows of each key"
        )
    elif not resumes:
        why = (
            "this window has no bound, and something else in the query needs its rows "
            "or its values at times before, so a stream by key would keep all rows of "
            "each key"
        )
    elif unkeyed:
        why = (
            f"~{unkeyed[0]} has no keys, and a key that comes late would need all "
            "that it ever was"
        )
    else:
        return
    raise QueryError(
        "E0305",
        why,
        window.span,
        "give it one, as in ~x[t-1h : t] or `within 1h`, or use run()",
    )


def _counts_rows(window: Window) -> bool:
    """Tell whether a window has a number of last rows, or the next one."""
    return bool(window.last_rows) or window.look is not None


def _has_no_bound(window: Window) -> bool:
    """Tell whether a window may hold any row of the past, or of the future."""
    endless = window.start == ALL_PAST or window.end == ALL_FUTURE
    return endless or isinstance(window.limit, Since)


def _sees_rows_once(query: Query, name: str) -> bool:
    """Tell whether the windows of an output lie in its cells, each in one.

    One that adds up floats in blocks of time has one block, so that rows before it make
    no difference.
    """
    definition = query.definition(name)
    assert definition is not None
    tdom = definition.tdom
    if tdom.rows or tdom.cells or tdom.calendar or tdom.at_ends:
        return False
    keyed = {declared.name for declared in query.inputs if declared.keys}
    folds = [n for n in walk(definition.body) if isinstance(n, Reduce)]
    for cut in leaf_cuts(definition.cuts):
        if not isinstance(cut, CutWindow) or cut.window.object not in keyed:
            return False
        window = cut.window
        if not window.is_fixed or window.cells or window.by_row:
            return False
        if window.start < -tdom.precision or window.end > 0:
            return False
        length, end = window.end - window.start, tdom.offset + window.end
        adds_up = any(rounds(node) for node in folds if node.window == window)
        if adds_up and (length < tdom.precision or end % length):
            return False
    return True


def _has_cut_in_each_cell(definition: TemporalExpr) -> bool:
    if definition.tdom.rows is not None:
        return False
    return any(
        isinstance(cut, CutTime) or (isinstance(cut, CutWindow) and cut.bounds)
        for cut in leaf_cuts(definition.cuts)
    )


def _is_phi(query: Query, definition: TemporalExpr, absent: Collection[str]) -> bool:
    """Tell whether an object is φ where none of some objects has a snapshot."""
    if definition.tdom.rows is not None:
        return definition.tdom.rows in absent

    def rule(node: Expr) -> Expr:
        match node:
            case At() | EventBound() if node.object in absent:
                return Phi(node.type, node.span)
            case Reduce(window=window) if window.object in absent:
                if node.reduction == "count":
                    return Const(0, I64, node.span)
                return Phi(node.type, node.span)
            case _:
                return node

    without = replace(definition, body=rewrite(definition.body, rule))
    (folded,) = fold_constants(replace(query, definitions=(without,))).definitions
    return isinstance(folded.body, Phi)
