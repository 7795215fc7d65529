"""Merge scan: a merge join of point references, one visit an interval bound.

Wherever one of the objects has a bound a snapshot ends, and whoever has it there moves
on. An input without which the result is φ moves from row to row: the gaps between them
have no visit. Where just one input moves, its rows go by in vectors.
"""

from tiltpy.ir.nodes import CutPoint
from tiltpy.plan.loop_facts import LoopFacts
from tiltpy.plan.nodes import MergeScan, MergeSource, Operands, Refusal


def merge_scan(facts: LoopFacts, operands: Operands) -> MergeScan | Refusal:
    """Serve an object that sees points alone, each of whose bounds cuts it."""
    if facts.grid_refusal is not None:
        return facts.grid_refusal
    if facts.present_refusal is not None:
        return facts.present_refusal
    if facts.windows:
        return Refusal("it has windows")
    if not operands.always_cuts:
        return Refusal("a bound of what it sees need not begin a snapshot")
    for point, _ in operands.points:
        if not facts.objects[point.object].disjoint:
            return Refusal(f"events of ~{point.object} overlap")
        if not facts.objects[point.object].complete:
            return Refusal(f"~{point.object} may be null")
    inputs = [p for p in facts.points if facts.objects[p.object].is_input]
    if not inputs:
        return Refusal("it sees no input")
    alone = len(inputs) == 1 and "merge_vectors" not in facts.disabled
    sources = tuple(_source(facts, point) for point, _ in operands.points)
    return MergeScan(operands, sources, inputs[0] if alone else None)


def _source(facts: LoopFacts, point: CutPoint) -> MergeSource:
    rows = facts.objects[point.object]
    computed = not rows.is_input
    visits_gaps = computed or not (point in facts.strict or rows.gapless)
    return MergeSource(point, computed, visits_gaps)
