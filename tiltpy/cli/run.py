"""`tilt run`: a query over files, to the screen or to files."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

import tiltpy as tilt
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import add_binding_arguments, bind_files, input_paths
from tiltpy.cli.preview import format_preview
from tiltpy.cli.progress import Progress
from tiltpy.cli.queries import read_query
from tiltpy.runtime.files import format_of, write_tables


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


def run(args: Namespace) -> int:
    """Run a query; 0 if it went well."""
    query = read_query(args.query, args.param)
    unit = query.query.unit
    paths = input_paths(query, args)
    _check_complete(query, paths)
    outputs = _output_paths(query, args.output)
    _check_apart(outputs, [*paths.values(), Path(args.query)])
    start = None if args.start is None else times.time("--start", args.start, unit)
    end = None if args.end is None else times.time("--end", args.end, unit)
    chunk = None if args.chunk is None else times.length("--chunk", args.chunk, unit)
    frames = bind_files(query, paths, args)
    with Progress() as progress:
        result = query.run(
            start=start,
            end=end,
            workers=args.workers,
            chunk=chunk,
            progress=progress,
            **frames,
        )
    if outputs:
        write_tables({outputs[name]: result[name].to_arrow() for name in outputs})
    else:
        _show(query, result)
    return 0


def _show(query: tilt.CompiledQuery, result: tilt.Result) -> None:
    """Print the head of each output."""
    for name in query.query.outputs:
        print(f"~{name}")
        print(format_preview(result[name].to_arrow()))


def _check_complete(query: tilt.CompiledQuery, paths: Mapping[str, Path]) -> None:
    missing = [i.name for i in query.query.inputs if i.name not in paths]
    if missing:
        raise ArgumentsError(
            f"no file for input {arguments.listing(missing)}; "
            f"add --input {missing[0]}=FILE"
        )


def _output_paths(query: tilt.CompiledQuery, texts: list[str]) -> dict[str, Path]:
    found = arguments.assign("--output", texts, query.query.outputs)
    paths = {name: Path(text) for name, text in found.items()}
    for path in paths.values():
        format_of(path)
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
    for name, path in outputs.items():
        other = taken.setdefault(path.resolve(), path)
        if other is not path:
            raise ArgumentsError(
                f"--output {name}={path}: that file is in use already ({other}); "
                "name another one"
            )
