"""Up to when the cells of an output are final.

An input is complete through a time if no row to come touches times up to it. A cell is
final once every input is complete through the last time that the cell looks at.
"""

from collections.abc import Mapping

import numpy as np

from tiltpy.calendars import cell_numbers, cell_starts
from tiltpy.errors import QueryError
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.types import Boundary, TDom


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
                    "bound the look, as in ~x[t : next within 1h] or until_next max "
                    "1d, or use run()",
                )


def is_never_final(boundary: Boundary) -> bool:
    """Tell whether a reach into an input waits for rows that may come at any time."""
    return boundary.ahead.is_unbounded or boundary.ahead.rows > 0


def find_delay(output: TemporalExpr, boundary: Boundary) -> int:
    """Find how far beyond a grid point an input must be complete, in ticks."""
    tdom = output.tdom
    own = 0 if tdom.rows is not None or tdom.cells is not None else tdom.longest - 1
    return max(0, boundary.ahead.ticks - own)


def find_final(
    output: TemporalExpr, reach: Mapping[str, Boundary], complete: Mapping[str, int]
) -> int:
    """Find the last grid point of an output whose cell is final.

    `reach` says how far it looks ahead into each input, `complete` through which time
    each input is complete, in ticks. One that reads no input goes on with all of them.
    """
    times = [
        complete[name] - find_delay(output, boundary)
        for name, boundary in reach.items()
    ]
    return last_grid_point(output.tdom, min(times or complete.values()))


def last_grid_point(tdom: TDom, time: int) -> int:
    """Find the last end of a cell at or before a time."""
    if tdom.calendar is None:
        return tdom.floor(time)
    numbers = cell_numbers(tdom.calendar, np.array([time + 1], np.int64))
    return int(cell_starts(tdom.calendar, numbers)[0])
