"""Steps between neighbouring numbers: the least and the greatest."""

from tiltpy.loops.build import (
    INF,
    NEVER,
    add,
    greatest,
    i64,
    least,
    load,
    lt,
    number,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Assign, For, LoopKernel, Stmt, Var
from tiltpy.routines.kernels.arguments import RoutineArguments


def build_steps() -> LoopKernel:
    """Build the loop over neighbours.

    A step back counts as -1, and one that is too long for 64 bits is negative, too.
    """
    arguments = RoutineArguments()
    rows, unused = arguments.number("rows"), arguments.number("unused")
    shortest, longest, body = find_steps(rows, arguments.array("numbers"))
    return arguments.kernel(
        *body,
        arguments.write_back(rows, shortest),
        arguments.write_back(unused, longest),
    )


def find_steps(rows: Var, numbers: Array) -> tuple[Var, Var, tuple[Stmt, ...]]:
    """Make the statements that find the least step and the greatest."""
    row, left, right, step, shortest, longest = map(
        number, ("row", "left", "right", "step", "shortest", "longest")
    )
    each = (
        Assign(left, load(numbers, row)),
        Assign(right, load(numbers, add(row, i64(1)))),
        Assign(step, select(lt(right, left), i64(-1), sub(right, left))),
        Assign(shortest, least(shortest, step)),
        Assign(longest, greatest(longest, step)),
    )
    body = (
        Assign(shortest, INF),
        Assign(longest, NEVER),
        For(row, i64(0), sub(rows, i64(1)), each),
    )
    return shortest, longest, body
