"""`tilt run`: a query over files, to the screen or to files."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import tiltpy as tilt
from tiltpy.api import MEMORY
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import input_paths, known_path, must_stream
from tiltpy.cli.console import ROWS, format_preview, read_query, say
from tiltpy.cli.on_spark import (
    add_spark_arguments,
    check_engine,
    check_formats,
    run_on_spark,
)
from tiltpy.cli.progress import Progress
from tiltpy.cli.run_options import (
    add_run_options,
    check_distinct_paths,
    check_output_path,
    read_run_options,
)
from tiltpy.runtime.arrow.files import write_tables
from tiltpy.runtime.results.file_sink import extend_head
from tiltpy.runtime.results.key_columns import Order


def add_run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt run`."""
    add_run_options(parser)
    parser.add_argument(
        "--output",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="where an output goes; without any, the first rows are printed",
    )
    parser.add_argument(
        "--sort",
        choices=get_args(Order),
        help="what the rows of outputs by key are in order of, first; by default the "
        "key",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help=f"read Parquet files piece by piece and hold no more than this, as in 2GB "
        f"(datasets of several files always are read so, by default with {MEMORY}, but "
        "with --sort)",
    )
    parser.add_argument(
        "--check-reductions",
        action="store_true",
        help="try first whether merge and deacc of reductions agree with their acc",
    )
    add_spark_arguments(parser)


def run(args: Namespace) -> int:
    """Run a query; 0 if it went well."""
    check_engine(args)
    query = read_query(args.query, args.param)
    paths = input_paths(query, args)
    if args.engine == "spark":
        return run_on_spark(query, paths, _output_paths(query, paths, args), args)
    if args.sort and args.memory is not None:
        raise ArgumentsError(
            "--sort orders all rows at once; leave --memory out, or leave --sort out: "
            "the rows of each key come in order of time"
        )
    keyed = any(declared.keys for declared in query.query.inputs)
    streamed = not args.sort and must_stream(paths.values(), args.memory)
    method = tilt.CompiledQuery.stream if streamed else tilt.CompiledQuery.run
    outputs = _output_paths(query, paths, args)
    options = read_run_options(query, paths, args, method)
    if streamed and args.check_reductions:
        raise ArgumentsError(
            "--check-reductions looks at all rows at once; leave --memory out, or try "
            "it over one file"
        )
    if args.sort and not keyed:
        raise ArgumentsError(
            "--sort is for outputs by key, and the query has no input by key; leave it "
            "out"
        )
    if streamed:
        memory = arguments.size("--memory", args.memory or MEMORY)
        with Progress() as progress:
            _stream(query, outputs, memory=memory, progress=progress, **options)
        return 0
    with Progress() as progress:
        result = query.run(
            progress=progress,
            check_reductions=args.check_reductions,
            order=args.sort or "key",
            **options,
        )
    if outputs:
        write_tables({outputs[name]: result[name].to_arrow() for name in outputs})
    else:
        _show(query, result)
    return 0


def _stream(
    query: tilt.CompiledQuery, outputs: Mapping[str, Path], **options: Any
) -> None:
    """Run a query over inputs that are read piece by piece."""
    if outputs:
        query.run_to(outputs, **options)
        return
    heads: dict[str, Any] = {}
    counts = dict.fromkeys(query.query.outputs, 0)
    for span in query.stream(**options):
        for name, table in span.items():
            counts[name] += len(table)
            if name not in heads or len(heads[name]) < ROWS:
                heads[name] = extend_head(heads.get(name), table, ROWS)
    for name, count in counts.items():
        say(f"~{name}")
        say(format_preview(heads[name], count=count))


def _show(query: tilt.CompiledQuery, result: tilt.Result) -> None:
    """Print the head of each output."""
    for name in query.query.outputs:
        say(f"~{name}")
        say(format_preview(result[name].to_arrow()))


def _output_paths(
    query: tilt.CompiledQuery, inputs: Mapping[str, Path], args: Namespace
) -> dict[str, Path]:
    """Read the paths of outputs, which are neither read from nor named twice."""
    assigned = arguments.assign("--output", args.output, query.query.outputs)
    paths = {name: known_path(text) for name, text in assigned.items()}
    by_option = {f"--output {name}={path}": path for name, path in paths.items()}
    if args.engine == "spark":
        check_formats({f"--input {name}": path for name, path in inputs.items()})
        check_formats(by_option)
    for path in paths.values():
        check_output_path(path, dataset=args.engine == "spark")
    check_distinct_paths(by_option, [*inputs.values(), Path(args.query)])
    return paths
