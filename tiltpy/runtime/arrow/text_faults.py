"""Faults of text files, and their lines: what is wrong where Arrow reads no table.

The text is read again, line by line, by Python's `csv` and `json`: lines and columns
are those of an editor, from 1.
"""

import csv
import json
import math
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from tiltpy.messages import quantity
from tiltpy.runtime.arrow.delimited_rows import row_pattern, value_pattern
from tiltpy.runtime.arrow.formats import FORMATS, TextStyle, detect_format
from tiltpy.runtime.arrow.guess_text_style import guess_text_style, style_options
from tiltpy.runtime.arrow.sources import TableSource

_HEAD = 64
"""Bytes that tell what a file is that is no text."""
_SHOWN = 40
"""The most characters of a value in a message."""
DATE_FORMATS = (
    "%d.%m.%Y %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%d/%m/%Y", "%m/%d/%Y",
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d-%m-%Y %H:%M:%S",
    "%d-%m-%Y", "%d-%b-%Y %H:%M:%S", "%d-%b-%Y", "%d %b %Y %H:%M:%S", "%d %b %Y",
    "%b %d %Y %H:%M:%S", "%b %d %Y", "%b %d, %Y", "%d/%b/%Y:%H:%M:%S %z",
    "%Y%m%d %H:%M:%S", "%Y%m%d",
)  # fmt: skip
"""Formats of dates that a hint may name."""

Record = tuple[int, str, list[str]]
"""The first line of a row, its text, and its values."""


def find_fault(source: TableSource) -> str | None:
    """Find what is wrong with a text file that Arrow cannot read; None if unknown."""
    try:
        if source.format.is_delimited:
            return _ragged_row(source)
        return _broken_json(source)
    except UnicodeDecodeError:
        return wrong_encoding(source)
    except (OSError, csv.Error, pa.ArrowException):
        return None


def other_format_fault(source: TableSource) -> str | None:
    """Tell that the bytes are no text, but a file of another format."""
    try:
        with source.open() as file:
            form = detect_format(file.read(_HEAD))
    except OSError:
        return None
    if form.is_text:
        return None
    suffix = next(suffix for suffix, name in FORMATS.items() if name == form.name)
    return f"{source.name}: its format is {form.name}; call it {suffix}"


def one_column_fault(source: TableSource, names: Sequence[str]) -> str | None:
    """Tell that a file has a single column, since something else separates values."""
    if not source.format.is_delimited or len(names) != 1:
        return None
    style = guess_text_style(source)
    if style is None:
        return None
    return (
        f"{source.name}:1: found one column, {_quote(names[0])}; {_advise_style(style)}"
    )


def open_quote_fault(source: TableSource, table: pa.Table) -> str | None:
    """Tell that a quote has no end, so that all rows behind it are one value.

    That is one of the last row of the table, with their newlines.
    """
    if not source.format.is_delimited or not _ends_with_lines(table):
        return None
    line, text = 1, ""
    try:
        for line, text, _ in _records(source):  # noqa: B007 - the last one
            pass
    except csv.Error:  # a value that is too long
        line, text = line + text.count("\n"), '"'
    except UnicodeDecodeError:
        return None
    row = row_pattern(source.style.delimiter_of(source.format))
    if re.fullmatch(row, text.rstrip("\r\n")):
        return None
    return (
        f"{source.name}:{line}: a quote has no end, and all that follows is one value; "
        "close it, or write a quote that is part of a value twice, in quotes"
    )


def _ends_with_lines(table: pa.Table) -> bool:
    """Tell whether a value of the last row has several lines."""
    last = table.slice(max(0, table.num_rows - 1))
    return any(
        "\n" in (text or "")
        for column in last.columns
        if column.type == pa.string()
        for text in column.to_pylist()
    )


def place_of_value(source: TableSource, row: int, column: str) -> str:
    """Find a value of a row, counted from 0: `file:line:column`."""
    if source.format.is_delimited:
        records = _records(source)
        _, _, names = next(records)
        line, text, _ = next(islice(records, row, None))
        line, place = _field_place(source, line, text, names.index(column))
    else:
        line, text = next(islice(_lines(source), row, None))
        found = re.search(rf"{re.escape(json.dumps(column))}\s*:\s*", text)
        place = found.end() if found else 0
    return f"{source.name}:{line}:{place + 1}"


def wrong_encoding(source: TableSource) -> str | None:
    """Find the first byte that is no text in UTF-8; None if all are."""
    for number, line in enumerate(source.lines(), source.lines_before + 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            return (
                f"{source.name}:{number}:{error.start + 1}: the byte "
                f"0x{line[error.start]:02x} is no text in UTF-8; convert the file "
                "first, as in iconv -f latin1 -t utf-8"
            )
    return None


def first_failure(
    values: pa.ChunkedArray, convert: Callable[[pa.ChunkedArray], object]
) -> int | None:
    """Find the first value that does not convert, by bisection; None if all do."""
    low, high = 0, len(values)
    if _converts(values, convert):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _converts(values.slice(low, middle - low), convert):
            low = middle
        else:
            high = middle
    return low


def hint_date_format(
    texts: pa.ChunkedArray, parse: Callable[[pa.ChunkedArray, str], object]
) -> str | None:
    """Hint at the format of `strptime` in which texts are dates, if they are.

    Where the day and the month could be each other, the hint has both formats.
    """
    few = texts.drop_null()[:1000]
    if not len(few):
        return None
    fitting = [
        form
        for form in DATE_FORMATS
        if _converts(few, lambda values: parse(values, form))  # noqa: B023
    ]
    if not fitting:
        return None
    form, other = fitting[0], fitting[0].replace("%d/%m", "%m/%d")
    hint = f"add --date-format '{form}'"
    if other != form and other in fitting:
        return f"{hint}, or '{other}' if the month comes first"
    return hint


def _converts(
    values: pa.ChunkedArray, convert: Callable[[pa.ChunkedArray], object]
) -> bool:
    try:
        convert(values)
    except pa.ArrowInvalid:
        return False
    return True


def _quote(text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"'{shown}'"


def _advise_style(style: TextStyle) -> str:
    sign = r"\t" if style.delimiter == "\t" else style.delimiter
    options = [(f"--{name}", text) for name, text in style_options(style).items()]
    words = shlex.join(chain.from_iterable(options))
    return f"if '{sign}' separates its values, add {words}"


def _lines(source: TableSource) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    for number, line in enumerate(source.lines(), source.lines_before + 1):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        if text.strip():
            yield number, text


def _records(source: TableSource) -> Iterator[Record]:
    """Yield the rows of delimited text, the header first."""
    kept: list[str] = []

    def lines() -> Iterator[str]:
        for number, line in enumerate(source.lines()):
            text = line.decode("utf-8" if number else "utf-8-sig")
            kept.append(text)
            yield text

    reader = csv.reader(lines(), delimiter=source.style.delimiter_of(source.format))
    for values in reader:
        text = "".join(kept)
        kept.clear()
        if values:
            line = reader.line_num - text.rstrip("\n").count("\n")
            yield source.lines_before + line, text, values


def _field_place(
    source: TableSource, line: int, text: str, index: int
) -> tuple[int, int]:
    """Find the line and the place in it of a value of a row, counted from 0.

    A quote that stays open is a value as far as the row goes.
    """
    sign = source.style.delimiter_of(source.format)
    value = rf'(?:{value_pattern(sign)}|"[^"]*)'
    fields = re.finditer(rf"{value}(?:{re.escape(sign)}|$)", text)
    start = next(islice(fields, index, None)).start()
    before = text[:start]
    return line + before.count("\n"), start - (before.rfind("\n") + 1)


def _ragged_row(source: TableSource) -> str | None:
    records = _records(source)
    header = next(records, None)
    if header is None:
        return f"{source.name}: is empty; the first line must name the columns"
    names = header[2]
    for line, _, values in records:
        if len(values) == len(names):
            continue
        fault = (
            f"{source.name}:{line}: found {quantity(len(values), 'value')}, expected "
            f"{len(names)}, one for each column of the header"
        )
        if len(names) == 1 and (style := guess_text_style(source)) is not None:
            return f"{fault}; {_advise_style(style)}"
        if len(names) == 1:
            return f"{fault}; the first line must name the columns"
        return f"{fault}; values with a delimiter in them stand in double quotes"
    return None


def _broken_json(source: TableSource) -> str | None:
    kinds: dict[str, str] = {}
    for line, text in _lines(source):
        try:
            found = json.loads(
                text, object_pairs_hook=_make_object, parse_float=_parse_float
            )
        except json.JSONDecodeError as error:
            place = f"{source.name}:{line}:{error.colno}"
            reason = error.msg[:1].lower() + error.msg[1:]
            many = text.lstrip().startswith("[") or text.strip() == "{"
            return f"{place}: no JSON: {reason}" + (_ONE_A_LINE if many else "")
        except _ValueError as fault:
            return f"{source.name}:{line}: {fault}"
        if not isinstance(found, dict):
            kind = "an array" if isinstance(found, list) else "a value"
            return f"{source.name}:{line}:1: found {kind}{_ONE_A_LINE}"
        for name, value in found.items():
            kind = _json_kind(value)
            before = kinds.setdefault(name, kind) if kind else kind
            if before != kind:
                shown = _quote(json.dumps(value))
                return (
                    f"{source.name}:{line}: column '{name}': found {shown}, "
                    f"{kind}, where the lines before have {before}"
                )
    return None if kinds else f"{source.name}: is empty; it needs one object a line"


class _ValueError(ValueError):
    """JSON that Python reads, and Arrow does not."""


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _ValueError(f"'{name}' is there twice; leave one of them out")
        found[name] = value
    return found


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _ValueError(f"found {_quote(text)}, which no f64 holds; write null for φ")
    return number


_ONE_A_LINE = (
    "; expected one object a line, like {\"time\": 1, \"x\": 2.5}; "
    "`jq -c '.[]'` makes such lines of an array"
)  # fmt: skip


def _json_kind(value: Any) -> str:
    """Name the kind of a JSON value; nothing for null."""
    match value:
        case None:
            return ""
        case bool():
            return "a bool"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
