"""Destinations of outputs: files, the standard output, or the screen."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import known_format
from tiltpy.cli.console import ROWS, note, say_preview
from tiltpy.cli.run_options import check_distinct_paths, check_output_path
from tiltpy.cli.text_options import PIPE, is_pipe, read_output_format
from tiltpy.cli.views import noun, table_of
from tiltpy.memory_sizes import format_size
from tiltpy.messages import quantity
from tiltpy.runtime.arrow.formats import FileFormat, for_pipes
from tiltpy.runtime.results.file_sink import (
    FileTarget,
    PipeTarget,
    Target,
    extend_head,
    write_results,
)


def add_output_arguments(parser: ArgumentParser) -> None:
    """Add the options that say where outputs go, and how much of them."""
    parser.add_argument(
        "--output",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="the file of an output: .parquet, .arrow, .arrows (a stream), .feather, "
        ".csv, .tsv or .jsonl (these three also .gz or .zst); - for the standard "
        "output, as CSV. Without --output the first rows are printed",
    )
    parser.add_argument(
        "--output-format",
        metavar="[NAME=]FORMAT",
        action="append",
        default=[],
        help="the format of an output, where its file's suffix does not tell: csv, "
        "tsv, jsonl, arrow, parquet, or csv.gz, jsonl.zst, ...",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=arguments.positive_reader("--limit"),
        help="write at most the first N rows of an output; by default all, or "
        f"{ROWS} on the screen",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="do not report what was written"
    )


def read_targets(
    query: tilt.CompiledQuery, inputs: Mapping[str, Path], args: Namespace
) -> dict[str, Target]:
    """Read where outputs go; no file is read from, or named twice."""
    names = query.query.outputs
    formats = {
        name: read_output_format(text)
        for name, text in arguments.assign(
            "--output-format", args.output_format, names, bare_is_for_all=True
        ).items()
    }
    targets = {
        name: _target(text, formats.get(name))
        for name, text in arguments.assign("--output", args.output, names).items()
    }
    if formats and not targets:
        raise ArgumentsError(
            "--output-format: nothing is written; add --output - or --output FILE"
        )
    files = {
        f"--output {name}={target}": target.path
        for name, target in targets.items()
        if isinstance(target, FileTarget)
    }
    if len(targets) - len(files) > 1:
        raise ArgumentsError(
            "--output: only one output can go to the standard output; name a file for "
            "each other one"
        )
    sources = [path for path in inputs.values() if not is_pipe(path)]
    for path in files.values():
        check_output_path(path)
    check_distinct_paths(files, [*sources, Path(args.query)])
    return targets


def _target(text: str, form: FileFormat | None) -> Target:
    path = Path(text)
    if path == PIPE:
        form = for_pipes(form or FileFormat("CSV"))
        return PipeTarget(sys.stdout.buffer, "<stdout>", form)
    if form is None:
        form = known_format(path)
    return FileTarget(path, form)


def write_outputs(
    results: Iterable[tilt.Result],
    targets: Mapping[str, Target],
    views: Mapping[str, str],
    args: Namespace,
) -> Callable[[], None]:
    """Write outputs; returns what says so on stderr."""
    counts = write_results(
        results,
        targets,
        args.limit,
        lambda output: table_of(output, views[output.name]),
    )

    def say_written() -> None:
        for name, count in counts.items():
            target, size = targets[name], ""
            if isinstance(target, FileTarget):
                size = f" ({format_size(target.path.stat().st_size)})"
            of_name = f" of ~{name}" if len(counts) > 1 else ""
            rows = quantity(count, noun(views[name]))
            note(f"wrote {rows}{of_name} to {target}{size}")
        for name in views:
            if name not in counts:
                note(f"~{name} is not written; to have it, add --output {name}=FILE")

    return (lambda: None) if args.quiet else say_written


def read_heads(
    results: Iterable[tilt.Result], views: Mapping[str, str], limit: int | None
) -> Callable[[], None]:
    """Compute the head and the length of each output; returns what prints them."""
    rows = limit or ROWS
    heads: dict[str, Any] = {}
    counts = dict.fromkeys(views, 0)
    for result in results:
        for name, output in result.items():
            table = table_of(output, views[name])
            counts[name] += len(table)
            if name not in heads or len(heads[name]) < rows:
                heads[name] = extend_head(heads.get(name), table, rows)

    def show() -> None:
        for name, count in counts.items():
            say_preview(name, heads[name], rows, count, noun(views[name]))

    return show
