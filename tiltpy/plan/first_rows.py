"""Windows since a restart that never look beyond the first row of an input.

`session_start(~x, d)` is true at the first row of `~x`: nothing is in the time before
it. What is folded since then sees the same whatever lies before that row. The condition
is lowered on trial, as it is there.
"""

from tiltpy.emit.values import LoopValue, Reading, lower_expr, phi
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import At, CutPoint, Query, Reduce, Since, TemporalExpr, Window
from tiltpy.loops.build import TRUE
from tiltpy.plan.definedness import (
    present_value,
    strict_points,
    trial_block,
    unknown_value,
)
from tiltpy.plan.emptiness import count_empty


def begins_with_rows(query: Query, definition: TemporalExpr, window: Window) -> bool:
    """Decide whether what restarts a window is true at the first row of the only input.

    That and the definition of the window are φ where there is no row, so that windows
    which do not end before their time begin with that row, or later.
    """
    if not isinstance(window.limit, Since) or window.end < 0:
        return False
    condition = query.definition(window.limit.object)
    inputs = [each for each in query.inputs if each.name != KEY_STARTS]
    if condition is None or len(inputs) != 1:
        return False
    (declared,) = inputs
    return all(
        each.tdom.precision == 1
        and each.tdom.rows is None
        and CutPoint(declared.name, 0) in strict_points(each)
        for each in (definition, condition)
    ) and _is_true_at_first(condition, declared.name)


def _is_true_at_first(definition: TemporalExpr, input: str) -> bool:
    """Decide whether an object is true at the first tick of the first row."""

    def is_before(window: Window) -> bool:
        return window.object == input and window.end < 0 and window.look is None

    def leaf(node: Reading) -> LoopValue:
        match node:
            case At(object=name, offset=0) if name == input:
                return present_value(node.type)
            case At(object=name, offset=offset) if name == input and offset < 0:
                return phi(node.type)
            case Reduce(window=window) if is_before(window):
                return phi(node.type)
            case _:
                return unknown_value(node.type)

    known = count_empty(definition.body, is_before)
    value = lower_expr(trial_block(), leaf, known)
    return value.value == TRUE and value.valid == TRUE
