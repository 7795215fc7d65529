"""The rows of a pipe: JSON lines, CSV, or an Arrow stream on the standard input."""

from collections.abc import Iterator
from io import BufferedReader
from typing import Literal, TypedDict

import pyarrow as pa
import pyarrow.ipc as pi

from tiltpy.errors import DataError
from tiltpy.live.sources.source import Batch, WaitingSource
from tiltpy.live.sources.text_pieces import TextForm, TextPieces
from tiltpy.messages import quantity
from tiltpy.runtime.arrow.files import reason
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle, detect_format

READ = 1 << 20
"""Bytes that are read at most at once."""
_MAGIC = 64
"""Bytes that tell the format of a pipe."""

Resume = Literal["refuse", "skip", "continue"]


class PipePosition(TypedDict):
    """A place in a pipe: the rows before it."""

    rows: int


class PipeSource(WaitingSource):
    """A pipe, whose rows are taken as they come.

    A pipe cannot be read again. So a run that resumes is refused, unless `resume` says
    that its writer begins again ("skip" the rows that were read), or goes on behind
    them ("continue").
    """

    def __init__(
        self,
        pipe: BufferedReader,
        name: str,
        form: FileFormat | None = None,
        style: TextStyle | None = None,
        *,
        resume: Resume = "refuse",
    ) -> None:
        super().__init__()
        self._pipe, self._name = pipe, name
        self._format, self._style = form, style or TextStyle()
        self._resume = resume
        self._rows = 0

    def seek(self, position: PipePosition | None) -> None:
        """Skip rows, or refuse to."""
        self._rows = position["rows"] if position else 0
        if self._rows and self._resume == "refuse":
            raise DataError(
                f"{self._name}: {quantity(self._rows, 'row')} came before, and a pipe "
                "cannot be read again; say whether its writer begins again, 'skip', or "
                "goes on, 'continue'; or follow a file instead"
            )

    def __iter__(self) -> Iterator[Batch]:
        total = self._rows
        skip = total if self._resume == "skip" else 0
        for table in self._read():
            rows = table.slice(min(skip, table.num_rows))
            skip -= table.num_rows - rows.num_rows
            total += rows.num_rows
            if rows.num_rows:
                position, first = PipePosition(rows=total), total - rows.num_rows
                yield Batch(rows, position, origin=self._name, first=first)
            if self.stopped.is_set():
                return

    def _read(self) -> Iterator[pa.Table]:
        form = self._format or detect_format(self._pipe.peek(_MAGIC)[:_MAGIC])
        if form.compression is not None or form.name in ("Parquet", "Arrow"):
            raise DataError(
                f"{self._name}: {form.name} cannot be read as it comes; use JSON lines,"
                " CSV or an Arrow stream, not compressed"
            )
        if form.is_text:
            return self._read_text(form)
        return self._read_arrow()

    def _read_text(self, form: FileFormat) -> Iterator[pa.Table]:
        pieces = TextPieces(
            TextForm(self._name, form, self._style), self.expected, types={}
        )
        while True:
            content = self._pipe.read1(READ)
            table = pieces.feed(content) if content else pieces.finish()
            if table is not None:
                yield table
            if not content:
                return

    def _read_arrow(self) -> Iterator[pa.Table]:
        try:
            for batch in pi.open_stream(self._pipe):
                yield pa.Table.from_batches([batch])
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"{self._name}: not readable as an Arrow stream: {reason(error)}"
            ) from error

    def __repr__(self) -> str:
        return f"<source {self._name}>"
