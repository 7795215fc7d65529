"""`tilt disorder`: how far rows are out of order, and what each latency would lose."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import known_format
from tiltpy.cli.console import display_name, say
from tiltpy.cli.text_options import TextOptions, add_text_options, is_pipe
from tiltpy.messages import quantity
from tiltpy.runtime.ingest.describe_table import all_rows
from tiltpy.text_columns import align_columns

if TYPE_CHECKING:
    from tiltpy.runtime.ingest.describe_disorder import DisorderReport

NAME = "rows"
LEAST_SHARE = 0.0001
"""The least share that is not shown as less than it."""


def add_disorder_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt disorder`."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a file with rows in order of arrival, in any format of tilt run; - for "
        "the standard input",
    )
    parser.add_argument("--time", metavar="COLUMN", help="the column of the timestamps")
    parser.add_argument(
        "--by",
        metavar="COLUMNS",
        help="the columns of the key, with commas: the rows of each key then have a "
        "clock of their own",
    )
    add_text_options(parser)


def disorder(args: Namespace) -> int:
    """Print the measures of disorder, and the effects of latencies."""
    path = Path(args.file)
    options = TextOptions([NAME], args)
    if not is_pipe(path):
        if path.is_dir():
            raise ArgumentsError(f"{path}: is a directory; name a file in it")
        if not path.is_file():
            raise ArgumentsError(f"{path}: there is no such file")
        if options.format(NAME) is None:
            known_format(path)
    from tiltpy.runtime.ingest.describe_disorder import (  # noqa: PLC0415 - late
        describe_disorder,
    )

    name = display_name(args.file)
    by = args.by.split(",") if args.by else ()
    report = describe_disorder(
        all_rows(options.source(NAME, path)), name, args.time, by
    )
    for line in _format_report(report, name, args.by):
        say(line)
    return 0


def _format_report(
    report: "DisorderReport", name: str, by: str | None
) -> Iterator[str]:
    keys = "" if report.keys is None else f", {quantity(report.keys, 'key')} by {by}"
    yield f"{name}: {quantity(report.rows, 'row')}, {report.time} ({report.type}){keys}"
    yield ""
    measures = report.measures
    yield from align_columns(
        [
            (
                "inversions",
                f"{measures.inversions:,}",
                "pairs of rows in the wrong order",
            ),
            (
                "distance",
                f"{measures.distance:,}",
                "rows between two of a pair, at most",
            ),
            ("runs", f"{measures.runs:,}", "of successive rows in order"),
            ("interleaved", f"{measures.interleaved:,}", "sources in order, at least"),
        ],
        "<><",
    )
    yield ""
    rows = [("reorder", "late rows", "", "waiting rows, at most")]
    rows += [
        (
            effect.latency,
            f"{effect.late:,}",
            _format_share(effect.late, report.rows),
            f"{effect.waiting:,}",
        )
        for effect in report.effects
    ]
    yield from align_columns(rows, "<>>>")


def _format_share(count: int, rows: int) -> str:
    share = count / rows
    if 0 < share < LEAST_SHARE:
        return f"< {LEAST_SHARE:.2%}"
    return f"{share:.2%}"
