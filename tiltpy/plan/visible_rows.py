"""Inputs of which only visible rows matter: of those with both times the last one.

A point reference sees the event that started last. Of rows with the same start and the
same end it never sees the others: they are hidden. Where nothing else sees an input, a
run drops them. Rows that overlap nowhere else then lie as if there had been no ties, so
that every strategy serves them.
"""

from collections.abc import Iterator, Mapping

from tiltpy.abi.layouts import Layout
from tiltpy.emit.references import present_folds, reductions, references
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import CutWindow, Query, TemporalExpr, Window
from tiltpy.ir.traversal import sees_more
from tiltpy.plan.emptiness import emptiness_tests
from tiltpy.plan.facts import ObjectFacts, object_facts


def inputs_without_hidden_rows(
    query: Query, layouts: Mapping[str, Layout]
) -> frozenset[str]:
    """Find the inputs whose hidden rows change nothing."""
    facts = object_facts(query, layouts)
    seen = {
        name
        for definition in query.definitions
        for name in _seen_row_by_row(definition, facts)
    }
    return frozenset(each.name for each in query.inputs) - seen


def _seen_row_by_row(
    definition: TemporalExpr, facts: Mapping[str, ObjectFacts]
) -> Iterator[str]:
    """Yield the objects whose hidden rows a definition sees, too."""
    for name in (definition.tdom.rows, definition.tdom.cells):
        if name is not None:
            yield name
    for window, _ in present_folds(definition):
        yield from window.objects
    for window in references(definition)[1]:
        if not _sees_last_row(definition, window, facts[window.object]):
            yield from window.objects


def _sees_last_row(definition: TemporalExpr, window: Window, rows: ObjectFacts) -> bool:
    """Decide whether no row matters to a window but the last of those that share times.

    Rows that share them enter it together, and leave it together.
    """
    over = [node for node in reductions(definition) if node.window == window]
    cuts = [cut for cut in leaf_cuts(definition.cuts) if isinstance(cut, CutWindow)]
    cuts = [cut for cut in cuts if cut.window == window and not sees_more(cut)]
    elements = [node.element for node in over] + [cut.element for cut in cuts]
    if window.by_row or any(map(rows.filters, elements)):
        return False
    if window.look is not None:
        return True
    tests = emptiness_tests(definition)
    return window.is_fixed and all(
        node.reduction == "last" or node in tests for node in over
    )
