"""The part of a streamed run that holds no rows: they wait at their sources."""

from collections.abc import Collection, Mapping

from tiltpy.runtime.incremental.state import OutputProgress
from tiltpy.types import ENDLESS


class PartWithoutRows:
    """Answers that do not depend on keys: no rows wait here for those to come."""

    needs_all_keys = False
    awaits_ends: Collection[str] = ()

    def count_keys(self) -> int:
        """Count the keys that have a snapshot in any case, or the one of all rows."""
        return 1

    def absorb(self) -> None:
        """Leave rows that came where they are: nothing can be computed yet."""

    def find_done(self, output: OutputProgress) -> int:
        """Find up to when an output does not need inputs without keys any more."""
        return output.done

    def find_broadcast(self, output: OutputProgress, rows: int) -> int:
        """Find up to when each key sees so many more rows of inputs without keys."""
        del output, rows
        return ENDLESS

    def held_rows(self) -> Mapping[str, int]:
        """Count the rows that wait here, by input."""
        return {}
