"""Snapshots of keys from their cells, which lie in matrices, a row of keys for a cell.

for each key:
    for each of its cells that has a value:
        if the one before has none, or a snapshot begins here:
            a snapshot starts where the cell does, or where the key does
        it ends where the cell does, or where the key does
"""

from tiltpy.loops.build import (
    FALSE,
    add,
    disj,
    greatest,
    i64,
    least,
    load,
    mul,
    negate,
    number,
    sub,
)
from tiltpy.loops.nodes import Assign, Branch, For, LoopKernel, Store, Var
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import BOOL


def build_join_cells() -> LoopKernel:
    """Build the loop over keys, and those over the cells of each."""
    arguments = RoutineArguments()
    keys, width = arguments.number("keys"), arguments.number("width")
    places, firsts, stops, lows, highs, edges = map(
        arguments.array, ("places", "firsts", "stops", "lows", "highs", "edges")
    )
    covered, begins = (arguments.array(name, BOOL) for name in ("covered", "begins"))
    starts, ends, entries, counts = (
        arguments.array(name, written=True)
        for name in ("starts", "ends", "entries", "counts")
    )
    key, cell, entry, filled, begun = map(
        number, ("key", "cell", "entry", "filled", "begun")
    )
    low, high, place = map(number, ("low", "high", "place"))
    goes_on, there = Var("goes on", BOOL), Var("there", BOOL)
    begin = (
        Store(starts, filled, greatest(load(edges, cell), low)),
        Store(entries, filled, entry),
        Assign(filled, add(filled, i64(1))),
    )
    end = least(load(edges, add(cell, i64(1))), high)
    each_cell = (
        Assign(entry, add(mul(cell, width), place)),
        Assign(there, load(covered, entry)),
        Branch(
            there,
            (
                Branch(disj(negate(goes_on), load(begins, entry)), begin),
                Store(ends, sub(filled, i64(1)), end),
            ),
        ),
        Assign(goes_on, there),
    )
    each_key = (
        Assign(low, load(lows, key)),
        Assign(high, load(highs, key)),
        Assign(place, load(places, key)),
        Assign(begun, filled),
        Assign(goes_on, FALSE),
        For(cell, load(firsts, key), load(stops, key), each_cell),
        Store(counts, key, sub(filled, begun)),
    )
    return arguments.kernel(Assign(filled, i64(0)), For(key, i64(0), keys, each_key))
