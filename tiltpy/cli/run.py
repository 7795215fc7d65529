"""`tilt run`: a query over files, to the screen or to files."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.api import MEMORY
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import (
    add_binding_arguments,
    are_streamed,
    bind_files,
    input_paths,
    known_path,
)
from tiltpy.cli.preview import ROWS, format_preview
from tiltpy.cli.progress import Progress
from tiltpy.cli.queries import read_query
from tiltpy.runtime.files import write_tables
from tiltpy.runtime.sink import joined
from tiltpy.types import Unit


def add_run_arguments(parser: ArgumentParser) -> None:
    """What `tilt run` understands."""
    parser.add_argument("query", metavar="QUERY", help="a .tilt file, or - for stdin")
    add_binding_arguments(parser)
    parser.add_argument(
        "--output",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="where an output goes; without any, the first rows are printed",
    )
    parser.add_argument(
        "-p",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a parameter, as in -p w=30s",
    )
    parser.add_argument(
        "--start",
        metavar="TIME",
        help="results over (start, end] only: ticks, or a stamp like 2013-03-01",
    )
    parser.add_argument("--end", metavar="TIME")
    parser.add_argument(
        "--bound",
        metavar="NAME=TIME",
        action="append",
        default=[],
        help="a bound of a time domain that the query leaves open",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=arguments.positive("--workers"),
        help="how many chunks are worked on at once",
    )
    parser.add_argument(
        "--chunk",
        metavar="LENGTH",
        help="the length of a chunk: ticks, or a duration like 1h30m",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help=f"read Parquet files piece by piece and hold no more than this, as in 2GB "
        f"(datasets of several files always are read so, by default with {MEMORY})",
    )


def run(args: Namespace) -> int:
    """Run a query; 0 if it went well."""
    query = read_query(args.query, args.param)
    unit = query.query.unit
    paths = input_paths(query, args)
    bounds = _bounds(query)
    streamed = are_streamed(paths.values(), args.memory)
    method = tilt.CompiledQuery.stream if streamed else tilt.CompiledQuery.run
    _check_names([*paths, *bounds], method)
    _check_complete(query, paths)
    outputs = _output_paths(query, args.output)
    _check_apart(outputs, [*paths.values(), Path(args.query)])
    options = _options(args, unit)
    given: dict[str, Any] = {
        name: times.time("--bound", text, unit)
        for name, text in arguments.assign("--bound", args.bound, bounds).items()
    }
    given.update(bind_files(query, paths, args, streamed=streamed))
    if streamed:
        memory = arguments.size("--memory", args.memory or MEMORY)
        _stream(query, outputs, memory=memory, **options, **given)
        return 0
    with Progress() as progress:
        result = query.run(progress=progress, **options, **given)
    if outputs:
        write_tables({outputs[name]: result[name].to_arrow() for name in outputs})
    else:
        _show(query, result)
    return 0


def _stream(
    query: tilt.CompiledQuery, outputs: Mapping[str, Path], **given: Any
) -> None:
    """Run a query over inputs that are read piece by piece."""
    if outputs:
        query.run_to(outputs, **given)
        return
    heads: dict[str, Any] = {}
    counts = dict.fromkeys(query.query.outputs, 0)
    for part in query.stream(**given):
        for name, table in part.items():
            counts[name] += len(table)
            if name not in heads or len(heads[name]) < ROWS:
                heads[name] = joined(heads.get(name), table, ROWS)
    for name, count in counts.items():
        print(f"~{name}")
        print(format_preview(heads[name], count=count))


def _options(args: Namespace, unit: Unit | None) -> dict[str, Any]:
    """The domain, the workers and the chunks, in ticks."""
    start, end, chunk = args.start, args.end, args.chunk
    return {
        "start": None if start is None else times.time("--start", start, unit),
        "end": None if end is None else times.time("--end", end, unit),
        "chunk": None if chunk is None else times.length("--chunk", chunk, unit),
        "workers": args.workers,
    }


def _show(query: tilt.CompiledQuery, result: tilt.Result) -> None:
    """Print the head of each output."""
    for name in query.query.outputs:
        print(f"~{name}")
        print(format_preview(result[name].to_arrow()))


def _bounds(query: tilt.CompiledQuery) -> list[str]:
    """The names that stand for bounds of time domains."""
    domains = (definition.tdom for definition in query.query.definitions)
    bounds = (bound for domain in domains for bound in (domain.start, domain.end))
    return list(dict.fromkeys(bound for bound in bounds if isinstance(bound, str)))


def _check_names(names: Iterable[str], method: Callable[..., object]) -> None:
    """What is given to a run by name must not be called like one of its options."""
    taken = signature(method).parameters
    for name in names:
        if name in taken:
            raise ArgumentsError(
                f"'{name}' is an option of every run; give it another name in the query"
            )


def _check_complete(query: tilt.CompiledQuery, paths: Mapping[str, Path]) -> None:
    missing = [i.name for i in query.query.inputs if i.name not in paths]
    if missing:
        raise ArgumentsError(
            f"no file for input {arguments.listing(missing)}; "
            f"add --input {missing[0]}=FILE"
        )


def _output_paths(query: tilt.CompiledQuery, texts: list[str]) -> dict[str, Path]:
    found = arguments.assign("--output", texts, query.query.outputs)
    paths = {name: known_path(text) for name, text in found.items()}
    for path in paths.values():
        if path.is_dir():
            raise ArgumentsError(f"{path}: is a directory; name a file in it")
        if not path.parent.is_dir():
            raise ArgumentsError(
                f"{path}: there is no directory {path.parent}; make it first"
            )
    return paths


def _check_apart(outputs: Mapping[str, Path], sources: Iterable[Path]) -> None:
    """No output may overwrite what is read, nor another output."""
    taken = {path.resolve(): path for path in sources}
    folders = {place for place, path in taken.items() if path.is_dir()}
    for name, path in outputs.items():
        if folders.intersection(path.resolve().parents):
            raise ArgumentsError(
                f"--output {name}={path}: lies in a directory that is read as a whole; "
                "write it elsewhere"
            )
        other = taken.setdefault(path.resolve(), path)
        if other is not path:
            raise ArgumentsError(
                f"--output {name}={path}: that file is in use already ({other}); "
                "name another one"
            )
