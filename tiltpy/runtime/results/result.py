"""What a run gives back: one Arrow table per output, made when asked for.

A run leaves each output as pieces, one per stretch of time, in order. They become the
chunks of the table; values are never copied, times only where they are not stored or
the output's unit is not the tick.
"""

from abc import ABC, abstractmethod
from collections.abc import ItemsView, Iterator, KeysView, Sequence, ValuesView
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tiltpy.errors import TiltError
from tiltpy.given import checked, path_of, text_of
from tiltpy.messages import closest
from tiltpy.plot.series import Series
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings, fitting
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import arrow_type, column_array
from tiltpy.runtime.arrow.html import html_table
from tiltpy.runtime.arrow.time_payloads import output_type, ticks_array
from tiltpy.runtime.arrow.timestamps import OutputStamp, from_ticks
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.quick_work import QUICK_ROWS
from tiltpy.runtime.execution.stitch import Piece, events_of
from tiltpy.runtime.results.key_columns import KeyColumns, in_order_of_time
from tiltpy.runtime.results.keyed_bitmaps import KeyCells
from tiltpy.runtime.results.plot_keys import Choice
from tiltpy.runtime.results.plot_series import (
    Form,
    clock_of,
    draw,
    form_of,
    series_of,
    write,
)
from tiltpy.types import STRING, Scalar, Struct, Type, columns
from tiltpy.visible import visible

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True, slots=True, eq=False)
class OutputRows:
    """The snapshots of an output in pieces, and the keys that they are of, if any."""

    pieces: Sequence[Piece | KeyCells]
    keys: KeyColumns | None

    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns."""
        return [] if self.keys is None else self.keys.fields


class Pending(ABC):
    """The snapshots of an output by key that are made when somebody asks for them."""

    @abstractmethod
    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns, known before any snapshot is."""

    @abstractmethod
    def make(self) -> OutputRows:
        """Make the snapshots."""


class _Lazy:
    """Snapshots that are made on first use, once for all tables that share them.

    There is no other way to them, so that nothing looks at them before they are made.
    """

    def __init__(self, source: OutputRows | Pending) -> None:
        self._source = source
        self.key_fields = source.key_fields()

    @property
    def rows(self) -> OutputRows:
        """The snapshots and their keys."""
        if isinstance(self._source, Pending):
            self._source = offload(self._source.make)
        return self._source

    @property
    def is_made(self) -> bool:
        """Whether the snapshots are there."""
        return isinstance(self._source, OutputRows)

    def __reduce__(self) -> tuple[type["_Lazy"], tuple[OutputRows]]:
        """Make the snapshots: what they are made of stays in its process."""
        return _Lazy, (self.rows,)


class OutputTable:
    """The snapshots of one output, in order of time.

    The columns are `start` and `end` (a snapshot is valid over `(start, end]`), then
    the payload: one column named after the output for a scalar, a column per field for
    a struct. An output by key has the columns of its key before them, and its rows are
    in order of key, then time, or the other way round. Goes wherever an Arrow table
    goes.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        pieces: Sequence[Piece | KeyCells] | Pending,
        stamp: OutputStamp,
        strings: Strings = NO_STRINGS,
        keys: KeyColumns | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.stamp = stamp
        if not isinstance(pieces, Pending):
            some = [events_of(piece, type) for piece in pieces if piece.n]
            self._lazy = _Lazy(OutputRows(some, keys))
        else:
            self._lazy = _Lazy(pieces)
        self._strings = strings
        self._table: pa.Table | None = None

    def __getstate__(self) -> dict[str, object]:
        """The snapshots, without the table of them."""
        return {**vars(self), "_table": None}

    def renamed(self, name: str) -> "OutputTable":
        """The same snapshots under another name."""
        found = OutputTable(name, self.type, (), self.stamp, self._strings)
        found._lazy = self._lazy
        return found

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns; none for an output without keys."""
        return tuple(name for name, _ in self._lazy.key_fields)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the table."""
        payload = [(self.name, self._type(self.type))]
        if isinstance(self.type, Struct):
            payload = [(name, self._type(of)) for name, of in self.type.fields]
        times = [("start", self.stamp.type), ("end", self.stamp.type)]
        return pa.schema([*self._lazy.key_fields, *times, *payload])

    def _type(self, of: Type) -> pa.DataType:
        if isinstance(of, Struct):
            return pa.struct([(name, self._type(inner)) for name, inner in of.fields])
        if of.is_temporal:
            return output_type(of, self.stamp).type
        return arrow_type(of)

    @property
    def num_rows(self) -> int:
        """How many snapshots there are."""
        return sum(piece.n for piece in self._lazy.rows.pieces)

    def __len__(self) -> int:
        return self.num_rows

    def to_arrow(self) -> pa.Table:
        """The snapshots as a pyarrow table; made once, kept."""
        if self._table is None:
            quick = self._lazy.is_made and self.num_rows < QUICK_ROWS
            self._table = self._to_arrow() if quick else offload(self._to_arrow)
        return self._table

    def _to_arrow(self) -> pa.Table:
        schema, made = self.schema, self._lazy.rows
        most = None if made.keys is None else made.keys.fitting()
        chunks = [c for piece in made.pieces for c in self._chunks(piece, most)]
        if made.keys is not None:
            sizes = [len(chunk[0]) for chunk in chunks]
            keys = made.keys.chunks(sizes)
            chunks = [[*k, *c] for k, c in zip(keys, chunks, strict=True)]
        arrays = [
            pa.chunked_array([chunk[i] for chunk in chunks], field.type)
            for i, field in enumerate(schema)
        ]
        table = pa.Table.from_arrays(arrays, schema=schema)
        if made.keys is not None and made.keys.order == "time":
            table = in_order_of_time(table)
        return table

    def rows_by_key(self) -> Iterator[tuple[str, slice]]:
        """Each key and its rows, of a table in order of key; all, if it has none."""
        keys = self._lazy.rows.keys
        if keys is None:
            yield "", slice(0, self.num_rows)
            return
        offsets = keys.offsets()
        for key in np.flatnonzero(np.diff(offsets)).tolist():
            yield keys.keys.show(key), slice(offsets[key], offsets[key + 1])

    def pictured(self, choice: Choice, *, is_input: bool) -> list[tuple[Series, ...]]:
        """What a picture of it is made of, for each payload column."""
        keys = self._lazy.rows.keys
        if keys is None:
            return series_of(self.name, self.to_arrow(), is_input=is_input)
        shown = choice.of(self.name, keys)
        table = self._in_order_of_key().to_arrow()
        return series_of(self.name, table, self.keys, shown, is_input=is_input)

    def _in_order_of_key(self) -> "OutputTable":
        made = self._lazy.rows
        if made.keys is None or made.keys.order == "key":
            return self
        keys = replace(made.keys, order="key")
        return OutputTable(
            self.name, self.type, made.pieces, self.stamp, self._strings, keys
        )

    def _chunks(
        self, piece: Piece | KeyCells, most: int | None
    ) -> Iterator[list[pa.Array]]:
        """A piece's columns; in parts where its text does not fit into one.

        Nor are there more than `most` snapshots in a part.
        """
        pairs = list(zip(columns(self.type), piece.columns, strict=True))
        times = [from_ticks(t, self.stamp, self.name) for t in piece.times()]
        arrays = [self._array(one, piece.n, scalar) for (_, scalar), one in pairs]
        texts = {
            number: column.strings or self._strings
            for number, ((_, scalar), column) in enumerate(pairs)
            if scalar == STRING
        }
        fields = [("", self.type)]
        if isinstance(self.type, Struct):
            fields = list(self.type.fields)
        strings = [(s, arrays[n]) for n, s in texts.items()]
        for part in _parts(strings, piece.n, most or piece.n):
            own = (
                texts[number].decoded(array[part]) if number in texts else array[part]
                for number, array in enumerate(arrays)
            )
            payload = [self._field(of, own) for _, of in fields]
            yield [*(time[part] for time in times), *payload]

    def _field(self, of: Type, arrays: Iterator[pa.Array]) -> pa.Array:
        """A field from its columns, which come next; a struct is null as its first."""
        first = next(arrays)
        if not isinstance(of, Struct):
            return first
        names = [name for name, _ in of.fields]
        inside = [next(arrays) for _ in names]
        nulls = first.is_null() if first.null_count else None
        return pa.StructArray.from_arrays(inside, names, mask=nulls)

    def _array(self, column: Column, count: int, scalar: Scalar) -> pa.Array:
        if not scalar.is_temporal:
            return column_array(column, count, scalar)
        kind = output_type(scalar, self.stamp)
        return ticks_array(column, count, scalar, kind, self.name)

    def points(self, time: str = "time") -> pa.Table:
        """Rows stamped with each snapshot's end, under the column name `time`."""
        text_of("time", time)
        table = self.to_arrow().drop_columns(["start"])
        names = table.column_names
        place = names.index("end")
        if time in (*names[:place], *names[place + 1 :]):
            raise TiltError(
                f"output '{self.name}' has a column '{time}' already; give the stamps "
                "another name: points(time=...)"
            )
        return table.rename_columns([*names[:place], time, *names[place + 1 :]])

    def to_polars(self) -> "polars.DataFrame":
        """The snapshots as a Polars frame."""
        try:
            import polars  # noqa: PLC0415 - optional
        except ImportError as error:
            raise TiltError("to_polars() needs Polars: pip install polars") from error
        frame = offload(partial(polars.from_arrow, self.to_arrow()))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """The snapshots as a pandas frame."""
        try:
            import pandas  # noqa: F401, PLC0415 - optional
        except ImportError as error:
            raise TiltError("to_pandas() needs pandas: pip install pandas") from error
        return offload(self.to_arrow().to_pandas)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        inputs: "Result | None" = None,
        keys: Sequence[object] | None = None,
        title: str | None = None,
        interactive: bool = False,
    ) -> Any:
        """A picture of the output; see `Result.plot`."""
        alone = Result([self])
        return alone.plot(
            path, inputs=inputs, keys=keys, title=title, interactive=interactive
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name}: {field.type}" for field in self.schema)
        said = f"<output '{self.name}': {self.num_rows:,} snapshots ({fields})>"
        return visible(said)

    def _repr_html_(self) -> str:
        title = f"{self.name}: {self.num_rows:,} snapshots"
        return html_table(self.to_arrow(), title)


def _parts(
    texts: Sequence[tuple[Strings, pa.Array]], rows: int, most: int
) -> Iterator[slice]:
    """The rows of a piece in stretches whose text fits into one array."""
    for first in range(0, rows, max(1, most)):
        yield from fitting(texts, min(most, rows - first), first)


class UnknownOutputError(TiltError, KeyError):
    """There is no output of that name; a `KeyError` for those who expect one."""

    __str__ = TiltError.__str__  # KeyError would show the message quoted


class Result:
    """The outputs of a run by name; a single one's table stands for the whole.

    It reads like a mapping but is no `Mapping`: Polars would take one for a frame's
    columns before it looks for an Arrow stream.
    """

    def __init__(self, outputs: Sequence[OutputTable]) -> None:
        self._outputs = {output.name: output for output in outputs}

    def __getitem__(self, name: str) -> OutputTable:
        if isinstance(name, str) and name in self._outputs:
            return self._outputs[name]
        near = closest(str(name), self._outputs)
        hint = f"; did you mean '{near}'?" if near else ""
        raise UnknownOutputError(
            f"there is no output '{name}' among {self._names()}{hint}"
        )

    def __contains__(self, name: object) -> bool:
        return name in self._outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def keys(self) -> KeysView[str]:
        """The names of the outputs, in order."""
        return self._outputs.keys()

    def values(self) -> ValuesView[OutputTable]:
        """The outputs, in order."""
        return self._outputs.values()

    def items(self) -> ItemsView[str, OutputTable]:
        """The outputs with their names, in order."""
        return self._outputs.items()

    def _names(self) -> str:
        return ", ".join(f"'{name}'" for name in self._outputs) or "none"

    def only(self) -> OutputTable:
        """The single output; an error where there are several."""
        if len(self._outputs) != 1:
            raise TiltError(
                f"the outputs are {self._names()}; choose one of them: result[name]"
            )
        return next(iter(self._outputs.values()))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the single output."""
        return self.only().schema

    @property
    def num_rows(self) -> int:
        """How many snapshots the single output has."""
        return self.only().num_rows

    def to_arrow(self) -> pa.Table:
        """The single output as a pyarrow table."""
        return self.only().to_arrow()

    def points(self, time: str = "time") -> pa.Table:
        """The single output as rows stamped with each snapshot's end."""
        return self.only().points(time)

    def to_polars(self) -> "polars.DataFrame":
        """The single output as a Polars frame."""
        return self.only().to_polars()

    def to_pandas(self) -> "pandas.DataFrame":
        """The single output as a pandas frame."""
        return self.only().to_pandas()

    def plot(
        self,
        path: str | Path | None = None,
        *,
        inputs: "Result | None" = None,
        keys: Sequence[object] | None = None,
        title: str | None = None,
        interactive: bool = False,
    ) -> Any:
        """A picture: a panel for each output, or field of one, over one time axis.

        Values are steps over the time that they hold for; what lasts a single tick and
        touches nothing is a marker; φ, NaN and infinities are gaps. Of a long output
        the extremes of each column of pixels are drawn, and the picture says so. An
        output by key has a line for each, 10 at most; `keys` chooses them, by values of
        the key column, or tuples of several.

        Gives a `matplotlib.figure.Figure`, or a layout of Bokeh if `interactive` or if
        `path` ends in .html. With a `path` (.png, .svg, .html) it is written there,
        too, whole or not at all. `inputs`, made by `CompiledQuery.inputs`, are drawn
        above. Needs the extra `plot`: `pip install 'tiltpy[plot]'`.
        """
        form: Form = "html" if interactive else "png"
        if path is not None:
            path = path_of("path", path)
            form = form_of(path)
            if interactive and form != "html":
                raise TiltError(f"{path}: interactive pictures are .html")
        if inputs is not None:
            checked("inputs", inputs, Result, "what query.inputs(...) gives")
        if keys is not None:
            checked("keys", keys, Sequence, "a list of keys")
        if title is not None:
            text_of("title", title)
        shown = [] if inputs is None else [(one, True) for one in inputs.values()]
        shown += [(one, False) for one in self.values()]
        stamps = {one.stamp for one, _ in shown}
        if len(stamps) != 1:
            raise TiltError(
                "the times of outputs and inputs are of different kinds: "
                + " and ".join(sorted(str(stamp.type) for stamp in stamps))
            )
        choice = Choice(keys)
        series = offload(
            lambda: [
                column
                for one, is_input in shown
                for column in one.pictured(choice, is_input=is_input)
            ]
        )
        choice.check()
        figure = draw(series, clock_of(stamps.pop()), form, title)
        if path is not None:
            write(figure, path)
        return figure

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.only().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return "".join(output._repr_html_() for output in self.values())

    def __repr__(self) -> str:
        return "\n".join(repr(output) for output in self._outputs.values())
