"""Options for text files and for the standard input: formats, delimiters, dates."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.errors import TiltError
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle, named_format
from tiltpy.runtime.arrow.sources import TableSource, file_source, pipe_source
from tiltpy.runtime.concurrency.offload import offload

PIPE = Path("-")
"""The standard input or output among paths."""

_OPTIONS = ("input_format", "delimiter", "decimal", "date_format")


def add_text_options(parser: ArgumentParser) -> None:
    """Add the options that say how the values of text files are written."""
    for option, value, meaning in (
        (
            "--input-format",
            "FORMAT",
            "the format of a file whose suffix does not tell: csv, tsv, jsonl, arrow, "
            "parquet, or csv.gz, jsonl.zst, ... The standard input needs none: its "
            "first bytes tell",
        ),
        ("--delimiter", "CHAR", "the separator of values in a CSV file, as in ';'"),
        (
            "--decimal",
            "CHAR",
            "the decimal point in a CSV file; with ',' the separator is ';' unless "
            "--delimiter says otherwise",
        ),
        (
            "--date-format",
            "FORMAT",
            "the format of times in a text file, as in '%%d.%%m.%%Y %%H:%%M'; by "
            "default they are like 2024-03-01 09:30:00",
        ),
    ):
        parser.add_argument(
            option,
            metavar=f"[NAME=]{value}",
            action="append",
            default=[],
            help=meaning,
        )


class TextOptions:
    """The formats and text styles of inputs, by name."""

    def __init__(self, names: Sequence[str], args: Namespace) -> None:
        values = {
            option: arguments.assign(
                "--" + option.replace("_", "-"),
                getattr(args, option),
                names,
                bare_is_for_all=True,
            )
            for option in _OPTIONS
        }
        self._formats = {
            name: _read_format("--input-format", text)
            for name, text in values["input_format"].items()
        }
        self._styles = {name: _read_style(name, values) for name in names}

    def format(self, name: str) -> FileFormat | None:
        """Return the format that an option says; None if none does."""
        return self._formats.get(name)

    def style(self, name: str) -> TextStyle:
        """Return how an input writes its values."""
        return self._styles[name]

    def source(self, name: str, path: Path) -> TableSource:
        """Make the source of an input, and read the standard input."""
        form, style = self._formats.get(name), self._styles[name]
        if not is_pipe(path):
            return file_source(path, form, style)
        if path == PIPE:
            if sys.stdin is None:
                raise ArgumentsError("-: the standard input is closed")
            pipe = sys.stdin.buffer
            return offload(lambda: pipe_source(pipe, "<stdin>", form, style))
        return offload(lambda: _read_pipe(path, form, style))


def _read_pipe(path: Path, form: FileFormat | None, style: TextStyle) -> TableSource:
    with path.open("rb") as pipe:
        return pipe_source(pipe, str(path), form, style)


def is_pipe(path: Path) -> bool:
    """Tell whether a path is the standard input, or can be read only once."""
    return path == PIPE or path.is_fifo() or path.is_char_device()


def _read_format(option: str, text: str) -> FileFormat:
    try:
        return named_format(text)
    except TiltError as error:
        raise ArgumentsError(f"{option} {text}: {error}") from error


def read_output_format(text: str) -> FileFormat:
    """Read the format of an output."""
    return _read_format("--output-format", text)


def _read_style(name: str, values: Mapping[str, Mapping[str, str]]) -> TextStyle:
    delimiter = values["delimiter"].get(name)
    decimal = values["decimal"].get(name, ".")
    if delimiter in (r"\t", "tab"):
        delimiter = "\t"
    style = TextStyle(delimiter, decimal, values["date_format"].get(name))
    fault = style.find_fault()
    if fault is not None:
        option, why = fault
        value = getattr(style, option)
        raise ArgumentsError(f"--{option.replace('_', '-')} {value}: {why}")
    return style
