"""The files of a query's inputs, and the options that bind them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.text_options import PIPE, TextOptions, add_text_options, is_pipe
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.inputs import BoundFrame
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrow.files import read_source
from tiltpy.runtime.arrow.formats import FileFormat, format_of
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, rows_of
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.ingest.text_types import cast_as_declared
from tiltpy.runtime.results.file_sink import FileTarget, Target
from tiltpy.types import Unit

Reader = Callable[[Path], object]

SPACIOUS = "2GB"
"""Memory with which a run over files reads whole row groups."""


INPUT_FILES = (
    "the file of an input: .parquet, .arrow, .feather, .csv, .tsv or .jsonl (these "
    "three also .gz or .zst); - for the standard input. A directory or a pattern of "
    "Parquet files is read in parts, in order of time. NAME= may be left out if the "
    "query has one input"
)
BINDING = ("time", "lifetime", "column", "order", "by")
"""The options that say how rows become events."""


def add_binding_arguments(
    parser: ArgumentParser, *, metavar: str = "NAME=FILE", meaning: str = INPUT_FILES
) -> None:
    """Add the options that bind a query's inputs; `meaning` is what --input takes."""
    parser.add_argument(
        "--input", metavar=metavar, action="append", default=[], help=meaning
    )
    for option, value, explanation in (
        ("--time", "COLUMN", "the column of the timestamps"),
        (
            "--lifetime",
            "LIFETIME",
            "how long a row is valid, as in 'until_next max 1d'",
        ),
        ("--column", "COLUMN", "the column of a scalar input's values"),
        (
            "--order",
            "COLUMNS",
            "the columns that order rows of one timestamp, with commas",
        ),
        ("--by", "COLUMNS", "the columns of the key, with commas"),
    ):
        arguments.add_input_option(parser, option, value, explanation)
    add_text_options(parser)


def input_paths(query: tilt.CompiledQuery, args: Namespace) -> dict[str, Path]:
    """Find the file of each input that has one."""
    names = [declared.name for declared in query.query.inputs]
    assigned = arguments.assign("--input", args.input, names)
    options = TextOptions(names, args)
    paths = {}
    for name, text in assigned.items():
        path = paths[name] = Path(text)
        if is_pipe(path):
            continue
        if is_dataset(path):
            _check_dataset(path)
            continue
        if options.format(name) is None:
            known_format(path)
        if not path.exists():
            raise ArgumentsError(f"{path}: there is no such file")
    piped = [name for name, path in paths.items() if path == PIPE]
    if len(piped) > 1 or (piped and args.query == str(PIPE)):
        raise ArgumentsError(
            f"--input {piped[-1]}=-: the standard input is read already; give a file"
        )
    return paths


def _check_dataset(path: Path) -> None:
    try:
        tilt.scan_parquet(path)
    except DataError as error:
        raise ArgumentsError(str(error)) from error


def is_dataset(path: Path) -> bool:
    """Tell whether a path is a dataset of Parquet files: a directory, or a pattern."""
    return path.is_dir() or (has_magic(str(path)) and not path.exists())


def must_stream(paths: Iterable[Path], memory: str | None) -> bool:
    """Tell whether a run reads its inputs piece by piece."""
    return memory is not None or any(is_dataset(path) for path in paths)


def may_stream(
    query: tilt.CompiledQuery,
    options: Mapping[str, object],
    targets: Mapping[str, Target],
) -> bool:
    """Tell whether a run over files may read them piece by piece, and does so faster.

    Its results are those of a run over all rows, in the same order; and that run can
    follow, as files are written whole or not at all.
    """
    if any(declared.keys for declared in query.query.inputs):
        return False
    if not all(isinstance(target, FileTarget) for target in targets.values()):
        return False
    frames = [options[declared.name] for declared in query.query.inputs]
    scans = [
        frame.frame
        for frame in frames
        if isinstance(frame, BoundFrame) and isinstance(frame.frame, ParquetScan)
    ]
    if len(scans) < len(frames):
        return False
    if "memory" in options:  # a name that a run leaves free
        return False
    return sum(map(rows_of, scans)) >= DEFAULT_COSTS.spans.file_rows


def known_format(path: Path) -> FileFormat:
    """Return the format that a path's suffix stands for; refuse unknown ones."""
    try:
        return format_of(path)
    except DataError as error:
        raise ArgumentsError(str(error)) from error


def bind_files(
    query: tilt.CompiledQuery,
    paths: Mapping[str, Path],
    args: Namespace,
    *,
    read: Reader | None = None,
) -> dict[str, BoundFrame]:
    """Read the inputs' files, and bind them by the options.

    Parquet files are left for the run to read: the columns that it wants. Another
    engine reads all files, by `read`.
    """
    names = [declared.name for declared in query.query.inputs]
    words = read_binding(names, args)
    text_options = TextOptions(names, args)
    return {
        declared.name: _bind_file(
            declared,
            paths[declared.name],
            words[declared.name],
            text_options,
            query.query.unit,
            read=read,
        )
        for declared in query.query.inputs
        if declared.name in paths
    }


def read_binding(
    names: Sequence[str], args: Namespace
) -> dict[str, dict[str, str | None]]:
    """Read what the options of `BINDING` say of each input."""
    values = {
        option: arguments.assign(
            f"--{option}", getattr(args, option), names, bare_is_for_all=True
        )
        for option in BINDING
    }
    return {
        name: {option: texts.get(name) for option, texts in values.items()}
        for name in names
    }


def convert_binding(
    words: Mapping[str, str | None], unit: Unit | None
) -> dict[str, Any]:
    """Convert what the options say to the arguments of `bind`."""
    lifetime = words["lifetime"]
    return {
        "time": words["time"],
        "lifetime": None if lifetime is None else times.lifetime(lifetime, unit),
        "column": words["column"],
        "order": _split_names(words["order"]),
        "by": _split_names(words["by"]),
    }


def _split_names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split(","))


def _bind_file(
    declared: Input,
    path: Path,
    words: Mapping[str, str | None],
    text_options: TextOptions,
    unit: Unit | None,
    *,
    read: Reader | None,
) -> BoundFrame:

    def bind(table: object) -> BoundFrame:
        return tilt.bind(table, **convert_binding(words, unit))

    if read is not None:
        return bind(read(path))
    if is_dataset(path):
        return bind(tilt.scan_parquet(path))
    if not is_pipe(path):
        form = text_options.format(declared.name) or format_of(path)
        if form.name == "Parquet":
            return bind(tilt.scan_parquet(path))
    source = text_options.source(declared.name, path)
    table = read_source(source)
    if source.format.is_text:
        binding = bind(table).binding(unit)
        cast = partial(cast_as_declared, table, declared, binding, source, unit)
        table = offload(cast)
    return bind(table)
