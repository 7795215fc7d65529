"""The query that gives back its inputs."""

from dataclasses import replace

from tiltpy.ir.nodes import At, CutPoint, Query, TemporalExpr
from tiltpy.types import TDom


def identity(query: Query) -> Query:
    """The inputs of a query, each under its name and a prime, are the outputs.

    input stock : f64 until_next
    ~stock'[t] = ~stock[t]
    output ~stock'
    """
    taken = {one.name for one in query.inputs}
    definitions = []
    for one in query.inputs:
        name = f"{one.name}'"
        while name in taken:
            name += "'"
        taken.add(name)
        cuts = (CutPoint(one.name, 0),)
        definitions.append(TemporalExpr(name, TDom(), At(one.name, 0, one.type), cuts))
    return replace(
        query,
        definitions=tuple(definitions),
        outputs=tuple(definition.name for definition in definitions),
        boundaries=(),
    )
