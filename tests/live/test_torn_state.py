"""Damage and torn writes of a state in segments: named, or an older state is whole.

A state is never half believed: what is read is a checkpoint that was written, to the
byte, or an error that names the file.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import copytree

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import StateError
from tiltpy.live import content_cuts, sinks, sources, state_folder
from tiltpy.live.run_live import run_live
from tiltpy.live.state_folder import Checkpoint, Identity, StateFolder

ME = Identity("1", "query")
LARGE = 2_000
LEAST, MOST = 250, 1_000
OPERATIONS = ((Path, "write_bytes"), (os, "fsync"), (Path, "replace"), (Path, "unlink"))
QUERY = "unit s\ninput x : f64 time t point\n~y[t] = sum(~x[t-300 : t])\n"


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_folder, "LARGE", LARGE)
    monkeypatch.setattr(content_cuts, "LEAST", LEAST)
    monkeypatch.setattr(content_cuts, "MOST", MOST)


def read(folder: Path) -> Checkpoint | None:
    state = StateFolder(folder)
    state.open()
    try:
        return state.read(ME)
    finally:
        state.close()


def draw_sessions(random: Random, count: int, *, small: float = 0.2) -> Iterator[bytes]:
    """Draw sessions that begin as the one before, most of them, and end otherwise.

    Some are too small for segments.
    """
    rows = random.randbytes(6_000)
    for _ in range(count):
        if random.random() < small:
            yield rows[: LARGE // 2]
            continue
        kept = random.choice((0, *range(len(rows) // 2, len(rows))))
        rows = rows[:kept] + random.randbytes(random.randrange(LARGE, 2 * LARGE))
        yield rows


def write_all(folder: Path, sessions: Iterator[bytes]) -> list[Checkpoint]:
    state = StateFolder(folder)
    state.open()
    checkpoints = []
    for number, session in enumerate(sessions):
        checkpoints.append(Checkpoint(ME, {"x": number}, {}, session))
        state.write(checkpoints[-1])
    state.close()
    return checkpoints


# -- damage ---------------------------------------------------------------------------

Damage = Callable[[bytes, Random], bytes]
DAMAGES: dict[str, Damage] = {
    "truncated": lambda content, random: content[: random.randrange(len(content))],
    "a bit": lambda content, random: flip(content, random.randrange(8 * len(content))),
    "zeros": lambda content, random: blank(content, random.randrange(len(content))),
    "empty": lambda _, __: b"",
    "moved": lambda content, _: b"?" + content,
    "other bytes": lambda content, random: random.randbytes(len(content)),
}


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def blank(content: bytes, first: int) -> bytes:
    """Bytes that never came to the disk, though the length of the file did."""
    return content[:first] + bytes(len(content) - first)


def read_or_name(folder: Path, damaged: Path, whole: Checkpoint) -> bool:
    """Tell whether a damage is named; what is read otherwise must be the checkpoint."""
    try:
        found = read(folder)
    except StateError as error:
        assert str(damaged) in str(error)  # noqa: PT017
        return True
    assert found == whole
    return False


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_or_was_not_needed(
    damage: Damage, tmp_path: Path
) -> None:
    random = Random(3)  # noqa: S311
    whole = write_all(tmp_path, draw_sessions(random, 20, small=0))[-1]
    files = sorted(path for path in tmp_path.iterdir() if path.name != "lock")
    assert len(files) > 2
    for path in files:
        content = path.read_bytes()
        named = 0
        for _ in range(10):
            path.write_bytes(damage(content, random))
            named += read_or_name(tmp_path, path, whole)
        assert named, path
        path.write_bytes(content)
    assert read(tmp_path) == whole


def test_files_that_are_missing_or_swapped_are_named(tmp_path: Path) -> None:
    random = Random(3)  # noqa: S311
    whole = write_all(tmp_path, draw_sessions(random, 20, small=0))[-1]
    files = sorted(tmp_path.glob("rows-*"))
    contents = [path.read_bytes() for path in files]
    assert len(files) > 2
    for path, content in zip(files, contents, strict=True):
        path.unlink()
        with pytest.raises(StateError, match=f"{path.name}: is not there any more"):
            read(tmp_path)
        for other in contents:
            path.write_bytes(other)
            assert read_or_name(tmp_path, path, whole) == (other != content)
        path.write_bytes(content)
    assert read(tmp_path) == whole


def test_files_of_another_moment_are_named(tmp_path: Path) -> None:
    """Somebody restored some of the files from a copy, and not the others."""
    random = Random(8)  # noqa: S311
    before, after = tmp_path / "before", tmp_path / "after"
    older = write_all(before, draw_sessions(random, 9, small=0))[-1]
    copytree(before, after)
    state = StateFolder(after)
    state.open()
    state.read(ME)
    state.write(replace(older, sources={"x": 99}, session=random.randbytes(5_000)))
    state.close()
    newest = read(after)
    (after / "checkpoint").write_bytes((before / "checkpoint").read_bytes())
    with pytest.raises(StateError, match=r"rows-.*is not there any more"):
        read(after)
    assert newest is not None
    assert newest.sources == {"x": 99}


# -- torn writes ----------------------------------------------------------------------


class KilledError(BaseException):
    """The process ends here."""


@contextmanager
def fail_at(point: int, error: type[BaseException]) -> Iterator[None]:
    """Fail at the n-th time that a file is written, synced, renamed or removed.

    Half of the bytes are written then.
    """
    left = point
    with pytest.MonkeyPatch.context() as patch:

        def watch(place: object, name: str) -> None:
            original = getattr(place, name)

            def call(*args: object) -> object:
                nonlocal left
                left -= 1
                if left:
                    return original(*args)
                if name == "write_bytes":
                    path, content = args
                    assert isinstance(content, bytes)
                    original(path, content[: len(content) // 2])
                raise error

            patch.setattr(place, name, call)

        for place, name in OPERATIONS:
            watch(place, name)
        yield


@pytest.mark.parametrize("error", [KilledError, OSError])
def test_a_torn_write_leaves_a_whole_checkpoint(
    error: type[BaseException], tmp_path: Path, *, deep: bool
) -> None:
    """A process is killed, or a disk is full and it goes on with the same folder."""
    torn = 0
    for seed in range(400 if deep else 12):
        random = Random(seed)  # noqa: S311
        folder = tmp_path / str(seed)
        state = StateFolder(folder)
        state.open()
        last: Checkpoint | None = None
        for number, session in enumerate(draw_sessions(random, 12)):
            checkpoint = Checkpoint(ME, {"x": number}, {}, session)
            try:
                with fail_at(random.randint(1, 16), error):
                    state.write(checkpoint)
            except (KilledError, StateError):
                torn += 1
                if error is KilledError:
                    state.close()
                    state = StateFolder(folder)
                    state.open()
                    found = state.read(ME)
                else:  # another process looks at what is on the disk
                    copy = tmp_path / f"{seed}-{number}"
                    copytree(folder, copy)
                    found = read(copy)
                assert found in (last, checkpoint), (seed, number)
                last = found
            else:
                last = checkpoint
        state.close()
        assert read(folder) == last, seed
    assert torn > 20


def test_a_file_is_never_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small state could not be written, and then not a large one either."""
    random = Random(6)  # noqa: S311
    (whole,) = write_all(tmp_path, iter([random.randbytes(3 * LARGE)]))
    state = StateFolder(tmp_path)
    state.open()
    assert state.read(ME) == whole
    monkeypatch.setattr(Path, "replace", refuse)
    for session in (b"small", random.randbytes(3 * LARGE)):
        with pytest.raises(StateError, match="no checkpoint written"):
            state.write(replace(whole, session=session))
    state.close()
    assert read(tmp_path) == whole


def refuse(*_: object) -> None:
    raise OSError


# -- runs -----------------------------------------------------------------------------


def test_a_run_over_a_damaged_state_changes_nothing(tmp_path: Path) -> None:
    """With the copy back it goes on, and has the bytes of a run without damage."""
    draw = np.random.default_rng(4)
    rows = pa.table({"t": range(900), "x": draw.normal(size=900)})
    frames = [rows.slice(first, 90) for first in range(0, 900, 90)]

    def run(folder: Path, count: int) -> None:
        folder.mkdir(exist_ok=True)
        run_live(
            tilt.parse(QUERY),
            sources={"x": sources.frames(frames[:count])},
            into={"y": sinks.file(folder / "y.jsonl")},
            state=folder / "state",
            until_end=count == len(frames),
        )

    run(tmp_path / "whole", 10)
    place = tmp_path / "damaged"
    run(place, 6)
    written = (place / "y.jsonl").read_bytes()
    assert len(written.splitlines()) > 100
    for path in sorted((place / "state").glob("rows-*")):
        content = path.read_bytes()
        for damaged in (content[:-1], flip(content, 40), None):
            if damaged is None:
                path.unlink()
            else:
                path.write_bytes(damaged)
            files = {each: each.read_bytes() for each in place.glob("state/[rc]*")}
            with pytest.raises(StateError, match=path.name):
                run(place, 10)
            assert (place / "y.jsonl").read_bytes() == written
            assert files == {e: e.read_bytes() for e in place.glob("state/[rc]*")}
        path.write_bytes(content)
    run(place, 10)
    assert (place / "y.jsonl").read_bytes() == (
        tmp_path / "whole" / "y.jsonl"
    ).read_bytes()
