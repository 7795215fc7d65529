"""The arrays of sorted runs, of which rows that wait for their order consist.

Rows have slots in order of arrival. A run is a linked list of rows, ascending in start
and in slot: each slot has that of the row which follows in its run. The starts of the
last rows of runs, their tails, are strictly descending; they are `NEVER` where there is
no run.
"""

from tiltpy.loops.build import load
from tiltpy.loops.nodes import LExpr, Store
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import U32


class RunArrays:
    """The declared arrays: two by slot, then those by run."""

    def __init__(self, arguments: RoutineArguments, *, appends: bool) -> None:
        self.starts = arguments.array("starts")
        self.following = arguments.array("following row", U32, written=appends)
        self.heads, self.tails, self.firsts, self.lasts = self.of_runs = tuple(
            arguments.array(f"{name} of run", written=True)
            for name in ("head", "tail", "first row", "last row")
        )

    def move_run(self, run: LExpr, to: LExpr) -> tuple[Store, ...]:
        """Let a run have another number."""
        return tuple(Store(array, to, load(array, run)) for array in self.of_runs)
