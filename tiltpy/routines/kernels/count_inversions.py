"""Pairs of numbers in the wrong order, counted by a merge sort.

    for ranges of 1, 2, 4, ... numbers, each of them sorted:
        merge each with the next one: a number that comes from the right passes
        all that are left on the left, which are greater

Merges go from one array to another, and back. What is in order already is copied.
"""

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    i64,
    least,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Select,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import BOOL, I64

WIDTH, BEGIN, MIDDLE, STOP, COUNT = (
    Var(name, I64) for name in ("width", "begin", "middle", "stop", "count")
)
LEFT, RIGHT, TO, ENTRY = (Var(name, I64) for name in ("left", "right", "to", "entry"))
X, Y = Var("left number", I64), Var("right number", I64)
PASSES = Var("right passes left", BOOL)


def build_inversions() -> LoopKernel:
    """Build the loop over widths, each with a merge there and one back."""
    arguments = RoutineArguments()
    size, counted = arguments.number("size"), arguments.number("inversions")
    there, back = (arguments.array(name, written=True) for name in ("numbers", "copy"))
    twice = (
        *_merge_ranges(there, back, WIDTH, size),
        *_merge_ranges(back, there, mul(WIDTH, i64(2)), size),
        Assign(WIDTH, mul(WIDTH, i64(4))),
    )
    return arguments.kernel(
        Assign(WIDTH, i64(1)),
        Assign(COUNT, i64(0)),
        While(lt(WIDTH, size), twice),
        arguments.write_back(counted, COUNT),
    )


def _merge_ranges(
    source: Array, target: Array, width: LExpr, size: Var
) -> tuple[Stmt, ...]:
    """Merge neighbouring ranges of a width."""
    in_order = sub(MIDDLE, i64(1))
    merge = (
        Assign(MIDDLE, least(add(BEGIN, width), size)),
        Assign(STOP, least(add(MIDDLE, width), size)),
        Assign(LEFT, BEGIN),
        Assign(RIGHT, MIDDLE),
        Assign(TO, BEGIN),
        Assign(X, load(source, in_order)),
        Assign(Y, load(source, least(MIDDLE, sub(size, i64(1))))),
        Branch(
            conj(lt(MIDDLE, STOP), lt(Y, X)), (_merge(source, target),), rarely=True
        ),
        *_copy(source, target, LEFT, MIDDLE),
        *_copy(source, target, RIGHT, STOP),
        Assign(BEGIN, STOP),
    )
    return Assign(BEGIN, i64(0)), While(lt(BEGIN, size), merge)


def _merge(source: Array, target: Array) -> While:
    passed = select(PASSES, sub(MIDDLE, LEFT), i64(0))
    body = (
        Assign(X, load(source, LEFT)),
        Assign(Y, load(source, RIGHT)),
        Assign(PASSES, lt(Y, X)),
        Store(target, TO, Select(PASSES, Y, X, I64, even=True)),
        Assign(COUNT, add(COUNT, passed)),
        Assign(RIGHT, add(RIGHT, convert(PASSES, I64))),
        Assign(LEFT, sub(add(LEFT, i64(1)), convert(PASSES, I64))),
        Assign(TO, add(TO, i64(1))),
    )
    return While(conj(lt(LEFT, MIDDLE), lt(RIGHT, STOP)), body)


def _copy(source: Array, target: Array, first: Var, stop: Var) -> tuple[Stmt, ...]:
    """Copy what is left of one side, a vector at a time."""
    place = add(TO, sub(ENTRY, first))
    copy = For(
        ENTRY, first, stop, (Store(target, place, Wide(source, ENTRY, I64)),), LANES
    )
    return copy, Assign(TO, add(TO, sub(stop, first)))
