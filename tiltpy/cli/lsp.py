"""`tilt lsp`: the language server, which editors start."""

import sys
from argparse import ArgumentParser, Namespace

import tiltpy
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.errors import TiltError


def add_lsp_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt lsp`."""
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="talk over stdin and stdout, as it does anyway; some editors ask for it",
    )
    parser.epilog = (
        "Editors start it: name `tilt lsp` as the language server of *.tilt files. It "
        "needs pip install 'tiltpy[lsp]'."
    )


def lsp(args: Namespace) -> int:
    """Serve an editor until it ends the session."""
    del args
    try:
        # An extra, and slow to import.
        from tiltpy.language_server.server import serve  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise TiltError(
            f"tilt lsp needs {missing.name}, which is not installed; "
            "pip install 'tiltpy[lsp]'"
        ) from missing
    if sys.stdin is None or sys.stdin.isatty():
        raise ArgumentsError(
            "tilt lsp talks to an editor over stdin and stdout, and stdin is "
            f"{'closed' if sys.stdin is None else 'a terminal'}; name it as the "
            "language server of *.tilt files in your editor"
        )
    return serve(tiltpy.__version__, sys.stdin.buffer, sys.stdout.buffer)
