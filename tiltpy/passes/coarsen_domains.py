"""Coarsen domains: objects over the coarsest grid on which they are the same objects.

Before, where rows of `~x` start and end at multiples of 100:

    ~step[t] = ~x[t] - ~x[t-100]
    u = TDom(-∞, ∞, 100)
    ~o[u] = mean(~step[u-2000 : u])

After:

    t2 = TDom(-∞, ∞, 100)
    ~step[t2] = ~x[t2] - ~x[t2-100]

An object changes only when a reference of its sees something else: a point reference at
the bounds of a snapshot, a window where a snapshot enters or leaves it. If all of these
times are on one grid, the object over that grid has the same values and the same
snapshots, and a vector kernel has as many cells to visit as there are rows. Where the
bounds are is a fact about data, so this is done for kernels that rely on it, and not in
the pipeline. Outputs are no coarser than the finest grid of the data: longer cells
would serve less of a time range, and have few visits anyway.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import gcd
from typing import assert_never

from tiltpy.ir.cuts import LeafCut, leaf_cuts
from tiltpy.ir.nodes import CutPoint, CutTime, CutWindow, Query, TemporalExpr
from tiltpy.types import TDom

_ANYWHERE = TDom()
"""The grid of changes that may be at any tick."""


def coarsen_domains(query: Query, bounds: Mapping[str, TDom]) -> Query:
    """Define objects over grids as coarse as their changes.

    `bounds` gives the grids that hold the bounds of all rows of inputs.
    """
    grids = dict(bounds)
    finest = min((grid.precision for grid in bounds.values()), default=1)
    definitions = []
    for definition in query.definitions:
        limit = finest if definition.name in query.outputs else None
        fixed = definition.tdom.rows is not None
        tdom = definition.tdom if fixed else _coarsest(definition, grids, limit)
        grids[definition.name] = tdom if tdom.is_infinite else _ANYWHERE
        definitions.append(replace(definition, tdom=tdom))
    return replace(query, definitions=tuple(definitions))


def _coarsest(
    definition: TemporalExpr, grids: Mapping[str, TDom], limit: int | None
) -> TDom:
    """Find the coarsest domain over which an object is the same.

    With a `limit` the precision is that at most, of which it is a divisor.
    """
    tdom = definition.tdom
    changes = [
        change for cut in leaf_cuts(definition.cuts) for change in _changes(cut, grids)
    ]
    if not changes or not tdom.is_infinite:
        return tdom
    common = _common(changes)
    if limit is not None:
        common = _finer(common, gcd(common.precision, limit))
    on_grid = common.precision % tdom.precision == 0
    same_points = (common.offset - tdom.offset) % tdom.precision == 0
    if not on_grid or not same_points or common.precision == tdom.precision:
        return tdom
    return replace(common, span=tdom.span)


def _changes(cut: LeafCut, grids: Mapping[str, TDom]) -> Iterator[TDom]:
    """Yield the grids of the last times before a reference sees something else."""
    match cut:
        case CutPoint():
            yield _shift_grid(grids.get(cut.object, _ANYWHERE), -cut.offset)
        case CutWindow(bounds=False, window=window) if window.is_fixed:
            seen = grids.get(window.object, _ANYWHERE)
            yield _shift_grid(seen, -window.end)  # a snapshot enters
            yield _shift_grid(seen, -window.start - 1)  # one leaves
        case CutWindow() | CutTime():
            yield _ANYWHERE
        case _:
            assert_never(cut)


def _shift_grid(grid: TDom, ticks: int) -> TDom:
    return replace(grid, offset=(grid.offset + ticks) % grid.precision)


def _finer(grid: TDom, precision: int) -> TDom:
    return replace(grid, precision=precision, offset=grid.offset % precision)


def _common(grids: Iterable[TDom]) -> TDom:
    """Find the coarsest grid that has all points of the given grids."""
    first, *others = grids
    offset, precision = first.offset, first.precision
    for other in others:
        precision = gcd(precision, other.precision, other.offset - offset)
    return TDom(precision=precision, offset=offset % precision)
