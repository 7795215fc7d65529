"""Row objects: which input's rows they have.

An object over `Rows(~x)` has one row for each row of `~x` at most. So all objects over
the rows of one input, by way of other row objects too, are about the same rows.
"""

from tiltpy.ir.nodes import CutPoint, Query, TemporalExpr


def row_roots(query: Query) -> dict[str, str]:
    """Map each input and row object to the input whose rows it has."""
    roots = {declared.name: declared.name for declared in query.inputs}
    for definition in query.definitions:
        if definition.tdom.rows is not None:
            roots[definition.name] = roots[definition.tdom.rows]
    return roots


def objects_over_same_rows(query: Query, definition: TemporalExpr) -> frozenset[str]:
    """List the objects that have the rows at which a definition stands, if any."""
    if definition.tdom.rows is None:
        return frozenset()
    roots = row_roots(query)
    root = roots[definition.tdom.rows]
    return frozenset(name for name, other in roots.items() if other == root)


def sees_own_rows(definition: TemporalExpr) -> bool:
    """Decide whether a row object sees nothing but the rows at which it stands."""
    return all(isinstance(cut, CutPoint) and cut.row for cut in definition.cuts)
