"""`tilt check`: reports all that is wrong in queries."""

from argparse import ArgumentParser, Namespace

from tiltpy.cli.console import display_name, read_query, report, say
from tiltpy.errors import TiltError


def add_check_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt check`."""
    parser.add_argument(
        "queries",
        metavar="QUERY",
        nargs="+",
        help=".tilt files; - for the standard input",
    )


def check(args: Namespace) -> int:
    """Parse and type each file; 2 if any is wrong."""
    from tiltpy.explain.card import summarize  # noqa: PLC0415 - late

    code = 0
    for path in args.queries:
        try:
            query = read_query(path).query
        except TiltError as error:
            code = max(code, report(error))
        else:
            say(f"{display_name(path)}: ok: {summarize(query, '->')}")
    return code
