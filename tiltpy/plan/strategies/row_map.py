"""Row map: one visit a row of the only input, without any search.

It serves an object that depends on one input at the same time only, and is φ where that
is: one row in, at most one snapshot out.
"""

from tiltpy.ir.nodes import CutPoint, Reduce, Time
from tiltpy.ir.traversal import walk
from tiltpy.plan.definedness import is_phi_without_reads
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import Operands, Refusal, RowMap


def row_map(facts: LoopFacts, _: Operands) -> RowMap | Refusal:
    """Serve an output that is a function of the rows of one input."""
    definition = facts.definition
    if facts.is_read:
        return Refusal("another object reads it")
    if definition.tdom.nulls:
        return Refusal("it has null rows")
    if not facts.every_tick:
        return Refusal(f"it has a precision of {definition.tdom.precision}")
    if len(definition.cuts) != 1:
        return Refusal("it does not depend on one reference alone")
    (cut,) = definition.cuts
    if not isinstance(cut, CutPoint) or cut.offset != 0:
        return Refusal("it does not depend on one object at the same time alone")
    if definition.tdom.rows is not None and not cut.row:
        return Refusal("it does not depend on its own row alone")
    rows = facts.objects[cut.object]
    if not rows.is_input:
        return Refusal(f"~{cut.object} is computed")
    if not rows.disjoint and not cut.row:
        return Refusal(f"events of ~{cut.object} overlap")
    if any(isinstance(node, Reduce | Time) for node in walk(definition.body)):
        return Refusal("it sees windows, or the time")
    if not is_phi_without_reads(definition):
        return Refusal(f"it need not be φ where ~{cut.object} is")
    return RowMap(cut.object)
