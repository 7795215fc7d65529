"""`tilt new`: a commented query for the columns of a file, to start from."""

import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import tiltpy as tilt
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import is_dataset, known_format
from tiltpy.cli.console import note
from tiltpy.cli.run_options import check_output_path
from tiltpy.cli.text_options import PIPE, TextOptions, add_text_options, is_pipe
from tiltpy.frontend.surface.names import RESERVED, fresh_name
from tiltpy.runtime.arrow.files import replace_files
from tiltpy.text_columns import align_columns
from tiltpy.visible import escape_text

if TYPE_CHECKING:
    from tiltpy.runtime.arrow.sources import TableSource
    from tiltpy.runtime.ingest.describe_table import TableDescription

_LIFETIMES = (
    "# `point`: a row is there at its own time alone. A price or a state holds on:",
    "# write `until_next`; something that lasts is `duration 5m`.",
)
_NUMBERS = (
    "# The times of the file are numbers, of ticks. If they are milliseconds, write",
    "# `unit ms` here; lengths may then be written like 10s.",
)
_OUTPUTS = ("rows", "average")
ROWS = 10_000
"""Rows that are looked at."""


def add_new_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt new`."""
    parser.add_argument("file", metavar="FILE", help="the file that the query reads")
    parser.add_argument(
        "--output",
        metavar="QUERY",
        help="the .tilt file to write; by default the screen",
    )
    parser.add_argument("--time", metavar="COLUMN", help="the column of the timestamps")
    parser.add_argument("--by", metavar="COLUMN", help="the column of the keys")
    add_text_options(parser)


def new(args: Namespace) -> int:
    """Write a query that runs over the file as it is."""
    path = Path(args.file)
    output = None if args.output == str(PIPE) else args.output
    name = _identifier(path.name.partition(".")[0])
    data = _describe(path, name, args)
    command = _command(path, name, output, args)
    query = "\n".join(_query(data, name, path, command)) + "\n"
    from tiltpy.frontend.text.format import format_source  # noqa: PLC0415 - late

    query = format_source(query, name=output or "<new>")
    tilt.parse(query)
    if output is None:
        print(query, end="")
        return 0
    target = Path(output)
    if target.exists():
        raise ArgumentsError(f"--output {output}: is there already; name another file")
    check_output_path(target)
    with replace_files(target) as (draft,):
        draft.write_text(query, "utf-8")
    note(f"wrote {output}; run it: {command}")
    return 0


def _describe(path: Path, name: str, args: Namespace) -> "TableDescription":
    if is_pipe(path):
        raise ArgumentsError(f"{path}: is not a file; name one, whose rows stay")
    if is_dataset(path):
        return _describe_rows(tilt.scan_parquet(path), path, args)
    if not path.is_file():
        raise ArgumentsError(f"{path}: there is no such file")
    options = TextOptions([name], args)
    if options.format(name) is None:
        known_format(path)
    source = options.source(name, path)
    from tiltpy.runtime.arrow.guess_text_style import (  # noqa: PLC0415 - late
        guess_text_style,
        style_options,
    )

    style = None if args.delimiter or args.decimal else guess_text_style(source)
    if style is not None:
        source = replace(source, style=style)
        for option, text in style_options(style).items():
            setattr(args, option, [text])
    return _describe_rows(source, path, args)


def _describe_rows(
    source: "TableSource | tilt.ParquetScan", path: Path, args: Namespace
) -> "TableDescription":
    from tiltpy.runtime.ingest.describe_table import (  # noqa: PLC0415 - late
        describe_table,
        first_rows,
    )

    table = first_rows(source, ROWS)
    return describe_table(table, str(path), args.time, args.by)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text) or "rows"
    taken = name in (*RESERVED, *_OUTPUTS, "g")
    return f"{'' if name[0].isalpha() else 'x'}{name}{'_data' if taken else ''}"


def _word(name: str) -> str:
    """Write a column's name: quoted, if it is no word."""
    if re.fullmatch(r"[^\W\d]\w*", name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _command(path: Path, name: str, output: str | None, args: Namespace) -> str:
    """Write the command that runs the query, with the options that read the file."""
    words = ["tilt", "run", output or f"{name}.tilt", "--input", f"{name}={path}"]
    for option in ("input_format", "delimiter", "decimal", "date_format"):
        for text in getattr(args, option):
            words += ["--" + option.replace("_", "-"), text]
    return shlex.join(words)


def _query(
    data: "TableDescription", name: str, path: Path, command: str
) -> Iterator[str]:
    step = data.step
    yield f"# A query over {escape_text(str(path))}. Run it:"
    yield f"#     {escape_text(command)}"
    yield "#"
    yield "# The columns, the first row, and what the file says of their types:"
    yield from (f"#     {line}" for line in _align(data.columns))
    yield ""
    if data.unit is not None:
        yield f"unit {data.unit}  # the tick: all times are whole numbers of it"
        yield ""
    else:
        yield from _NUMBERS
        yield ""
    yield from _LIFETIMES
    by = f" by {_word(data.key)}" if data.key else ""
    if data.key:
        yield f"# `by {_word(data.key)}`: a result for each, from its own rows."
    payload = ", ".join(f"{_word(each)}: {kind}" for each, kind in data.fields.items())
    time = "" if data.time is None else f" time {_word(data.time)}"
    yield f"input {name}{by} : {{ {payload} }}{time} point"
    yield ""
    yield f"# The times at which there is a result: every {step}."
    yield f"g = TDom(-∞, ∞, {step})"
    yield ""
    rows, average = (fresh_name(each, {data.key or ""}) for each in _OUTPUTS)
    numbers = [n for n, kind in data.fields.items() if kind[0] in "iuf"]
    yield f"# `[g-{step} : g]` is the window after `g - {step}`, up to `g`."
    yield f"~{rows}[g] = count(~{name}[g - {step} : g])"
    if numbers:
        field = _word(numbers[0])
        yield f"~{average}[g] = mean(x.{field} for x in ~{name}[g - {step} : g])"
    yield ""
    yield f"output ~{rows}"
    if numbers:
        yield f"output ~{average}"


def _align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    cells = [[escape_text(cell)[:40] for cell in row] for row in rows]
    yield from align_columns(cells, "<" * len(cells[0]))
