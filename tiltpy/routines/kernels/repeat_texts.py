"""Texts taken by their numbers, each as often as a count says: bytes behind bytes.

Whole words are copied. What the last one of a text has too much is written again by
those that follow.
"""

from tiltpy.loops.build import add, i64, load, lt, number
from tiltpy.loops.nodes import Assign, For, LoopKernel, Store, While
from tiltpy.routines.catalogue import WORD
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import U8


def build_text_repetition() -> LoopKernel:
    """Build the loop over numbers, and over the repetitions and bytes of each text."""
    arguments = RoutineArguments()
    rows = arguments.number("rows")
    numbers, counts = arguments.array("numbers"), arguments.array("counts")
    sizes, offsets = arguments.array("sizes"), arguments.array("offsets")
    data = arguments.array("data", U8)
    places = arguments.array("places", written=True)
    target = arguments.array("target", U8, written=True)
    row, first, made, origin, place, stop, again, size = map(
        number,
        ("row", "first", "made", "origin", "place", "stop", "again", "size"),
    )
    byte = number("byte")
    copy = (
        For(
            byte,
            i64(0),
            i64(WORD),
            (Store(target, add(place, byte), load(data, add(origin, byte))),),
        ),
        Assign(origin, add(origin, i64(WORD))),
        Assign(place, add(place, i64(WORD))),
    )
    repeat = (
        Assign(origin, first),
        Assign(stop, add(place, size)),
        While(lt(place, stop), copy),
        Assign(place, stop),
        Assign(made, add(made, i64(1))),
        Store(places, made, place),
    )
    each = (
        Assign(first, load(offsets, load(numbers, row))),
        Assign(size, load(sizes, row)),
        For(again, i64(0), load(counts, row), repeat),
    )
    return arguments.kernel(
        Assign(place, i64(0)), Assign(made, i64(0)), For(row, i64(0), rows, each)
    )
