"""`tilt explain`: every stage that a query goes through."""

from argparse import ArgumentParser, Namespace

from tiltpy.cli.binding import add_binding_arguments, bind_files, input_paths
from tiltpy.cli.queries import read_query


def add_explain_arguments(parser: ArgumentParser) -> None:
    """What `tilt explain` understands."""
    parser.add_argument("query", metavar="QUERY", help="a .tilt file, or - for stdin")
    add_binding_arguments(parser)
    parser.add_argument(
        "-p", "--param", metavar="NAME=VALUE", action="append", default=[]
    )
    parser.add_argument("--llvm", action="store_true", help="show the LLVM IR too")
    parser.add_argument("--asm", action="store_true", help="show the machine code too")


def explain(args: Namespace) -> int:
    """Print a query's stages; with inputs, the kernels chosen for their layouts."""
    query = read_query(args.query, args.param)
    frames = bind_files(query, input_paths(query, args), args)
    print(query.explain(llvm=args.llvm, asm=args.asm, inputs=frames or None))
    return 0
