"""Rows as tables to a function of the caller's."""

from collections.abc import Callable

import pyarrow as pa


class CallableSink:
    """A function that is called with each table that has rows.

    After a crash it sees the rows since the last checkpoint again: each comes at least
    once.
    """

    def __init__(self, function: Callable[[pa.Table], object]) -> None:
        self._function = function

    def write(self, table: pa.Table) -> None:
        """Call the function."""
        if table.num_rows:
            self._function(table)

    def flush(self) -> None:
        """Do nothing: the function has seen all rows."""

    def restore(self, position: None) -> None:
        """Do nothing: what a function has done stays done."""

    def close(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return str(getattr(self._function, "__name__", self._function))
