"""The forms in which an output goes to its sink.

*append* has the final snapshots alone, each when it is final. The other two also have
provisional rows: the open snapshots, or with `early` all that is not final. What a sink
has been told of these is taken back when it no longer holds: as *changes*, rows with a
weight of +1 or -1, or as *upsert*, where a row replaces that of its key and start.

These are written at checkpoints only. So a sink has the rows of one moment, and what
stands there provisionally follows from the session that the checkpoint saves.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, get_args

import pyarrow as pa

from tiltpy.argument_checks import check_choice, check_flag
from tiltpy.errors import ArgumentError
from tiltpy.ir.keys import keys_of
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.row_changes import join_tables, list_changes, list_upserts
from tiltpy.live.sinks.sink import Sink
from tiltpy.live_session import OutputUpdate

FormName: TypeAlias = Literal["append", "upsert", "changes"]
FORMS: tuple[FormName, ...] = get_args(FormName)
MOST_WAITING = 1 << 16
"""Final rows that wait for a checkpoint at most; more are written before it."""


@dataclass(frozen=True, slots=True)
class OutputForm:
    """A form, and whether its provisional rows are the early ones."""

    name: FormName = "append"
    early: bool = False

    def __post_init__(self) -> None:
        """Refuse what there is not."""
        check_choice("form", self.name, FORMS)
        if check_flag("early", self.early) and self.name == "append":
            raise ArgumentError(
                "early=True: early rows change, and form='append' takes no row back; "
                "choose form='upsert' or form='changes'"
            )

    def check(self, query: Query, outputs: Iterable[str]) -> None:
        """Refuse to upsert rows that nothing tells apart."""
        if self.name != "upsert":
            return
        for definition in query.definitions:
            if definition.name in outputs and definition.tdom.rows is not None:
                raise ArgumentError(
                    f"form='upsert': ~{definition.name} has a row for each of "
                    f"~{definition.tdom.rows}, and rows may have one key and start, so "
                    "that none can replace another; choose form='changes'"
                )

    def provisional(self, update: OutputUpdate) -> pa.Table:
        """Make the rows that are not final, once their types are known."""
        shown = update.early if self.early and update.is_typed else update.open
        table: Any = shown.to_arrow()
        return table


APPEND = OutputForm()


class OutputWriter(Protocol):
    """Writes an output to its sink; its methods return how many rows they wrote."""

    def write(self, update: OutputUpdate, *, last: bool) -> int:
        """Take what an update made final; the `last` one leaves nothing open."""

    def settle(self, update: OutputUpdate) -> int:
        """Have the sink hold all there is, before a checkpoint."""


class AppendWriter:
    """Writes final rows at once.

    Tables without rows are left out, but for the last one, which has a header.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, update: OutputUpdate, *, last: bool) -> int:
        """Write what is final."""
        table: Any = update.final.to_arrow()
        if table.num_rows or last:
            self._sink.write(table)
        return int(table.num_rows)

    def settle(self, update: OutputUpdate) -> int:
        """Do nothing: all is written."""
        del update
        return 0


class RevisingWriter:
    """Writes what makes the rows of a sink those of now."""

    def __init__(
        self, sink: Sink, form: OutputForm, columns: int, standing: pa.Table | None
    ) -> None:
        self._sink = sink
        self._form = form
        self._columns = columns
        self._standing = standing
        self._waiting: list[pa.Table] = []
        """Final rows since something was written."""
        self._count = 0

    def write(self, update: OutputUpdate, *, last: bool) -> int:
        """Keep what is final for the next checkpoint; write if it is much."""
        final: Any = update.final.to_arrow()
        if final.num_rows:
            self._waiting.append(final)
            self._count += final.num_rows
        if last:
            return self._revise(final.slice(0, 0), last=True)
        return self.settle(update) if self._count >= MOST_WAITING else 0

    def settle(self, update: OutputUpdate) -> int:
        """Write what has become final, and how provisional rows have changed."""
        return self._revise(self._form.provisional(update))

    def _revise(self, provisional: pa.Table, *, last: bool = False) -> int:
        new = join_tables([*self._waiting, provisional])
        old = new.slice(0, 0) if self._standing is None else self._standing
        self._standing, self._waiting, self._count = provisional, [], 0
        if not old.num_rows and not new.num_rows and not last:
            return 0
        if self._form.name == "changes":
            rows = list_changes(old, new)
        else:
            rows = list_upserts(old, new, self._columns)
        if rows.num_rows or last:
            self._sink.write(rows)
        return int(rows.num_rows)


def open_writers(
    form: OutputForm,
    sinks: Mapping[str, Sink],
    query: Query | None,
    standing: Mapping[str, pa.Table],
) -> dict[str, OutputWriter]:
    """Open what writes each output.

    `standing` has what sinks hold provisionally. Without the `query` rows are appended.
    """
    if query is None or form.name == "append":
        return {name: AppendWriter(sink) for name, sink in sinks.items()}
    return {
        name: RevisingWriter(
            sink, form, len(keys_of(query, name)) + 1, standing.get(name)
        )
        for name, sink in sinks.items()
    }
