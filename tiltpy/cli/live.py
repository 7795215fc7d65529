"""`tilt live`: a query over rows as they come, from files that grow, pipes and folders.

Rows go out when they are final. With `--state` a run that was killed goes on where it
was, and its files become what they would be without the interruption.
"""

from argparse import ArgumentParser, Namespace

from tiltpy.cli import arguments
from tiltpy.cli.binding import add_binding_arguments
from tiltpy.param_option import add_param_option

FORMS = ("append", "upsert", "changes")
SOURCES = (
    "the source of an input: tail:FILE follows a file that grows (.jsonl, .csv or "
    ".tsv), folder:DIRECTORY (or folder:DIRECTORY/*.csv) reads the files of a "
    "directory and those that arrive, replay:FILE@60x an archive 60 times as fast as "
    "its rows came (without @ as fast as it can), FILE a file that is complete, and - "
    "the standard input. NAME= may be left out if the query has one input"
)


def add_live_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt live`."""
    parser.add_argument("query", metavar="QUERY", help="a .tilt file")
    add_binding_arguments(parser, metavar="NAME=SOURCE|FILE", meaning=SOURCES)
    for option, value, meaning in (
        (
            "--reorder",
            "LENGTH",
            "how long an input waits for rows out of order, as in 5s; by default its "
            "rows come in order of time",
        ),
        (
            "--late",
            "WAY",
            "what becomes of rows that come later than that: drop (the default), "
            "adjust (moved to where the input is), throw (an error), or side:FILE, "
            "which collects them",
        ),
        (
            "--jump",
            "LENGTH",
            "refuse a row that lies so far beyond all before it",
        ),
        (
            "--idle",
            "LENGTH",
            "an input without rows for so long, by the clock, holds nothing back",
        ),
        (
            "--heartbeat",
            "LENGTH",
            "an input is complete up to the clock, less so much, also without rows",
        ),
    ):
        arguments.add_input_option(parser, option, value, meaning)
    _add_output_arguments(parser)
    _add_run_arguments(parser)


def _add_output_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="where an output goes: a file that grows, .jsonl, .csv, .tsv or .arrows "
        "(an Arrow stream); a directory, as in out/, of Parquet files; - for the "
        "standard output (the default, if there is one output)",
    )
    parser.add_argument(
        "--output-format",
        metavar="[NAME=]FORMAT",
        action="append",
        default=[],
        help="the format of an output, where its file's suffix does not tell: jsonl "
        "(the default of -), csv, tsv or arrows",
    )
    parser.add_argument(
        "--form",
        choices=FORMS,
        default="append",
        help="the rows of outputs: append (the default) has the final ones alone; "
        "changes also has rows that are not final, takes them back when they no longer "
        "hold, and says so in a column weight (+1, -1); upsert has them with a column "
        "op: put replaces the row of that key and start, delete removes it",
    )
    parser.add_argument(
        "--early",
        action="store_true",
        help="with --form upsert or changes: write all that is not final, as if no row "
        "were to come, at each checkpoint",
    )
    parser.add_argument(
        "--accepted",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="archive the rows of an input that are not late, as they are sorted: a "
        "file like that of an output, or a directory, as in rows/, of Parquet files; "
        "tilt run over them has the results of this run",
    )
    parser.add_argument(
        "--state",
        metavar="DIRECTORY",
        help="keep checkpoints there, and go on from the last one",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="LENGTH",
        default="1s",
        help="the time between two checkpoints, by the clock; by default 1s",
    )


def _add_run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--until",
        choices=["EOF"],
        help="end at the end of what is there now: files are not followed",
    )
    parser.add_argument(
        "--resume-stdin",
        choices=["refuse", "skip", "continue"],
        default="refuse",
        help="whether the writer of the standard input begins again when a run goes on "
        "(skip the rows that were read), or goes on, too (continue)",
    )
    add_param_option(parser)
    parser.add_argument(
        "--start",
        metavar="TIME",
        help="compute results after this time only: ticks, or a timestamp like "
        "2013-03-01",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=arguments.positive_reader("--workers"),
        help="the number of threads; by default one",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="do not report what was written"
    )


def live(args: Namespace) -> int:
    """Run a query over rows as they come; 0 once its sources have ended."""
    from tiltpy.cli.live_run import run_live_query  # noqa: PLC0415 - late

    return run_live_query(args)
