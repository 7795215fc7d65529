"""Arguments of commands that run a query: its files, parameters and options."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import Reader, add_binding_arguments, bind_files
from tiltpy.param_option import add_param_option
from tiltpy.types import Unit


def add_run_options(parser: ArgumentParser) -> None:
    """Add the query, the binding of its inputs, and the options of a run."""
    parser.add_argument("query", metavar="QUERY", help="a .tilt file, or - for stdin")
    add_binding_arguments(parser)
    add_param_option(parser)
    parser.add_argument(
        "--start",
        metavar="TIME",
        help="compute results over (start, end] only: ticks, or a timestamp like "
        "2013-03-01, in UTC if it has no zone",
    )
    parser.add_argument("--end", metavar="TIME", help="see --start")
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
        type=arguments.positive_reader("--workers"),
        help="the number of threads; by default one for each processor",
    )
    parser.add_argument(
        "--chunk",
        metavar="LENGTH",
        help="the length of the time ranges that threads compute: ticks, or a duration "
        "like 1h30m",
    )


def read_run_options(
    query: tilt.CompiledQuery,
    paths: Mapping[str, Path],
    args: Namespace,
    method: Callable[..., object],
    *,
    read: Reader | None = None,
) -> dict[str, Any]:
    """Read the arguments of `method`, which runs the query: frames and options by name.

    Another engine reads files by `read`.
    """
    bounds = _bounds(query)
    _check_names([*paths, *bounds], method)
    _check_complete(query, paths)
    unit = query.query.unit
    options = _options(args, unit)
    for name, text in arguments.assign("--bound", args.bound, bounds).items():
        options[name] = times.time("--bound", text, unit)
    return options | bind_files(query, paths, args, read=read)


def _options(args: Namespace, unit: Unit | None) -> dict[str, Any]:
    """Read the domain, the workers and the chunks, in ticks."""
    start, end, chunk = args.start, args.end, args.chunk
    first = None if start is None else times.time("--start", start, unit)
    last = None if end is None else times.time("--end", end, unit)
    if first is not None and last is not None and first > last:
        raise ArgumentsError(f"--start {start} is later than --end {end}; swap them")
    return {
        "start": first,
        "end": last,
        "chunk": None if chunk is None else times.length("--chunk", chunk, unit),
        "workers": args.workers,
    }


def _bounds(query: tilt.CompiledQuery) -> list[str]:
    """List the names of bounds of time domains."""
    domains = (definition.tdom for definition in query.query.definitions)
    bounds = (bound for domain in domains for bound in (domain.start, domain.end))
    return list(dict.fromkeys(bound for bound in bounds if isinstance(bound, str)))


def _check_names(names: Iterable[str], method: Callable[..., object]) -> None:
    """Refuse names of inputs and bounds that are options of a run, too."""
    taken = signature(method).parameters
    for name in names:
        if name in taken:
            raise ArgumentsError(
                f"'{name}' is an option of every run; give it another name in the query"
            )


def _check_complete(query: tilt.CompiledQuery, paths: Mapping[str, Path]) -> None:
    missing = [
        i.name for i in query.inputs.values() if i.needed and i.name not in paths
    ]
    if missing:
        raise ArgumentsError(
            f"no file for input {arguments.join_names(missing)}; "
            f"add --input {missing[0]}=FILE"
        )


def check_output_path(path: Path, *, dataset: bool = False) -> None:
    """Refuse a file in a directory that is not there.

    `dataset`: the path is to be a directory of several files.
    """
    if path.is_dir() and not dataset:
        raise ArgumentsError(f"{path}: is a directory; name a file in it")
    if not path.parent.is_dir():
        raise ArgumentsError(
            f"{path}: there is no directory {path.parent}; make it first"
        )


def check_distinct_paths(outputs: Mapping[str, Path], sources: Iterable[Path]) -> None:
    """Refuse an output that would overwrite what is read, or another output.

    `outputs` are the paths, by their names in messages.
    """
    taken = {_real(path): path for path in sources}
    folders = {real for real, path in taken.items() if path.is_dir()}
    for name, path in outputs.items():
        real = _real(path)
        if folders.intersection(real.parents):
            raise ArgumentsError(
                f"{name}: lies in a directory that is read as a whole; "
                "write it elsewhere"
            )
        other = taken.setdefault(real, path)
        if other is not path:
            raise ArgumentsError(
                f"{name}: that file is in use already ({other}); name another one"
            )


def _real(path: Path) -> Path:
    """Follow links; those that lead to themselves name themselves."""
    return Path(os.path.realpath(path))
