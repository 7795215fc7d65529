"""Up to when the cells of an output are final.

An input is complete through a time if no row to come touches times up to it. A cell is
final once every input is complete through the last time that the cell looks at.
"""

from collections.abc import Collection, Mapping

import numpy as np

from tiltpy.calendars import cell_numbers, cell_starts
from tiltpy.errors import QueryError
from tiltpy.ir.cuts import event_bounds, reads
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.ir.rows import row_roots
from tiltpy.runtime.arrivals.live_source import LiveSource
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.incremental.state import OutputProgress
from tiltpy.types import ENDLESS, Boundary, TDom


def check_lookahead(query: Query) -> None:
    """Refuse outputs of which nothing is final before all rows have come.

    The query has its boundaries, where next rows count as rows: they may come at any
    time, and a key may have none.
    """
    for name, reach in query.boundaries:
        for source, boundary in reach:
            if is_never_final(boundary):
                output = query.definition(name)
                assert output is not None
                raise QueryError(
                    "E0305",
                    f"~{name} looks ahead into ~{source} without a bound, so none of "
                    "it is final before the last row has come",
                    output.span,
                    _hint_end(query)
                    or _hint_cells(query, source)
                    or "bound the look, as in ~x[t : next within 1h] or until_next max "
                    "1d, or use run()",
                )


def _hint_end(query: Query) -> str:
    """Hint at final snapshots, for a query that asks for the end of a distinct one."""
    roots = row_roots(query)
    for definition in query.definitions:
        for node in event_bounds(definition):
            if node.which == "end" and node.object not in roots:
                return (
                    f"leave end(~{node.object}[...]) out: the final snapshots of "
                    f"~{node.object} have their ends; or use run()"
                )
    return ""


def _hint_cells(query: Query, source: str) -> str:
    """Hint at lifetimes with a limit, where the intervals of an input are cells."""
    if all(each.tdom.cells != source for each in query.definitions):
        return ""
    return (
        f"an interval of ~{source} may have begun long before its row comes: give it a "
        "lifetime with a limit, like duration 8h or until_next max 8h; or use run()"
    )


def is_never_final(boundary: Boundary) -> bool:
    """Tell whether a reach into an input waits for rows that may come at any time."""
    return boundary.ahead.is_unbounded or boundary.ahead.rows > 0


def find_delay(output: TemporalExpr, boundary: Boundary) -> int:
    """Find how far beyond a grid point an input must be complete, in ticks."""
    tdom = output.tdom
    own = 0 if tdom.rows is not None or tdom.cells is not None else tdom.longest - 1
    return max(0, boundary.ahead.ticks - own)


def find_asked_ends(query: Query) -> Mapping[str, frozenset[str]]:
    """Find the inputs of whose rows each object, or one that it reads, asks for ends.

    Of a row that holds until the next one its end is known when that comes.
    """
    roots = row_roots(query)
    asked: dict[str, frozenset[str]] = {}
    for definition in query.definitions:
        own = [
            roots[node.object]
            for node in event_bounds(definition)
            if node.which == "end" and node.object in roots
        ]
        others = [asked.get(name, frozenset()) for name in reads(definition)]
        asked[definition.name] = frozenset(own).union(*others)
    return asked


class OutputClock:
    """Finds up to when an output is final; what that depends on is found once.

    `root` is the input whose rows are its own, if they hold until the next one; of rows
    of the inputs `asked` it needs the ends.
    """

    def __init__(
        self,
        output: OutputProgress,
        sources: Mapping[str, LiveSource],
        root: LiveSource | None,
        asked: Collection[str],
        request: Request,
    ) -> None:
        definition, reach = output.definition, output.reach
        self._tdom = definition.tdom
        self._root = root
        # An output that reads no input goes on with all of them.
        self._waits = [
            (sources[name], find_delay(definition, boundary))
            for name, boundary in reach.items()
        ] or [(source, 0) for source in sources.values()]
        self._held = [
            (sources[name], find_delay(definition, reach[name]))
            for name in asked
            if name in reach and sources[name].holds
        ]
        self.end = request.limits(definition.tdom)[1]
        """The end of its domain, if it has one."""
        self.last = None if self.end is None else definition.tdom.ceil(self.end)
        """The last grid point of its domain, if there is one."""

    def find_final(self) -> int:
        """Find the last grid point whose cell is final.

        Rows that hold until the next one of all end when that comes.
        """
        time = ENDLESS
        for source, delay in self._waits:
            complete = source.watermark - delay
            if complete < time:  # noqa: PLR1730 - pushes feel a call of min()
                time = complete
        for source, delay in self._held:
            stamp = source.tail_stamp
            if stamp is not None:
                time = min(time, stamp - source.reader.before - delay)
        tdom = self._tdom
        if tdom.calendar is None:
            high = time - (time - tdom.offset) % tdom.precision
        else:
            high = last_grid_point(tdom, time)
        stamp = None if self._root is None else self._root.tail_stamp
        return high if stamp is None else min(high, stamp - 1)


def last_grid_point(tdom: TDom, time: int) -> int:
    """Find the last end of a cell at or before a time."""
    if tdom.calendar is None:
        return tdom.floor(time)
    numbers = cell_numbers(tdom.calendar, np.array([time + 1], np.int64))
    return int(cell_starts(tdom.calendar, numbers)[0])
