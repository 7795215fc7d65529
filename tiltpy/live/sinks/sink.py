"""The interface of sinks: where the rows of an output go, and stay."""

from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

Position: TypeAlias = Any
"""How much a sink holds, or a source has given: what `json.dumps` can write."""


@runtime_checkable
class Sink(Protocol):
    """A place for the rows of one output.

    `run_live` calls `restore` first, then `write` for each update, and `flush` at each
    checkpoint. After a crash it calls `restore` with the position that the last
    complete checkpoint holds, and writes what came after it again.
    """

    def write(self, table: pa.Table) -> None:
        """Append rows; all tables have one schema."""

    def flush(self) -> Position:
        """Make all rows durable, and return the position behind the last of them."""

    def restore(self, position: Position | None) -> None:
        """Forget what was written behind a position; None: all of it."""

    def close(self) -> None:
        """Finish and release the sink. Rows since the last `flush` may be lost."""


@runtime_checkable
class CommittingSink(Sink, Protocol):
    """A sink whose readers see rows only when the checkpoint that has them is safe."""

    def commit(self) -> None:
        """Publish the rows up to the last `flush`, whose position is durable now."""


@runtime_checkable
class LastingSink(Sink, Protocol):
    """A sink whose rows outlast the process that wrote them."""

    def is_empty(self) -> bool:
        """Tell whether it has no rows yet."""
