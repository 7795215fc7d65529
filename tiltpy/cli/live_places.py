"""Sources and sinks of `tilt live`, as words of a command line."""

from argparse import Namespace
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import cast

import tiltpy as tilt
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.run_options import check_distinct_paths, check_output_path
from tiltpy.cli.text_options import PIPE, TextOptions
from tiltpy.errors import TiltError
from tiltpy.live import sinks, sources
from tiltpy.live.sinks.sink import Sink
from tiltpy.live.sources import StyleOptions
from tiltpy.live.sources.source import RowSource
from tiltpy.runtime.arrow.formats import NAMES, FileFormat

STDIN = "-"
KINDS = ("tail", "folder", "replay")
SIDE = "side:"


def open_sources(query: tilt.CompiledQuery, args: Namespace) -> dict[str, RowSource]:
    """Open the source of each input."""
    names = [declared.name for declared in query.query.inputs]
    words = arguments.assign("--input", args.input, names)
    missing = [
        i.name for i in query.inputs.values() if i.needed and i.name not in words
    ]
    if missing:
        raise ArgumentsError(
            f"no source for input {arguments.join_names(missing)}; "
            f"add --input {missing[0]}=tail:FILE"
        )
    piped = [name for name, word in words.items() if word == STDIN]
    if len(piped) > 1 or (piped and args.query == STDIN):
        raise ArgumentsError(
            f"--input {piped[-1]}=-: the standard input is read already; give a file"
        )
    options = TextOptions(names, args)
    opened = {}
    for name, word in words.items():
        if query.inputs[name].needed:
            try:
                opened[name] = _open_source(name, word, options, args)
            except ArgumentsError:
                raise
            except TiltError as error:
                raise ArgumentsError(f"--input {name}={word}: {error}") from error
    return opened


def _open_source(
    name: str, word: str, options: TextOptions, args: Namespace
) -> RowSource:
    follow = args.until is None
    form = _name_format(options.format(name))
    style = cast(StyleOptions, asdict(options.style(name)))
    if word == STDIN:
        return sources.stdin(format=form, resume=args.resume_stdin, **style)
    kind, colon, rest = word.partition(":")
    if colon and kind not in KINDS and not Path(word).exists():
        raise ArgumentsError(
            f"--input {name}={word}: there is no source '{kind}:'; use "
            f"{', '.join(f'{each}:' for each in KINDS)}, a file, or -"
        )
    match kind if colon else "":
        case "tail":
            return sources.tail(rest, format=form, follow=follow, **style)
        case "folder":
            path, pattern = Path(rest), "*"
            if has_magic(path.name):
                path, pattern = path.parent, path.name
            return sources.folder(path, pattern, format=form, follow=follow, **style)
        case "replay":
            path_text, speed = _split_speed(name, rest)
            return sources.replay(path_text, speed=speed, format=form)
        case _:
            if Path(word).is_dir():
                raise ArgumentsError(
                    f"--input {name}={word}: is a directory; write folder:{word}"
                )
            return sources.file(word, format=form, **style)


def _split_speed(name: str, text: str) -> tuple[str, float]:
    """Split `FILE@60x`; without a speed nothing waits."""
    path, sign, speed = text.rpartition("@")
    if not sign or Path(text).exists():
        return text, float("inf")
    try:
        times = float(speed.removesuffix("x"))
    except ValueError:
        times = 0.0
    if not times > 0:
        raise ArgumentsError(
            f"--input {name}=replay:{text}: expected a speed like @60x, found @{speed}"
        )
    return path, times


def _name_format(form: FileFormat | None) -> str | None:
    """Name a format as the functions of `tilt.sources` do."""
    if form is None:
        return None
    name = next(name for name, known in NAMES.items() if known == form.name)
    suffixes = {None: "", "gzip": ".gz", "zstd": ".zst"}
    return name + suffixes[form.compression]


def open_sinks(query: tilt.CompiledQuery, args: Namespace) -> dict[str, Sink]:
    """Open the sink of each output that is wanted."""
    names = query.query.outputs
    words = arguments.assign("--output", args.output, names)
    formats = arguments.assign(
        "--output-format", args.output_format, names, bare_is_for_all=True
    )
    if not words:
        if len(names) > 1:
            raise ArgumentsError(
                f"the outputs are {arguments.join_names(names)}; say where they go: "
                f"--output {names[0]}=FILE"
            )
        words = dict.fromkeys(names, str(PIPE))
    if sum(word == str(PIPE) for word in words.values()) > 1:
        raise ArgumentsError(
            "--output: only one output can go to the standard output; name a file for "
            "each other one"
        )
    _check_paths(words, args)
    return {
        name: _open_sink(f"--output {name}={word}", word, formats.get(name))
        for name, word in words.items()
    }


def _check_paths(words: dict[str, str], args: Namespace) -> None:
    late = [word.partition(SIDE)[2] for word in args.late if SIDE in word]
    accepted = {f"--accepted {word}": word for word in args.accepted}
    files = {
        **{f"--output {name}={word}": Path(word) for name, word in words.items()},
        **{f"--late {word}": Path(word) for word in late},
        **{n: Path(word.partition("=")[2] or word) for n, word in accepted.items()},
    }
    places = {option: path for option, path in files.items() if path != PIPE}
    for path in places.values():
        check_output_path(path, dataset=True)
    read = [word.partition("=")[2] or word for word in args.input]
    paths = [Path(word.partition(":")[2] or word) for word in read if word != STDIN]
    check_distinct_paths(places, [*paths, Path(args.query)])


def _open_sink(option: str, word: str, form: str | None) -> Sink:
    try:
        if word == str(PIPE):
            return sinks.stdout(form or "jsonl")
        if word.endswith("/") or Path(word).is_dir():
            return sinks.folder(word)
        return sinks.file(word, format=form)
    except TiltError as error:
        raise ArgumentsError(f"{option}: {error}") from error


def open_late_sinks(late: dict[str, str]) -> dict[str, Sink]:
    """Open the sinks of late rows."""
    return {
        name: _open_sink(f"--late {name}={way}", way.removeprefix(SIDE), None)
        for name, way in late.items()
        if way.startswith(SIDE)
    }


def open_archives(names: list[str], args: Namespace) -> dict[str, Sink]:
    """Open the sinks of accepted rows."""
    words = arguments.assign("--accepted", args.accepted, names)
    if str(PIPE) in words.values():
        raise ArgumentsError("--accepted -: name a file or a directory, as in rows/")
    return {
        name: _open_sink(f"--accepted {name}={word}", word, None)
        for name, word in words.items()
    }
