"""The passes in order.

First, always, payloads take the types that machine code has: structs of scalars, no
times and durations. Then objects over rows and intervals become such that loops can go
through these. Each of `PIPELINE` can be left out and changes no result.
`resolve_boundaries` always runs, last, so that the bounds are those of the query that
is executed.
"""

from collections.abc import Callable

from tiltpy.errors import QueryError, TiltError
from tiltpy.ir.nodes import Query
from tiltpy.ir.traversal import depth
from tiltpy.ir.verify.invariants import verify, verify_source
from tiltpy.limits import MAX_DEPTH
from tiltpy.passes.check_windows import check_windows
from tiltpy.passes.derive_merges import derive_merges
from tiltpy.passes.eliminate_dead import eliminate_dead
from tiltpy.passes.flatten_structs import flatten_structs
from tiltpy.passes.fold_constants import fold_constants
from tiltpy.passes.fuse_operators import fuse_operators
from tiltpy.passes.inline_rows import inline_rows
from tiltpy.passes.operation_count import check_operations
from tiltpy.passes.represent import represent
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.passes.separate_cells import separate_cells
from tiltpy.passes.share_subexpressions import share_subexpressions

Pass = Callable[[Query], Query]

ALWAYS_FIRST: tuple[Pass, ...] = (
    flatten_structs,
    represent,
    separate_cells,
    inline_rows,
)
PIPELINE: tuple[Pass, ...] = (
    derive_merges,
    fold_constants,
    fuse_operators,
    fold_constants,
    share_subexpressions,
    eliminate_dead,
)
PASS_NAMES = tuple(dict.fromkeys(each.__name__ for each in PIPELINE))
"""The names by which passes are turned off."""


def optimize(
    query: Query, disabled: frozenset[str] = frozenset()
) -> tuple[tuple[str, Query], ...]:
    """Return the query after each pass that ran, in order; the last is executed.

    A query that looks further than times can, or would be too much code, is a
    `QueryError`, whatever is disabled.
    """
    if unknown := disabled.difference(PASS_NAMES):
        raise TiltError(
            f"there is no pass {', '.join(sorted(unknown))} to leave out; there are "
            f"{', '.join(PASS_NAMES)}"
        )
    verify_source(query)
    resolve_boundaries(query)  # for its errors: they are the source's
    check_windows(query)
    stages: list[tuple[str, Query]] = []
    for each in ALWAYS_FIRST:
        before, query = query, each(query)
        if query != before:
            _check_depth(query)
            verify(query)
            stages.append((each.__name__, query))
    for each in (*PIPELINE, resolve_boundaries):
        if each.__name__ in disabled:
            continue
        before, query = query, each(query)
        if query != before:
            verify(query)
        stages.append((each.__name__, query))
    check_operations(query)
    return tuple(stages)


def _check_depth(query: Query) -> None:
    for definition in query.definitions:
        if depth(definition.body) > MAX_DEPTH:
            raise QueryError(
                "E0301",
                f"~{definition.name} is deeper than {MAX_DEPTH} levels, with what "
                "rounds durations to ticks and makes structs in structs",
                definition.span,
                "name parts of it in objects of their own",
            )
