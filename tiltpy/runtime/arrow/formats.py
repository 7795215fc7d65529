"""Formats of files: by suffix, by name, and by the first bytes of what has neither."""

from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tiltpy.argument_checks import check_argument
from tiltpy.errors import DataError, TiltError
from tiltpy.lean_dataclass import dataclass

FORMATS = {
    ".parquet": "Parquet",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".arrows": "Arrow stream",
}
"""The format of each suffix. Feather (version 2) is another name of Arrow's files."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""The compression of each suffix behind that of a text format."""

DELIMITERS = {"CSV": ",", "TSV": "\t"}
"""What separates the values of a line, in each format of delimited text."""

TEXT = (*DELIMITERS, "JSON lines")
"""The formats of text, which may be compressed as a whole."""

NAMES = {
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "arrow": "Arrow",
    "arrows": "Arrow stream",
    "parquet": "Parquet",
}
"""The formats by the names that users give."""

_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format, and the compression of a text file as a whole."""

    name: str
    compression: str | None = None

    @property
    def is_text(self) -> bool:
        """Return whether it is text, whose columns have no types."""
        return self.name in TEXT

    @property
    def is_delimited(self) -> bool:
        """Return whether it is text with a header, and a line for each row."""
        return self.name in DELIMITERS


_DECIMALS = ".", ","


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The style of delimited text.

    `delimiter` separates values, `decimal` is the decimal point of numbers.
    `date_format` is that of the times, as `strptime` has it; without one they are in
    ISO 8601. It is for JSON lines, too.
    """

    delimiter: str | None = None
    decimal: str = "."
    date_format: str | None = None

    def find_fault(self) -> tuple[str, str] | None:
        """Find an option whose value makes no sense: its name, and why not."""
        for option, sign in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if sign is not None and (len(sign) != 1 or ord(sign) > 127):
                return option, "expected a single character of ASCII, like ';'"
        if self.decimal not in _DECIMALS:
            return "decimal", "expected '.' or ','"
        if self.delimiter == self.decimal:
            why = "that is the decimal point, too; leave it out for ';', or name "
            return "delimiter", why + "another character"
        if self.date_format is not None and "%" not in self.date_format:
            return "date_format", "expected a format like '%d.%m.%Y %H:%M'"
        return None

    def delimiter_of(self, form: FileFormat) -> str:
        """Return what separates values: by default `;` beside decimal commas."""
        if self.delimiter is not None:
            return self.delimiter
        usual = DELIMITERS[form.name]
        return ";" if usual == self.decimal else usual


def format_of(path: Path, suffixes: Iterable[str] = FORMATS) -> FileFormat:
    """Find the format that a path's suffix stands for; `DataError` if none does.

    `suffixes` are those that the error offers.
    """
    compression = COMPRESSIONS.get(path.suffix.lower())
    suffix = path.with_suffix("").suffix if compression else path.suffix
    name = FORMATS.get(suffix.lower())
    if name is None:
        what = f"the suffix '{path.suffix}'" if path.suffix else "a name without suffix"
        if path.suffix.lower() == ".json":
            way_out = "a file of one object a line is called .jsonl"
        else:
            way_out = f"use {', '.join(suffixes)}"
        raise DataError(f"{path}: {what} says no format that is known; {way_out}")
    if compression and name not in TEXT:
        raise DataError(
            f"{path}: {name} files are compressed inside; leave '{path.suffix}' out"
        )
    return FileFormat(name, compression)


def named_format(name: str) -> FileFormat:
    """Find the format of a name like `csv`, `jsonl` or `csv.gz`."""
    check_argument("format", name, str, "a name like 'csv'")
    stem, _, rest = name.lower().partition(".")
    compression = COMPRESSIONS.get(f".{rest}") if rest else None
    found = NAMES.get(stem)
    if found is None or bool(rest) != bool(compression):
        raise TiltError(
            f"'{name}' is no format; use {', '.join(NAMES)}, or csv.gz, jsonl.zst, ..."
        )
    if compression and found not in TEXT:
        raise TiltError(f"{found} is compressed inside; write {stem}")
    return FileFormat(found, compression)


def detect_format(head: bytes) -> FileFormat:
    """Tell the format of some bytes by the first of them; text is CSV, JSON or TSV."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return FileFormat(name)
    if head.removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        return FileFormat("JSON lines")
    header = head.partition(b"\n")[0]
    return FileFormat("TSV" if b"\t" in header and b"," not in header else "CSV")


def detect_compression(head: bytes) -> str | None:
    """Tell the compression of some bytes by the first of them."""
    for magic, name in _COMPRESSED.items():
        if head.startswith(magic):
            return name
    return None


def for_pipes(form: FileFormat) -> FileFormat:
    """Return the format for a pipe, in which nobody can seek: Arrow as a stream."""
    return replace(form, name="Arrow stream") if form.name == "Arrow" else form
