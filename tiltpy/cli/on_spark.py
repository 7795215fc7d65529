"""`tilt run --engine spark`: Parquet to Parquet by Spark, no rows in this process."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

import tiltpy as tilt
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import known_format
from tiltpy.cli.console import ROWS, say_preview
from tiltpy.cli.run_options import (
    check_distinct_paths,
    check_output_path,
    read_run_options,
)
from tiltpy.cli.text_options import is_pipe
from tiltpy.errors import TiltError

MASTER = "local[*]"


def add_spark_arguments(parser: ArgumentParser) -> None:
    """Add the options that choose the engine, and where it runs."""
    parser.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="the engine that runs the query. spark reads and writes folders of "
        "Parquet files, and needs pip install 'tiltpy[spark]' and Java 17 or later",
    )
    parser.add_argument(
        "--master",
        metavar="MASTER",
        help=f"the master of Spark, as in local[2] or spark://HOST:PORT; by default "
        f"{MASTER}",
    )


def check_engine(args: Namespace) -> None:
    """Refuse options of one engine beside the other."""
    if args.engine == "local":
        if args.master is not None:
            raise ArgumentsError("--master is Spark's; add --engine spark")
        return
    for option in (
        "memory", "workers", "check_reductions", "limit", "output_format", "view",
        "input_format", "delimiter", "decimal", "date_format",
    ):  # fmt: skip
        if getattr(args, option):
            word = option.replace("_", "-")
            raise ArgumentsError(
                f"--{word} is no option of --engine spark; leave it out"
            )


def run_on_spark(
    query: tilt.CompiledQuery,
    paths: Mapping[str, Path],
    outputs: Mapping[str, Path],
    args: Namespace,
) -> int:
    """Run a query; returns the exit code.

    `paths` are the files of inputs, `outputs` those of outputs, by name; `args` the
    options of the command.
    """
    try:
        # An extra, and slow to import.
        from tiltpy.spark import apply_all, files  # noqa: PLC0415
        from tiltpy.spark.error_lines import translate_errors  # noqa: PLC0415
        from tiltpy.spark.session import start_session  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise TiltError(
            f"--engine spark needs {missing.name}, which is not installed; "
            "pip install 'tiltpy[spark]'"
        ) from missing
    for path in outputs.values():
        files.check_dataset_path(path)
    with start_session(args.master or MASTER) as session:
        options = read_run_options(
            query,
            paths,
            args,
            tilt.CompiledQuery.run,
            read=lambda path: files.read_frame(session, path),
        )
        inputs = {name: options.pop(name) for name in paths}
        domain = {name: options.pop(name) for name in ("start", "end", "chunk")}
        del options["workers"]
        frames = apply_all(query, inputs, bounds=options, **domain)
        if outputs:
            files.write_frames({outputs[name]: frames[name] for name in outputs})
            return 0
        for name, frame in frames.items():
            with translate_errors():
                count, head = files.read_head(frame, ROWS)
            say_preview(name, head, ROWS, count)
    return 0


def read_paths(
    query: tilt.CompiledQuery, inputs: Mapping[str, Path], args: Namespace
) -> dict[str, Path]:
    """Read the datasets that outputs go to; all datasets are of Parquet."""
    assigned = arguments.assign("--output", args.output, query.query.outputs)
    paths = {name: Path(text) for name, text in assigned.items()}
    by_option = {f"--output {name}={path}": path for name, path in paths.items()}
    _check_formats({f"--input {name}": path for name, path in inputs.items()})
    _check_formats(by_option)
    for path in paths.values():
        check_output_path(path, dataset=True)
    check_distinct_paths(by_option, [*inputs.values(), Path(args.query)])
    return paths


def _check_formats(paths: Mapping[str, Path]) -> None:
    """Refuse all formats but Parquet; `paths` are by their names in messages."""
    for name, path in paths.items():
        piped = is_pipe(path)
        if piped or (path.suffix and known_format(path).name != "Parquet"):
            raise ArgumentsError(
                f"{name}: --engine spark reads and writes Parquet; name a .parquet"
            )
