"""Inputs that decide at which ticks a query has a result: one row for each stamp.

`~o[t] = ~x[t] != φ ? mean(~x[t-9 : t]) : φ` is φ wherever `~x` is. Of rows of `~x` with
one stamp a point reference sees the last, so `~o` has one snapshot for all of them.
"""

from collections.abc import Mapping

from tiltpy.ir.nodes import Query
from tiltpy.passes.analyses.strictness import strict_in
from tiltpy.types import TDom


def row_inputs(query: Query) -> Mapping[str, tuple[TDom, ...]]:
    """Map each input to the domains of the outputs that are φ wherever it is.

    Through other objects, too, as long as they are defined at every tick: a coarser
    grid is a sample on purpose. Objects over rows have a result for each of them.
    """
    inputs = {declared.name for declared in query.inputs}
    deciding: dict[str, frozenset[str]] = {name: frozenset({name}) for name in inputs}
    domains: dict[str, tuple[TDom, ...]] = {}
    for definition in query.definitions:  # each after those that it refers to
        strict = [deciding[point.object] for point in strict_in(definition.body)]
        tdom = definition.tdom
        fine = tdom.precision == 1 and tdom.calendar is None and tdom.rows is None
        deciding[definition.name] = frozenset().union(*strict if fine else ())
        if definition.name in query.outputs and definition.tdom.rows is None:
            for name in deciding[definition.name]:
                domains[name] = (*domains.get(name, ()), definition.tdom)
    return domains
