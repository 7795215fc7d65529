"""Damaged files end in one clear line, or are read; they never end the process.

Files of every format, as our writers make them, are damaged and read in a child process
in every way that we read files. A signal that pyarrow's own reader, alone, gives over
the same file is none of ours: it is printed.
"""

import contextlib
import io
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from signal import Signals

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.forked import try_all
from tiltpy.cli.main import main
from tiltpy.errors import TiltError
from tiltpy.runtime.arrow.files import read_table, write_tables
from tiltpy.runtime.arrow.formats import FORMATS

CASES = 100
DEEP = 100_000
BATCHES = 2
FOUND = 22_298, 29_472, 38_100, 64_213
"""Cases that were tracebacks once: names that are no UTF-8, intervals of months."""
TEXT = """\
unit s
input x : { a: f64, b: string, c: time, d: bool, e: i32 } interval (start, end)
~o[t] = ~x[t]
"""
ROWS = 60
WORDS_OF_BITS = 0, 1, -1, 255, 1000, 1 << 20, 0x7FFFFFFF, 1 << 31, 1 << 62
WORDS = "", "a", "bb", "a word of more than twelve bytes", "é", "zz"


def source() -> pa.Table:
    """Rows of every type that goes out."""
    random = Random(1)  # noqa: S311
    some = range(ROWS)
    stamps = [1_000 + 3 * number for number in some]
    return pa.table(
        {
            "start": pa.array([one - 2 for one in stamps], pa.timestamp("s")),
            "end": pa.array(stamps, pa.timestamp("s")),
            "a": [None if n % 7 == 3 else n / 8 for n in some],
            "b": [random.choice((*WORDS, None)) for _ in some],
            "c": pa.array(stamps, pa.timestamp("s")),
            "d": [n % 3 == 1 for n in some],
            "e": pa.array([n % 5 or None for n in some], pa.int32()),
        }
    )


@dataclass(frozen=True, slots=True)
class Files:
    """Sound files, a query over them, and a folder for damaged ones."""

    folder: Path
    query: tilt.CompiledQuery
    sound: list[tuple[str, bytes]]
    """The suffix and the bytes of each."""


def files_in(folder: Path) -> Files:
    """Files as our writers make them: of whole results, and piece by piece."""
    query, found = tilt.parse(TEXT, options=tilt.CompileOptions(optimize=False)), []
    (folder / "q.tilt").write_text(TEXT)
    table = source()
    for suffix in FORMATS:
        whole, pieces = folder / f"whole{suffix}", folder / f"pieces{suffix}"
        write_tables({whole: query.run(x=table).to_arrow()})
        query.run_to(pieces, x=table.to_reader(max_chunksize=20))
        found += [(suffix, whole.read_bytes()), (suffix, pieces.read_bytes())]
    return Files(folder, query, found)


def mutated(random: Random, content: bytes) -> bytes:
    """The bytes with a few of them changed, moved, doubled or lost."""
    found = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        place, size = random.randrange(len(found)), random.choice((1, 2, 4, 8))
        if random.random() < 0.4:  # where footers are, or headers
            place = random.choice((place % 400, -1 - place % 900)) % len(found)
        match random.randrange(6):
            case 0 | 1:
                found[place] ^= 1 << random.randrange(8)
            case 2:
                found[place] = random.randrange(256)
            case 3:
                word = random.choice(WORDS_OF_BITS) % (1 << 8 * size)
                found[place : place + size] = word.to_bytes(size, "little")
            case 4:
                other = random.randrange(len(found))
                found[place:place] = found[other : other + random.choice((size, 64))]
            case _:
                del found[place : place + random.choice((size, 64, len(found)))]
        if not found:
            break
    return bytes(found)


def damaged(files: Files, seed: int) -> tuple[Path, Random]:
    """The file of a case, written."""
    random = Random(seed)  # noqa: S311
    suffix, content = random.choice(files.sound)
    path = files.folder / f"damaged{suffix}"
    path.write_bytes(mutated(random, content))
    return path, random


def attempt(files: Files, seed: int) -> str:
    """Read a damaged file in one of our ways; anything but an error is fine."""
    path, random = damaged(files, seed)
    way = random.choice(("command", "read", "scan"))
    if way == "command" or path.suffix == ".csv":
        return _command(files, path)
    try:
        if way == "scan" and path.suffix == ".parquet":
            for part in files.query.stream(x=tilt.scan_parquet(path)):
                part.to_arrow()
        else:
            files.query.run(x=read_table(path)).to_arrow()
    except TiltError:
        return "refused"
    return "read"


def _command(files: Files, path: Path) -> str:
    out, err = io.StringIO(), io.StringIO()
    words = ["run", str(files.folder / "q.tilt"), "--input", str(path)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    assert "Traceback" not in err.getvalue()
    assert code in (0, 1), f"{code}: {err.getvalue()}"
    return "refused" if code else "read"


def alone(files: Files, seed: int) -> str:
    """Make the same file, read by pyarrow alone."""
    path, _ = damaged(files, seed)
    try:
        match path.suffix:
            case ".parquet":
                pq.ParquetFile(path).read()
            case ".csv":
                pc.read_csv(path)
            case _:
                with pa.OSFile(str(path)) as file:
                    pi.open_file(file).read_all().validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return "refused"
    return "read"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_files(batch: int, tmp_path: Path, *, deep: bool) -> None:
    files = files_in(tmp_path)
    cases = sorted({*range(batch, DEEP if deep else CASES, BATCHES), *FOUND})
    found = try_all(cases, partial(attempt, files))
    signals = [seed for seed, one in found.items() if isinstance(one, Signals)]
    again = try_all(signals, partial(alone, files))
    theirs = {seed: one for seed, one in again.items() if isinstance(one, Signals)}
    print(f"{len(cases):,} files, signals of pyarrow's readers: {theirs}")
    bad = {
        seed: one
        for seed, one in found.items()
        if one not in ("read", "refused") and seed not in theirs
    }
    assert bad == {}
    counts = Counter(map(str, found.values()))
    assert min(counts["read"], counts["refused"]) > len(cases) // 10
