"""Large states in pieces: a checkpoint writes what changed, and damage is named."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tiltpy.errors import StateError
from tiltpy.live import state_segments
from tiltpy.live.content_cuts import LEAST, MOST, cut_content
from tiltpy.live.state_folder import Checkpoint, Identity, StateFolder
from tiltpy.live.state_segments import SegmentStore

KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "floats": lambda draw, n: draw.normal(size=n),
    "ticks": lambda draw, n: np.cumsum(draw.integers(0, 5, n)),
    "regular": lambda _, n: np.arange(n),
    "eighths": lambda draw, n: draw.integers(-80, 80, n) / 8,
    "f32": lambda draw, n: draw.normal(size=n).astype(np.float32),
    "equal": lambda _, n: np.ones(n),
}
ROWS = 400_000
ME = Identity("1", "query")


def written_since(folder: Path, before: set[Path]) -> int:
    """The bytes of files that were not there before."""
    new = set(folder.glob("rows-*")) - before
    return sum(path.stat().st_size for path in new)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_move_are_not_written_again(kind: str, tmp_path: Path) -> None:
    """Some rows are forgotten in front, as many come behind, with two columns."""
    draw = np.random.default_rng(3)
    rows = KINDS[kind](draw, ROWS + 30_000)
    store = SegmentStore(tmp_path)
    for first in range(0, 30_000, 3_001):
        before = set(tmp_path.glob("rows-*"))
        state = rows[first : first + ROWS].tobytes() + draw.bytes(1000)
        listed = store.write(state)
        store.tidy()
        if first:
            assert written_since(tmp_path, before) < 4 * MOST < len(state)
        assert SegmentStore(tmp_path).read(listed) == state
    held = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert held < 2 * len(state) + MOST


def test_cuts_are_bounded_and_lose_nothing() -> None:
    draw = Random(4)  # noqa: S311
    for size in (0, 1, 63, LEAST, MOST + 1, 5 * MOST + 3):
        content = draw.randbytes(size)
        pieces = cut_content(content)
        assert b"".join(pieces) == content
        assert all(LEAST <= len(piece) <= MOST for piece in pieces[:-1])


def test_files_stay_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_segments, "MOST_FILES", 6)
    draw = np.random.default_rng(5)
    rows = draw.bytes(4 * MOST)
    store = SegmentStore(tmp_path)
    for _ in range(30):
        rows = rows[2 * LEAST :] + draw.bytes(2 * LEAST)
        listed = store.write(rows)
        store.tidy()
        assert len(list(tmp_path.iterdir())) <= 6
    assert SegmentStore(tmp_path).read(listed) == rows


def make_folder(folder: Path) -> tuple[Checkpoint, list[Path]]:
    """A folder with a checkpoint whose session is in two files."""
    draw = np.random.default_rng(6)
    state = StateFolder(folder)
    state.open()
    content = draw.bytes(4 * MOST)
    for more in (0, 1000):
        checkpoint = Checkpoint(ME, {"x": 1}, {}, content + draw.bytes(more))
        state.write(checkpoint)
    state.close()
    files = sorted(folder.glob("rows-*"))
    assert len(files) == 2
    return checkpoint, files


def read(folder: Path) -> Checkpoint | None:
    state = StateFolder(folder)
    state.open()
    try:
        return state.read(ME)
    finally:
        state.close()


def test_a_large_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    checkpoint, files = make_folder(tmp_path)
    assert read(tmp_path) == checkpoint
    assert (tmp_path / "checkpoint").stat().st_size < 10_000
    state = StateFolder(tmp_path)
    state.open()
    state.read(ME)
    small = Checkpoint(ME, {"x": 2}, {}, b"small")
    state.write(small)
    state.close()
    assert not any(path.exists() for path in files)
    assert read(tmp_path) == small


def test_what_a_crash_left_is_no_part_of_the_state(tmp_path: Path) -> None:
    """Pieces were written, and the checkpoint that lists them was not."""
    checkpoint, _ = make_folder(tmp_path)
    listed = (tmp_path / "checkpoint").read_bytes()
    state = StateFolder(tmp_path)
    state.open()
    state.read(ME)
    other = Checkpoint(ME, {"x": 2}, {}, np.random.default_rng(7).bytes(3 * MOST))
    state._segments.write(other.session or b"")
    state.close()
    assert (tmp_path / "checkpoint").read_bytes() == listed
    assert read(tmp_path) == checkpoint
    state.open()
    state.read(ME)
    state.write(other)
    state.close()
    assert read(tmp_path) == other


def test_missing_and_damaged_pieces_are_named(tmp_path: Path) -> None:
    _, (first, second) = make_folder(tmp_path)
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    message = rf"{first.name}: is damaged, the checksum of its \d+ bytes from"
    with pytest.raises(StateError, match=message):
        read(tmp_path)
    first.write_bytes(content[:100])
    with pytest.raises(StateError, match=f"{first.name}: is damaged"):
        read(tmp_path)
    second.unlink()
    with pytest.raises(StateError, match=f"{second.name}: is not there any more"):
        read(tmp_path)
