"""`tilt plot`: a picture of a query's outputs over files."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import get_args

import tiltpy as tilt
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import input_paths, must_stream
from tiltpy.cli.console import read_query
from tiltpy.cli.run_options import (
    add_run_options,
    check_distinct_paths,
    check_output_path,
    read_run_options,
)
from tiltpy.errors import TiltError
from tiltpy.plot.series import KeyStyle
from tiltpy.progress.progress_bar import ProgressBar
from tiltpy.runtime.results.plot_series import Form, form_of, require


def add_plot_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt plot`."""
    add_run_options(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        required=True,
        help="the file of the picture: .png, .svg, or .html to zoom in",
    )
    parser.add_argument(
        "--with-inputs", action="store_true", help="draw the inputs above the outputs"
    )
    parser.add_argument(
        "--key",
        metavar="KEY",
        action="append",
        help="draw this key, with commas if it has several columns; repeat the option "
        "for more keys. By default all are drawn",
    )
    parser.add_argument(
        "--by-key",
        choices=get_args(KeyStyle),
        help="draw keys as lines of one panel, or each in a panel of its own (the "
        "default for more than 5)",
    )
    parser.add_argument("--title", metavar="TEXT", help="the title of the picture")


def plot(args: Namespace) -> int:
    """Run a query and draw its outputs over one time axis; 0 if it went well."""
    query = read_query(args.query, args.param)
    paths = input_paths(query, args)
    if must_stream(paths.values(), None):
        raise ArgumentsError(
            "a picture is drawn of inputs of one file each; write the outputs with "
            "`tilt run --output` first, and draw a query over those"
        )
    output = Path(args.output)
    form = _form(output)
    check_distinct_paths(
        {f"--output {output}": output}, [*paths.values(), Path(args.query)]
    )
    require(form)
    options = read_run_options(query, paths, args, tilt.CompiledQuery.run)
    with ProgressBar() as progress:
        result = query.run(progress=progress, **options)
    inputs = None
    if args.with_inputs:
        names = {"start", "end", *paths}
        inputs = query.read_inputs(**{n: options[n] for n in options if n in names})
    result.plot(
        output,
        inputs=inputs,
        keys=_keys(query, args.key),
        by_key=args.by_key,
        title=args.title,
    )
    return 0


def _keys(query: tilt.CompiledQuery, texts: list[str] | None) -> list[object] | None:
    """Read the keys to draw; commas separate the values of several key columns."""
    if texts is None:
        return None
    counts = {len(declared.keys) for declared in query.query.inputs if declared.keys}
    if not counts:
        raise ArgumentsError("--key: the query has no input by key; leave it out")
    keys = zip(texts, (tuple(text.split(",")) for text in texts), strict=True)
    return [values if len(values) in counts - {1} else text for text, values in keys]


def _form(path: Path) -> Form:
    """Find the form of the picture; refuse a file whose directory is not there."""
    try:
        form = form_of(path)
    except TiltError as error:
        raise ArgumentsError(f"--output {error}") from error
    check_output_path(path)
    return form
