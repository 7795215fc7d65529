"""Separate cells: the intervals of an input are computed one by one.

Before:

    d = TDom(cells of ~session)
    ~total[d] = sum(~x[d - 1 cell : d])

After:

    e = Rows(~session, at their ends)
    ~total_cells[e] = sum(~x[e - 1 cell : e])
    ~total[t] = ~total_cells[t]

A kernel goes through the intervals as through the rows that they are. The object over
ticks cuts them to its domain, and joins none. It always runs.
"""

from dataclasses import replace

from tiltpy.ir.nodes import At, Query, TemporalExpr
from tiltpy.passes.analyses.substitution import Names
from tiltpy.types import TDom


def separate_cells(query: Query) -> Query:
    """Split each object over the cells of an input: one by cell, one over ticks."""
    if all(definition.tdom.cells is None for definition in query.definitions):
        return query
    names = Names({declared.name for declared in query.inputs})
    names.taken.update(definition.name for definition in query.definitions)
    definitions: list[TemporalExpr] = []
    for definition in query.definitions:
        tdom = definition.tdom
        if tdom.cells is None:
            definitions.append(definition)
            continue
        by_cell = replace(
            definition,
            name=names.fresh(f"{definition.name}_cells"),
            tdom=TDom(rows=tdom.cells, at_ends=True, span=tdom.span),
            distinct=False,
        )
        value = At(by_cell.name, 0, definition.type, span=definition.span)
        over_ticks = replace(
            definition,
            tdom=TDom(tdom.start, tdom.end, span=tdom.span),
            body=value,
            cuts=(value.point,),
        )
        definitions += by_cell, over_ticks
    return replace(query, definitions=tuple(definitions))
