"""Which file goes to which input of a query, and how its rows become events."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.runtime.files import format_of, read_table


def add_binding_arguments(parser: ArgumentParser) -> None:
    """The options that say where a query's inputs come from."""
    parser.add_argument(
        "--input",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="the file of an input: .parquet, .csv, .feather or .arrow "
        "(NAME= may be left out if the query has one input)",
    )
    for option, value, meaning in (
        ("--time", "COLUMN", "the column of the time stamps"),
        (
            "--lifetime",
            "LIFETIME",
            "how long a row is valid, as in 'until_next max 1d'",
        ),
        ("--column", "COLUMN", "the column of a scalar input's values"),
        ("--order", "COLUMNS", "the columns that break ties, with commas"),
    ):
        parser.add_argument(
            option,
            metavar=f"[NAME=]{value}",
            action="append",
            default=[],
            help=f"{meaning}; without NAME= for every input",
        )


def input_paths(query: tilt.CompiledQuery, args: Namespace) -> dict[str, Path]:
    """The file of each input that has one."""
    names = [declared.name for declared in query.query.inputs]
    found = arguments.assign("--input", args.input, names)
    paths = {name: Path(text) for name, text in found.items()}
    for path in paths.values():
        format_of(path)
        if not path.exists():
            raise ArgumentsError(f"{path}: there is no such file")
    return paths


def bind_files(
    query: tilt.CompiledQuery, paths: Mapping[str, Path], args: Namespace
) -> dict[str, Any]:
    """Read the inputs' files, each with what the options say about its rows."""
    names = [declared.name for declared in query.query.inputs]
    given = {
        option: arguments.assign_or_all(f"--{option}", getattr(args, option), names)
        for option in ("time", "lifetime", "column", "order")
    }
    bound = {}
    for name, path in paths.items():
        words: dict[str, Any] = {
            option: texts[name] for option, texts in given.items() if name in texts
        }
        if "lifetime" in words:
            unit = query.query.unit
            words["lifetime"] = times.lifetime(words["lifetime"], unit)
        if "order" in words:
            words["order"] = tuple(words["order"].split(","))
        frame = read_table(path)
        bound[name] = tilt.bind(frame, **words) if words else frame
    return bound
