"""Pictures of Arrow tables of snapshots."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tiltpy.errors import TiltError
from tiltpy.plot.series import Clock, KeyStyle, Series
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.views import bools_of, integers_of, values_of
from tiltpy.runtime.arrow.files import replace_files
from tiltpy.runtime.arrow.read_frame import combine_chunks
from tiltpy.runtime.arrow.timestamps import OutputStamp, stamp_type
from tiltpy.runtime.results.plot_keys import PlottedKey

Form = Literal["png", "svg", "html"]
FORMS: dict[str, Form] = {".png": "png", ".svg": "svg", ".html": "html"}
"""The form of a picture for each suffix of a file."""


def form_of(path: Path) -> Form:
    """Find the form that a path's suffix stands for; `TiltError` if none does."""
    form = FORMS.get(path.suffix.lower())
    if form is None:
        name = f"the suffix '{path.suffix}'" if path.suffix else "a name without suffix"
        known = ", ".join(FORMS)
        raise TiltError(f"{path}: {name} says no kind of picture; use {known}")
    return form


def clock_of(stamp: OutputStamp) -> Clock:
    """Make the clock of an output's times."""
    return _clock(stamp.type, stamp.factor)


def _clock(times: pa.DataType, tick: int = 1) -> Clock:
    kind = stamp_type(times)
    assert kind is not None, f"{times} holds no times"
    tz = None if kind.zone is None else pa.lib.string_to_tzinfo(kind.zone)
    return Clock(kind.unit, tick, kind.zone, tz)


def series_of(
    name: str,
    table: pa.Table,
    keys: tuple[str, ...] = (),
    drawn: Sequence[PlottedKey] = (),
    *,
    is_input: bool = False,
) -> list[tuple[Series, ...]]:
    """Make a series, or one for each key, of each payload column of an output.

    `name` is the output's. The columns of its `table` are its `keys`, the two times,
    and the payload. `drawn` are the keys to draw, and their rows.
    """
    first = len(keys)
    starts, ends = (
        _integers(combine_chunks(table.column(first + i))) for i in range(2)
    )
    series = []
    for index in range(first + 2, table.num_columns):
        field = table.schema.field(index).name
        label = f"~{name}" if field == name else f"~{name}.{field}"
        for leaf, column in _leaves(label, combine_chunks(table.column(index))):
            values, words = _numbers(column)
            valid = _valid(column) if column.null_count else None
            kind = column.type
            is_time = pt.is_timestamp(kind) or pt.is_date(kind)
            all_keys = Series(
                leaf,
                starts,
                ends,
                values,
                valid,
                words,
                kind.unit if pt.is_duration(kind) else None,
                _clock(kind) if is_time else None,
                is_input,
            )
            series.append(_split_by_key(all_keys, keys, drawn))
    return series


def _split_by_key(
    series: Series, keys: tuple[str, ...], drawn: Sequence[PlottedKey]
) -> tuple[Series, ...]:
    """Split a series by key; returns an empty one if no key is drawn."""
    if not keys:
        return (series,)
    by = ", ".join(keys)
    split = (replace(series.select_rows(key.rows), key=key.key, by=by) for key in drawn)
    return tuple(split) or (series.select_rows(slice(0, 0)),)


def _leaves(label: str, column: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield the leaves of a column, with their labels."""
    if not pt.is_struct(column.type):
        yield label, column
        return
    for field, values in zip(column.type, column.flatten(), strict=True):
        yield from _leaves(f"{label}.{field.name}", values)


def _numbers(column: pa.Array) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Convert values to numbers, and list the words that those stand for, if any."""
    kind = column.type
    if pt.is_boolean(kind):
        return bools_of(column), ("false", "true")
    if pt.is_floating(kind):
        return values_of(column, np.dtype(f"f{kind.bit_width // 8}")), None
    if pt.is_unsigned_integer(kind):
        return integers_of(column), None
    if pt.is_integer(kind) or pt.is_temporal(kind):
        return _integers(column), None
    return _rank_values(column)


def _rank_values(column: pa.Array) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Replace values by their ranks, and list the distinct ones in order."""
    encoded = column if pt.is_dictionary(column.type) else column.dictionary_encode()
    words = encoded.dictionary.cast(pa.string()).to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    rank = np.zeros(len(words) + 1, np.int32)  # one more, for codes of nulls
    rank[order] = np.arange(len(words))
    codes = _integers(encoded.indices.cast(pa.int32()))
    codes = (
        np.where(_valid(encoded), codes, len(words)) if encoded.null_count else codes
    )
    return rank[codes], tuple(words[index] for index in order)


def _valid(column: pa.Array) -> BoolArray:
    return bools_of(column.is_valid()).view(np.bool_)


def _integers(array: pa.Array) -> I64Array:
    """Convert integers, times or durations to 64 bits."""
    return integers_of(array).astype(np.int64, copy=False)


def require(form: Form) -> None:
    """Raise a `TiltError` if the library that draws a form is not installed."""
    try:
        if form == "html":
            from tiltpy.plot import page  # noqa: F401, PLC0415 - optional
        else:
            from tiltpy.plot import figure  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        package = (error.name or str(error)).partition(".")[0]
        raise TiltError(
            f"a picture needs {package}: pip install 'tiltpy[plot]'"
        ) from error


def draw(
    series: Sequence[Sequence[Series]],
    clock: Clock,
    form: Form,
    title: str | None,
    style: KeyStyle = "lines",
    notes: Sequence[str] = (),
) -> Any:
    """Draw the figure: of matplotlib, or of Bokeh for `html`.

    `series` has a tuple for each column, of its keys; `clock` says what their times
    count, `style` how keys are drawn. `notes` stand below the title.
    """
    require(form)
    from tiltpy.plot.panels import lay_panels  # noqa: PLC0415 - optional

    rows, axis = lay_panels(series, clock, style)
    if form == "html":
        from tiltpy.plot.page import draw_page  # noqa: PLC0415 - optional

        return draw_page(rows, axis, title, notes)
    from tiltpy.plot.figure import draw_figure  # noqa: PLC0415 - optional

    return draw_figure(rows, axis, title, notes)


def write(figure: Any, path: Path) -> None:
    """Write a figure that `draw` gave to a file, whole or not at all."""
    form = form_of(path)
    with replace_files(path) as (draft,):
        if form == "html":
            from tiltpy.plot.page import save_page  # noqa: PLC0415 - optional

            save_page(figure, draft)
        else:
            from tiltpy.plot.figure import save_figure  # noqa: PLC0415 - optional

            save_figure(figure, draft, form)
