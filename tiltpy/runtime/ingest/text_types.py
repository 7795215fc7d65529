"""Types of columns read from text, as their input declares them.

A reader of CSV or JSON guesses types from the values: prices that happen to be whole
numbers are integers to it. Here the columns of an input get the types that it declares,
and a value that has none is an error with its line and column in the file. A column
that is declared a string is read again as text, `007` too, and so are keys of which a
type that was guessed would make one of two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from tiltpy import arrow_functions as functions
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.messages import article
from tiltpy.runtime.arrays.views import arrow_type
from tiltpy.runtime.arrow.duration_texts import parse_durations
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.sources import TableSource
from tiltpy.runtime.arrow.text_faults import (
    first_failure,
    hint_date_format,
    place_of_value,
    wrong_encoding,
)
from tiltpy.runtime.arrow.text_files import (
    ZONE,
    parse_times,
    read_as,
    read_as_text,
)
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.types import (
    NANOSECONDS,
    STRING,
    Scalar,
    Unit,
    columns,
    format_duration,
)


def cast_as_declared(
    table: pa.Table,
    declared: Input,
    binding: InputBinding,
    source: TableSource,
    unit: Unit | None = None,
) -> pa.Table:
    """Cast the columns of an input in a table to the input's types.

    `binding` says which columns are those of `declared`; `source` is what the table was
    read from. Stamps get the `unit` of the query's tick. Raises `DataError` with the
    place of the first value that has not the type.
    """
    text = _Columns(table, declared.name, source)
    choice = _choose(text, complete_input(declared, binding), binding.column)
    for name in choice.columns:
        text.check_encoding(name)
    for name in choice.times:
        text.make_times(name)
        text.cast_stamps(name, unit)
    for (name, *inner), (_, scalar) in zip(
        choice.payload, columns(declared.type), strict=True
    ):
        if inner:
            continue
        if scalar.kind == "duration" and unit is not None:
            text.make_durations(name, unit)
        else:
            text.make_values(name, scalar)
    known = {*choice.times, *(path[0] for path in choice.payload)}
    for name in choice.keys:
        if name not in known:
            text.make_keys(name)
    return text.table


def are_written_so(values: pa.ChunkedArray, texts: pa.ChunkedArray) -> bool:
    """Tell whether values are written as the texts that they are of.

    Then no two texts have one value: 7 is also 007 and +7, 1.1 is 1.10, and null is NA.
    """
    same = functions.fill_null(functions.equal(values.cast(pa.string()), texts), False)
    differs = functions.and_(texts.is_valid(), functions.invert(same))
    return not functions.any(differs).as_py()


def parse_dates(table: pa.Table, source: TableSource, name: str) -> pa.Table:
    """Parse the columns of a table that are written in the source's format of dates.

    `name` is what errors call the table.
    """
    text = _Columns(table, name, source)
    for field, was in zip(text.schema_with_dates(), table.schema, strict=True):
        if field.type != was.type:
            text.make_times(field.name)
    return text.table


def hint_dates(table: pa.Table, source: TableSource) -> str | None:
    """Hint at the format of a column of dates that are not in ISO 8601."""
    return _Columns(table, "", source).hint_dates()


def _choose(text: "_Columns", declared: Input, column: str | None) -> Choice:
    """Choose the columns; texts in the format of dates are candidates for times."""
    try:
        return choose_columns(declared, column, text.schema_with_dates())
    except DataError as error:
        hint = text.hint_dates()
        if hint is None:
            raise
        raise DataError(f"{error}; {hint}") from error


@dataclass(slots=True)
class _Columns:
    """The table of an input, whose columns get their types one by one."""

    table: pa.Table
    input: str
    source: TableSource

    def schema_with_dates(self) -> pa.Schema:
        """Make the schema, in which texts like dates in the given format are times."""
        schema, form = self.table.schema, self.source.style.date_format
        if form is None:
            return schema
        for index, field in enumerate(schema):
            first = self.table.column(index).drop_null()[:1]
            if field.type == pa.string() and _are_times(first, form):
                schema = schema.set(index, field.with_type(pa.timestamp("s")))
        return schema

    def hint_dates(self) -> str | None:
        """Hint at `--date-format`, where a column is of dates that are not ISO 8601."""
        for field in self.table.schema:
            if field.type == pa.string():
                texts = self.table.column(field.name)
                hint = hint_date_format(texts, parse_times)
                if hint is not None:
                    return f"if '{field.name}' is, {hint}"
        return None

    @property
    def _is_json(self) -> bool:
        return not self.source.format.is_delimited

    def check_encoding(self, name: str) -> None:
        """Refuse a column of bytes that are no text."""
        column = self.table.column(name)
        try:
            column.validate(full=True)
            if not pa.types.is_binary(column.type):
                return
        except pa.ArrowInvalid:
            pass
        fault = wrong_encoding(self.source)
        if fault is not None:
            raise DataError(fault, input=self.input, column=name)

    def make_times(self, name: str) -> None:
        """Parse a column of times, but for what is of times or ticks already."""
        kind = self.table.schema.field(name).type
        form = self.source.style.date_format
        json_stamp = self._is_json and kind == "timestamp[s]"
        if kind != pa.string() and not json_stamp and form is None:
            return
        texts = self._texts(name)
        wanted = "a time like 2024-03-01 09:30:00" if form is None else f"'{form}'"
        parse = partial(parse_times, date_format=form)
        way_out = "mend it, or drop the row"
        if form is None and _mix_zones(texts):
            wanted = "all times with a zone or an offset, like Z or +01:00, or none"
            way_out = "write all in the same way"
        self._convert(name, texts, parse, wanted, way_out)

    def cast_stamps(self, name: str, unit: Unit | None) -> None:
        """Cast stamps, which have no unit in a text, to that of the query's tick.

        Stamps that are no whole ticks stay as they are, and are refused with their row.
        """
        column = self.table.column(name)
        kind = column.type
        if unit is None or not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            return
        zone = getattr(kind, "tz", None)
        cast = _cast(pa.timestamp(unit if unit in STAMP_UNITS else "s", zone))
        if unit == "d" and zone is None:
            cast = _to_days
        if first_failure(column, cast) is None:
            self._set(name, cast(column))

    def make_values(self, name: str, scalar: Scalar) -> None:
        """Cast a payload column to the type of its input."""
        kind, wanted = self.table.schema.field(name).type, arrow_type(scalar)
        if scalar == STRING:
            self._set(name, self._texts(name))
        elif scalar.kind == "time" and not pa.types.is_integer(kind):
            self.make_times(name)
        elif kind != wanted and not (pa.types.is_nested(kind) or scalar.is_temporal):
            column, exact = self.table.column(name), None
            if scalar.is_integer and kind == pa.float64() and self._is_json:
                exact = self._read_exactly(name, wanted)
            if exact is not None:
                self._set(name, exact)
            elif scalar.is_number and first_failure(column, _cast(wanted)) is None:
                self._set(name, column.cast(wanted))
            else:
                self._parse_values(name, scalar, wanted)

    def make_durations(self, name: str, unit: Unit) -> None:
        """Parse durations like 1h30m; numbers are ticks."""
        if self.table.schema.field(name).type == pa.string():
            parse = partial(parse_durations, unit=unit)
            wanted = f"a duration of whole ticks, {format_duration(NANOSECONDS[unit])}"
            way_out = "mend it, like 1h30m, or leave it empty for φ"
            self._convert(name, self._texts(name), parse, wanted, way_out)

    def make_keys(self, name: str) -> None:
        """Leave keys the type that the reader has guessed, if it keeps them apart."""
        column = self.table.column(name)
        kind = column.type
        if self._is_json and not pa.types.is_temporal(kind):
            if kind == pa.float64() and _exceed_floats(column):
                self._make_integer_keys(name)
        elif kind == pa.string():
            if functions.any(functions.equal(column, "")).as_py():
                self._set(name, self._texts(name))
        elif not are_written_so(column, texts := self._texts(name)):
            self._set(name, texts)

    def _make_integer_keys(self, name: str) -> None:
        """Read keys of JSON beyond 2^53 as the integers that they are, if they are."""
        exact = self._read_exactly(name, pa.uint64())
        if exact is None:
            exact = self._read_exactly(name, LARGE_INTEGERS)
            exact = None if exact is None else exact.cast(pa.string())
        if exact is not None:
            self._set(name, exact)

    def _read_exactly(self, name: str, kind: pa.DataType) -> pa.ChunkedArray | None:
        """Read numbers of JSON as a type; None if any of them is none."""
        try:
            return read_as(self.source, name, kind)
        except pa.ArrowInvalid:
            return None

    def _parse_values(self, name: str, scalar: Scalar, wanted: pa.DataType) -> None:
        """Parse the texts of numbers and bools."""
        texts = self._texts(name)
        if self.source.format.is_delimited:
            texts = functions.if_else(
                functions.is_in(texts, value_set=pa.array(NULLS)), None, texts
            )
        numbers, decimal = texts, self.source.style.decimal
        if decimal != "." and scalar.is_float:
            numbers = functions.replace_substring(texts, decimal, ".")
        way_out = "mend it, or leave it empty for φ"
        self._convert(name, numbers, _cast(wanted), article(scalar), way_out, texts)

    def _texts(self, name: str) -> pa.ChunkedArray:
        column = self.table.column(name)
        if column.type == pa.string() and self._is_json:
            return column
        try:
            return read_as_text(self.source, [name]).column(0)
        except pa.ArrowInvalid:  # numbers of JSON are no strings
            exact = None
            if column.type == pa.float64():
                exact = self._read_exactly(name, LARGE_INTEGERS)
            return (column if exact is None else exact).cast(pa.string())

    def _convert(
        self,
        name: str,
        values: pa.ChunkedArray,
        convert: Callable[[pa.ChunkedArray], pa.ChunkedArray],
        wanted: str,
        way_out: str,
        texts: pa.ChunkedArray | None = None,
    ) -> None:
        row = first_failure(values, convert)
        if row is None:
            self._set(name, convert(values))
            return
        found = str((values if texts is None else texts)[row])
        raise DataError(
            f"found '{found}' at {place_of_value(self.source, row, name)}, expected "
            f"{wanted}; {self._advise_option(values, found) or way_out}",
            input=self.input,
            column=name,
        )

    def _advise_option(self, values: pa.ChunkedArray, text: str) -> str | None:
        hint = hint_date_format(values, parse_times)
        if hint is not None and self.source.style.date_format is None:
            return hint
        if self.source.style.decimal == "." and "," in text:
            with_point = pa.chunked_array([[text.replace(",", ".")]])
            if first_failure(with_point, _cast(pa.float64())) is None:
                return "if it is a decimal comma, add --decimal ,"
        return None

    def _set(self, name: str, values: pa.ChunkedArray) -> None:
        index = self.table.schema.get_field_index(name)
        self.table = self.table.set_column(index, name, values)


def _exceed_floats(values: pa.ChunkedArray) -> bool:
    """Tell whether floats may stand for integers that they do not hold."""
    bounds = functions.min_max(values).as_py()
    return any(abs(each or 0) >= MOST_EXACT for each in bounds.values())


def _to_days(stamps: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast stamps to dates; Arrow's own cast would cut off the time of day."""
    days = stamps.cast(pa.date32())
    if not days.cast(stamps.type).equals(stamps):
        raise pa.ArrowInvalid("a time of day")
    return days


def _mix_zones(texts: pa.ChunkedArray) -> bool:
    """Tell whether times are in ISO 8601 each, some with a zone and some without."""
    zoned = functions.match_substring_regex(texts, ZONE)
    parts = (texts.filter(zoned), texts.filter(functions.invert(zoned)))
    parse = partial(parse_times, date_format=None)
    return all(len(part) and first_failure(part, parse) is None for part in parts)


def _cast(wanted: pa.DataType) -> Callable[[pa.ChunkedArray], pa.ChunkedArray]:
    return lambda values: values.cast(wanted)


LARGE_INTEGERS = pa.decimal128(38, 0)
"""Integers of JSON beyond 64 bits, which a reader takes for floats."""
MOST_EXACT = 2.0**53
"""The integer from which on floats do not hold all."""
STAMP_UNITS = "s", "ms", "us", "ns"
NULLS = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
         "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null")  # fmt: skip
"""What Arrow takes for null in CSV."""


def _are_times(texts: pa.ChunkedArray, form: str) -> bool:
    return (
        len(texts) > 0
        and first_failure(texts, partial(parse_times, date_format=form)) is None
    )
