"""`tilt explain`: every stage that a query goes through."""

from argparse import ArgumentParser, Namespace
from typing import get_args

from tiltpy.api import Format
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import add_binding_arguments, bind_files, input_paths
from tiltpy.cli.console import read_query, say
from tiltpy.param_option import add_param_option


def add_explain_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt explain`."""
    parser.add_argument("query", metavar="QUERY", help="a .tilt file, or - for stdin")
    add_binding_arguments(parser)
    add_param_option(parser)
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        default="stages",
        help="all stages of compilation (the default), when outputs of a live session "
        "are final and what it keeps (live), or a graph of the query's objects: as a "
        "tree of text, as json, for Graphviz (dot) or Mermaid, or as a picture (svg)",
    )
    parser.add_argument("--llvm", action="store_true", help="show the LLVM IR as well")
    parser.add_argument(
        "--asm", action="store_true", help="show the machine code as well"
    )


def explain(args: Namespace) -> int:
    """Print a query's stages; with inputs, the kernels chosen for their layouts."""
    query = read_query(args.query, args.param)
    frames = bind_files(query, input_paths(query, args), args)
    if args.format != "stages" and (args.llvm or args.asm):
        raise ArgumentsError(
            f"--format {args.format} has no machine code; leave it out"
        )
    text = query.explain(
        format=args.format, llvm=args.llvm, asm=args.asm, inputs=frames or None
    )
    say(text.rstrip("\n"))
    return 0
