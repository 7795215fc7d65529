"""Warnings before loops run: how many visits they make, and why.

A loop goes from change to change of what it sees, so its visits are as many as rows.
But where `t` is used as a number, or a reduction sees where the edges of its window cut
rows, each cell is a snapshot of its own; and a reduction without `merge`, or whose
element sees the present, goes through its window again at each visit. That is announced
where it takes long.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from tiltpy.abi.signature import Loop, Shape
from tiltpy.costs import RunCosts
from tiltpy.errors import warn
from tiltpy.ir.cuts import expressions, reads
from tiltpy.ir.nodes import Phi, Query, Reduce, TemporalExpr, Time
from tiltpy.ir.traversal import sees_present, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.concurrency.offload import in_caller
from tiltpy.runtime.execution.visit_bounds import MAX_CELLS
from tiltpy.source import UNKNOWN, Span

FEWER = (
    "to make fewer, give it a coarser grid (`h = TDom(-∞, ∞, 1s)`) or the query a "
    "coarser `unit`, or cut the run with start= and end="
)

MERGING = "give the reduction a `merge`"
SHORTER = (
    "give it a shorter window, or reduce an object that does not see the time `t` of "
    "its reader"
)


@dataclass(frozen=True, slots=True)
class LoopVisits:
    """Bounds on the visits of a loop, and on the rows of its windows.

    `gridded` are those that a vector kernel makes instead, and `made` counts snapshots
    in its windows of objects that are made on the way, if they have as many as they
    can.
    """

    loop: Loop
    visits: int
    again: int = 0
    gridded: int = 0
    made: int = 0

    def most(self, source: Query) -> int:
        """Visits of cells, or of rows, whichever are more.

        Of what is `made` where that is credible: every object on the way is made of one
        input, and none is φ in one case and not in another.
        """
        made = self.made if self.made and _is_dense(source, self.loop.name) else 0
        return max(self.visits, self.again + made)


def describe(source: Query, bound: LoopVisits) -> Iterator[str]:
    """Lines about a loop: its visits, and why they are so many."""
    name, each = bound.loop.name, _each(bound.loop)
    if bound.gridded:
        yield f"~{name}: {bound.gridded:,} visits, one for each grid point"
    if bound.visits or not bound.gridded:
        yield f"~{name}: at most {bound.visits:,} visits, one for {each}"
        yield from (f"    {line}" for line in _reasons(source, bound.loop))
    if rows := bound.again + bound.made:
        yield f"    at most {rows:,} rows in all of their windows"


def _each(loop: Loop) -> str:
    """Say what a loop makes its visits for."""
    if loop.shape is Shape.ROWS:
        return "each row"
    if not loop.every_cell:
        return "each change of what it refers to"
    if loop.tdom.calendar is not None:
        return "each cell of its calendar"
    step = loop.tdom.precision
    return "each tick" if step == 1 else f"each cell of {step:,} ticks"


def _reasons(source: Query, loop: Loop) -> Iterator[str]:
    """Why a loop does not go from change to change."""
    if loop.every_cell and not loop.cut and loop.tdom.calendar is None:
        yield f"`t` is used as a number{_place(_time(source, loop.name))}"
    if loop.cut or loop.recomputed:
        node = _reduction(source, loop.name)
        name = "a reduction" if node is None else f"`{node.reduction}`"
        at = _place(UNKNOWN if node is None else node.span)
        if loop.cut:
            yield f"{name} sees where the edges of its window cut rows{at}"
        if loop.recomputed:
            yield f"{name} goes through its window again at each visit{at}"


def _place(span: Span) -> str:
    return "" if span is UNKNOWN else f" at {span}"


def _upstream(source: Query, name: str) -> Iterator[TemporalExpr]:
    """An object's definition and those that it was made of, nearest first."""
    waiting = [name]
    for reader in waiting:
        definition = source.definition(reader)
        if definition is not None:
            yield definition
            waiting += (n for n in reads(definition) if n not in waiting)


def _is_dense(source: Query, name: str) -> bool:
    """Return whether an object has about as many snapshots as its one input."""
    inputs = {declared.name for declared in source.inputs}
    upstream = list(_upstream(source, name))
    read = {each for made in upstream for each in reads(made)}
    nodes = (n for made in upstream for each in expressions(made) for n in walk(each))
    return len(read & inputs) == 1 and not any(isinstance(n, Phi) for n in nodes)


def _time(source: Query, name: str) -> Span:
    """Find the place of the number `t` that an object depends on."""
    for definition in _upstream(source, name):
        for expr in expressions(definition):
            for node in walk(expr):
                if isinstance(node, Time):
                    return node.span
    return UNKNOWN


def _reduction(source: Query, name: str) -> Reduce | None:
    """The reduction that an object depends on and that goes through its window."""
    user_defined = {
        reduction.name
        for reduction in source.reductions
        if reduction.bounds or reduction.merge is None
    }
    for definition in _upstream(source, name):
        for expr in expressions(definition):
            for node in walk(expr):
                if isinstance(node, Reduce) and (
                    node.reduction in user_defined or sees_present(node.element)
                ):
                    return node
    return None


class Announcement:
    """Warns once in a run of visits that will take long."""

    def __init__(self, source: Query, costs: RunCosts) -> None:
        self._source = source
        self.most = costs.announced_visits
        self._visits: dict[str, int] = {}
        self._said = False

    def expect(self, coming: Mapping[str, LoopVisits]) -> None:
        """Visits that are to be made now; those of a run's stretches add up."""
        for name, bound in coming.items():
            # Loops of more visits are refused.
            if bound.loop.beyond_rows and bound.visits <= MAX_CELLS:
                most = bound.most(self._source)
                self._visits[name] = self._visits.get(name, 0) + most
        if self._said or not self._visits:
            return
        name = max(self._visits, key=lambda name: self._visits[name])
        if self._visits[name] > self.most:
            self._said = True
            in_caller(partial(warn, self._message(coming[name].loop)))

    def _message(self, loop: Loop) -> str:
        visits = self._visits[loop.name]
        why = "; ".join(_reasons(self._source, loop))
        what = "visits of rows in windows" if loop.recomputed else "visits"
        each = f", one for {_each(loop)}" if loop.every_cell else ""
        remedy = FEWER
        if loop.recomputed:
            node = _reduction(self._source, loop.name)
            present = node is not None and sees_present(node.element)
            remedy = f"to make fewer, {SHORTER if present else MERGING}"
        return f"~{loop.name} may make {visits:,} {what}{each}: {why}; {remedy}"
