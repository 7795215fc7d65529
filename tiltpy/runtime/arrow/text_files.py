"""Tables in text: CSV, TSV and JSON lines, read by Arrow."""

import re
from dataclasses import replace

import pyarrow as pa

from tiltpy import arrow_functions as functions
from tiltpy.errors import DataError
from tiltpy.runtime.arrow.sources import TableSource
from tiltpy.runtime.arrow.text_faults import (
    find_fault,
    one_column_fault,
    open_quote_fault,
    other_format_fault,
)

_FRACTION = r"^(?P<before>.*\D\d{2})[.,](?P<fraction>\d{1,9})(?P<after>\D.*)?$"
"""A time of day whose seconds have a fraction."""

_BLANKS = b" \t\r\xef\xbb\xbf"
_NULL_LINE = re.compile(rb"\n[ \t\r\xef\xbb\xbf]*null")
_SCANNED = 1 << 20
"""Bytes that are searched for such a line at once."""

LONG_BLOCK = 1 << 26
"""Bytes that a row may have, if Arrow does not read it in blocks of 1 MB."""

ZONE = r"\d:\d.*(Z|[+-]\d\d(:?\d\d)?)$"
"""A time of day with a zone, or an offset from UTC."""


def read_text(source: TableSource) -> pa.Table:
    """Read a text file, whose values tell the types of its columns.

    Raises `DataError` with a line where it is no table, else what Arrow raises.
    """
    try:
        if not source.format.is_delimited:
            _refuse_null_lines(source)
        table = _read(source, {})
        # Names that are no text raise here, where the file is known.
        table = table.rename_columns(table.column_names)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        fault = other_format_fault(source) or find_fault(source)
        if fault is None:
            raise
        raise DataError(fault) from error
    fault = (
        (None if table.num_columns else find_fault(source))
        or one_column_fault(source, table.column_names)
        or open_quote_fault(source, table)
    )
    if fault is not None:
        raise DataError(fault)
    return table


def read_as_text(source: TableSource, names: list[str]) -> pa.Table:
    """Read columns as the texts that they are written as; empty ones are null."""
    return _read(source, dict.fromkeys(names, pa.string())).select(names)


def read_as(source: TableSource, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Read a column as a type; `pa.ArrowInvalid` if a value is none of it."""
    return _read(source, {name: kind}).column(name)


def _read(source: TableSource, types: dict[str, pa.DataType]) -> pa.Table:
    """Read a text; where that fails, with values that may have newlines, in long rows.

    Threads could not share the rows of all files then. Arrow wants a newline behind a
    header without rows.
    """
    try:
        return _read_rows(source, types, long=False)
    except pa.ArrowInvalid as error:
        try:
            return _read_rows(_with_newline(source), types, long=True)
        except pa.ArrowInvalid:
            raise error from None


def _with_newline(source: TableSource) -> TableSource:
    """End short delimited text with a newline."""
    if not source.format.is_delimited:
        return source
    with source.open() as file:
        text = file.read(_SCANNED)
    if len(text) == _SCANNED or text.endswith(b"\n"):
        return source
    form = replace(source.format, compression=None)
    return replace(source, format=form, content=pa.py_buffer(text + b"\n"))


def _read_rows(
    source: TableSource, types: dict[str, pa.DataType], *, long: bool
) -> pa.Table:
    with source.open() as file:
        if source.format.is_delimited:
            return _read_delimited(source, file, types, long=long)
        return _read_json_lines(file, types, long=long)


def _read_delimited(
    source: TableSource,
    file: pa.NativeFile,
    types: dict[str, pa.DataType],
    *,
    long: bool,
) -> pa.Table:
    import pyarrow.csv as pc  # noqa: PLC0415 - late

    style = source.style
    parse = pc.ParseOptions(
        delimiter=style.delimiter_of(source.format), newlines_in_values=long
    )
    convert = pc.ConvertOptions(decimal_point=style.decimal)
    if types:
        convert = pc.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
    read = pc.ReadOptions(block_size=LONG_BLOCK) if long else None
    return pc.read_csv(file, read, parse, convert)


def _read_json_lines(
    file: pa.NativeFile, types: dict[str, pa.DataType], *, long: bool
) -> pa.Table:
    import pyarrow.json as pj  # noqa: PLC0415 - late

    read = pj.ReadOptions(block_size=LONG_BLOCK) if long else None
    parse = None
    if types:
        parse = pj.ParseOptions(explicit_schema=pa.schema(list(types.items())))
    return pj.read_json(file, read, parse)


def _refuse_null_lines(source: TableSource) -> None:
    """Refuse JSON lines of which one is null, as those of `jq` may be.

    Arrow's reader takes some for rows, and ends the process at others.
    """
    with source.open() as file:
        start = b"\n"
        while block := file.read(_SCANNED):
            text = start + block
            if _NULL_LINE.search(text):
                raise pa.ArrowInvalid("a line is null")
            line = text[text.rfind(b"\n") + 1 :] if b"\n" in text else b"-"
            begun = line.lstrip(_BLANKS)[:4]
            start = b"\n" + begun if b"null".startswith(begun) else b""


def parse_times(texts: pa.ChunkedArray, date_format: str | None) -> pa.ChunkedArray:
    """Parse times in a format of `strptime`, or in ISO 8601 without one.

    They are timestamps in seconds if all have whole ones, in microseconds if these have
    all digits, else in nanoseconds, which end in 2262; in UTC if they have a zone.
    Raises `pa.ArrowInvalid` if one is no such time.
    """
    if date_format is not None:
        return _parse_dates(texts, date_format)
    zoned = functions.match_substring_regex(texts, ZONE)
    zone = "UTC" if functions.any(zoned).as_py() else None
    unit = "s"
    for finer, digits in (("us", 1), ("ns", 7)):
        fraction = rf":\d\d[.,]\d{{{digits}}}"
        if functions.any(functions.match_substring_regex(texts, fraction)).as_py():
            unit = finer
    return texts.cast(pa.timestamp(unit, zone))


def _parse_dates(texts: pa.ChunkedArray, date_format: str) -> pa.ChunkedArray:
    before, fraction, after = date_format.partition("%f")
    if not fraction:
        return functions.strptime(texts, format=date_format, unit="s")
    # Arrow's `strptime` has no %f.
    parts = functions.extract_regex(texts, pattern=_FRACTION)
    whole = functions.binary_join_element_wise(
        functions.struct_field(parts, "before"),
        functions.struct_field(parts, "after"),
        "",
    )
    seconds = functions.strptime(
        functions.coalesce(whole, texts), format=before.rstrip(".,") + after, unit="s"
    )
    digits = functions.struct_field(parts, "fraction")
    longest = functions.max(functions.utf8_length(digits)).as_py() or 0
    unit, width = ("us", 6) if longest <= 6 else ("ns", 9)
    padded = functions.utf8_rpad(
        functions.coalesce(digits, "0"), width=width, padding="0"
    )
    passed = padded.cast(pa.int64()).cast(pa.duration(unit))
    zone = seconds.type.tz
    return functions.add_checked(seconds.cast(pa.timestamp(unit, zone)), passed)
