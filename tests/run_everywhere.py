"""Running one query on every engine there is: they must all say the same."""

from collections.abc import Mapping, Sequence

from tests.compare import assert_same
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.verify.invariants import verify_source

SETTINGS = (
    Setting(rehearsed=True),
    Setting(chunk=1, workers=2, special_shapes=False, optimize=False),
)
"""As a user runs it again and again, and cut into single ticks."""


def run_everywhere(
    query: Query,
    events: Mapping[str, Sequence[Event]],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> dict[str, list[Snapshot]]:
    """The snapshots of every output, which all engines agree on."""
    verify_source(query)
    meant = interpret(query, events, start=start, end=end, bounds=bounds)
    given = {name: list(rows) for name, rows in events.items()}
    case = Case(query, given, start, end, dict(bounds or {}))
    for setting in settings:
        assert_same(run_compiled(case, setting), meant, query, exact=True)
    return meant
