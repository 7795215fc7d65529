"""`tilt fmt`: queries in the standard format."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tiltpy.cli.console import FAILED, STDIN, display_name, read_text, report, say
from tiltpy.errors import TiltError
from tiltpy.runtime.arrow.files import replace_files


def add_fmt_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt fmt`."""
    parser.add_argument(
        "queries",
        metavar="QUERY",
        nargs="+",
        help=".tilt files to rewrite; - reads stdin and writes stdout",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; list the files that would change, and exit with code 1",
    )


def fmt(args: Namespace) -> int:
    """Rewrite each file, whole or not at all; one that is wrong stays as it is."""
    code = 0
    for path in args.queries:
        try:
            changed = _format(path, check=args.check)
        except TiltError as error:
            code = max(code, report(error))
        else:
            code = max(code, FAILED if changed and args.check else 0)
    return code


def _format(path: str, *, check: bool) -> bool:
    """Rewrite a file unless `check`; tell whether its format differs."""
    from tiltpy.frontend.text.format import format_source  # noqa: PLC0415 - late

    text = read_text(path)
    formatted = format_source(text, name=display_name(path))
    changed = formatted != text
    if check:
        if changed:
            say(f"would reformat {display_name(path)}")
    elif path == STDIN:
        sys.stdout.buffer.write(formatted.encode())
    elif changed:
        with replace_files(Path(path)) as (draft,):
            draft.write_bytes(formatted.encode())
        say(f"reformatted {path}")
    return changed
