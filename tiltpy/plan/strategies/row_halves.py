"""Row halves: the rows of both halves of a row scan go by together.

Where a cursor stands for the next row depends on where it stands for this one, and each
step waits for the end of a row: so a scan waits most of its time. Two cursors, half of
the rows apart, wait at once. The row at which an output is written must be known: each
row of the input has one.
"""

from tiltpy.plan.definedness import is_never_phi
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import CursorPlan, Operands, Refusal


def row_halves(facts: LoopFacts, operands: Operands) -> Refusal | None:
    """Refuse loops with more state than cursors, and those that leave rows out."""
    rows = facts.definition.tdom.rows
    assert rows is not None
    if facts.is_read:
        return Refusal("another object reads it")
    if facts.windows or facts.present:
        return Refusal("it has windows")
    if not operands.points:
        return Refusal("it sees its own row alone")
    for point, cursor in operands.points:
        if cursor is not CursorPlan.SCAN:
            return Refusal(f"events of ~{point.object} overlap")
        if not facts.objects[point.object].complete:
            return Refusal(f"~{point.object} may be null")
    if not facts.objects[rows].complete:
        return Refusal(f"~{rows} may be null")
    if not (facts.definition.tdom.nulls or is_never_phi(facts.definition)):
        return Refusal("it may be φ")
    return None
