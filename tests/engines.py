"""Running one query on every engine there is: they must all say the same."""

from collections.abc import Mapping, Sequence

from tiltpy.interpreter import Event, Snapshot, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.verify import verify_source


def run_everywhere(
    query: Query,
    events: Mapping[str, Sequence[Event]],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, list[Snapshot]]:
    """The snapshots of every output, which all engines agree on."""
    verify_source(query)
    return interpret(query, events, start=start, end=end, bounds=bounds)
