"""`tilt run`: a query over files, to the screen or to files."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import tiltpy as tilt
from tiltpy.api import MEMORY
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import SPACIOUS, input_paths, may_stream, must_stream
from tiltpy.cli.console import read_query
from tiltpy.cli.on_spark import (
    add_spark_arguments,
    check_engine,
    read_paths,
    run_on_spark,
)
from tiltpy.cli.outputs import (
    add_output_arguments,
    read_heads,
    read_targets,
    write_outputs,
)
from tiltpy.cli.run_options import add_run_options, read_run_options
from tiltpy.cli.views import add_view_argument, check_parts, needs_all, read_views
from tiltpy.progress.progress_bar import ProgressBar
from tiltpy.runtime.arrays.arrow_pool import reuse_arrow_pages
from tiltpy.runtime.results.file_sink import Target
from tiltpy.runtime.results.key_columns import Order


def add_run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt run`."""
    add_run_options(parser)
    add_output_arguments(parser)
    add_view_argument(parser)
    parser.add_argument(
        "--sort",
        choices=get_args(Order),
        help="order the rows of outputs by key and time (the default), or by time and "
        "key",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="read Parquet files in parts, and hold at most this much in memory, as in "
        f"2GB. Several files are always read in parts (by default {MEMORY}) unless "
        "--sort is given, and a long one where that is faster",
    )
    parser.add_argument(
        "--check-reductions",
        action="store_true",
        help="test first, over a sample of the data, that merge and deacc of "
        "reductions agree with acc",
    )
    add_spark_arguments(parser)


def run(args: Namespace) -> int:
    """Run a query; 0 if it went well."""
    check_engine(args)
    reuse_arrow_pages()
    query = read_query(args.query, args.param)
    paths = input_paths(query, args)
    if args.engine == "spark":
        return run_on_spark(query, paths, read_paths(query, paths, args), args)
    if args.sort and args.memory is not None:
        raise ArgumentsError(
            "--sort orders all rows at once; leave --memory out, or leave --sort out: "
            "the rows of each key come in order of time"
        )
    keyed = any(declared.keys for declared in query.query.inputs)
    streamed = not args.sort and must_stream(paths.values(), args.memory)
    method = tilt.CompiledQuery.stream if streamed else tilt.CompiledQuery.run
    targets, views = read_targets(query, paths, args), read_views(query, args)
    if streamed:
        check_parts(views)
    options = read_run_options(query, paths, args, method)
    if streamed and args.check_reductions:
        raise ArgumentsError(
            "--check-reductions looks at all rows at once; leave --memory out, or try "
            "it over one file"
        )
    if args.sort and not keyed and not must_stream(paths.values(), None):
        raise ArgumentsError(
            "--sort is for outputs by key, and the query has no input by key; leave it "
            "out"
        )
    whole = args.sort or args.check_reductions or not targets or needs_all(views)
    if not (streamed or whole) and _stream_files(query, options, targets, views, args):
        return 0
    with ProgressBar() as progress:
        options["progress"] = progress
        if streamed:
            memory = arguments.size("--memory", args.memory or MEMORY)
            results: Iterable[tilt.Result] = query.stream(memory=memory, **options)
        else:
            checks = args.check_reductions
            order: Order = args.sort or "key"
            results = [query.run(check_reductions=checks, order=order, **options)]
        if targets:
            tell = write_outputs(results, targets, views, args)
        else:
            tell = read_heads(results, views, args.limit)
    tell()  # where no bar is in the way
    return 0


def _stream_files(
    query: tilt.CompiledQuery,
    options: dict[str, Any],
    targets: Mapping[str, Target],
    views: Mapping[str, str],
    args: Namespace,
) -> bool:
    """Run over long files piece by piece, if that is faster and goes well.

    Otherwise nothing is written: over all rows at once it may go well, and what is
    wrong is said of all of them.
    """
    if not may_stream(query, options, targets):
        return False
    try:
        with ProgressBar() as progress:
            results = query.stream(memory=SPACIOUS, progress=progress, **options)
            write_outputs(results, targets, views, args)
    except tilt.TiltError:
        return False
    return True
