"""The disk store reads only its user's files, and removes only those it made."""

import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tiltpy as tilt
from tests import ROOT
from tests.codegen.test_cache import FRAME, MEAN
from tiltpy.disk_store import DiskStore, user_store
from tiltpy.frontend.text.grammar import grammar_text, parser, stored_parser

OTHER = 12345
"""A user who is nobody here."""
Plant = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "caches" / "compiled"


def entry_of(folder: Path) -> Path:
    """The file of the only entry."""
    (entry,) = folder.iterdir()
    return entry


def give_away(path: Path) -> None:
    """Make a path another user's, which only root can."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")
    os.chown(path, OTHER, OTHER)


def as_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(0o700)


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"")


def damaged(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.parametrize(
    "plant",
    [
        give_away,
        as_link,
        as_pipe,
        as_folder,
        damaged,
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: path.chmod(0o644),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: os.truncate(path, 1 << 40),
    ],
)
def test_an_entry_that_is_not_ones_own_is_none(plant: Plant, folder: Path) -> None:
    store = DiskStore(folder)
    store.put("key", b"content")
    entry = entry_of(folder)
    plant(entry)
    assert store.get("key") is None
    store.put("key", b"another")
    assert store.get("key") == (None if entry.is_dir() else b"another")


@pytest.mark.parametrize(
    "plant",
    [
        give_away,
        as_link,
        lambda path: path.chmod(0o770),
        lambda path: path.chmod(0o707),
        lambda path: path.chmod(0o750),
        as_file,
    ],
)
def test_a_folder_that_is_not_ones_own_is_none(plant: Plant, folder: Path) -> None:
    store = DiskStore(folder)
    store.put("key", b"content")
    content = entry_of(folder).read_bytes()
    plant(folder)
    assert store.get("key") is None
    store.put("key", b"another")
    store.put("other", b"content")
    if folder.is_dir():
        assert entry_of(folder).read_bytes() == content


def test_only_what_was_made_here_is_removed(folder: Path) -> None:
    store = DiskStore(folder, bound=8 * 4096)
    for number in range(32):
        store.put(str(number), b"content")
    mine = set(folder.iterdir())
    letter, name = folder.with_name("letter"), "0123456789abcdef" * 4
    letter.write_text("dear reader")
    others = [folder / "notes.txt", folder / name[1:], folder / f"{name}.bak"]
    others += [folder / name, folder / f"{name[:16]}.new"]
    for path in others[:3]:
        path.write_text("one's own " * 4096)
    others[3].symlink_to(letter)
    others[4].mkdir()
    for path in others:
        os.utime(path, (1, 1), follow_symlinks=False)
    litter = folder / "fedcba9876543210.new"  # of a process that was killed
    litter.write_bytes(b"half of it")
    os.utime(litter, (1, 1))
    DiskStore(folder, bound=8 * 4096).put("last", b"content")
    assert letter.read_text() == "dear reader"
    assert all(os.path.lexists(path) for path in others)
    assert not litter.exists()
    assert len(set(folder.iterdir()) - set(others)) == 7 < len(mine)


@pytest.mark.parametrize(
    ("caches", "home", "place"),
    [
        ("caches", "/home/one", "/home/one/.cache/tiltpy/compiled"),
        ("", "/home/one", "/home/one/.cache/tiltpy/compiled"),
        ("./", "home", None),
        ("/caches", "home", "/caches/tiltpy/compiled"),
    ],
)
def test_relative_places_are_not_believed(
    caches: str, home: str, place: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", caches)
    monkeypatch.setenv("HOME", home)
    store = user_store()
    assert (None if store is None else str(store.folder)) == place


def test_nothing_of_the_package_unpickles() -> None:
    reads = re.compile(
        r"^ *(?:import|from) (?:pickle|marshal|shelve|cloudpickle|dill|joblib)\b|"
        r"\b(?:eval|exec)\(|allow_pickle=True|\bLark\.open\b|\bcache=True\b",
        re.MULTILINE,
    )
    # Two modules compile functions: of the names of fields, as `dataclasses` does, and
    # of arithmetic over numbered arguments. No text that is read gets there.
    compiles = ["lean_dataclass.py", "traced_numbers.py"]
    paths = [p for p in (ROOT / "tiltpy").rglob("*.py") if p.name not in compiles]
    assert paths
    found = [path for path in paths if reads.search(path.read_text(encoding="utf-8"))]
    assert not found


class Attack:
    """A pickle that makes a folder when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.mark),)


def test_no_pickle_is_read_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not under any key that is asked for, even with the digest of the key."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked: list[str] = []
    get = DiskStore.get

    def recorded(store: DiskStore, key: str) -> bytes | None:
        asked.append(key)
        return get(store, key)

    def run() -> object:
        stored_parser(grammar_text(), user_store())
        parser.cache_clear()
        return tilt.parse(MEAN).run(x=FRAME, workers=1)["o"].to_arrow()

    monkeypatch.setattr(DiskStore, "get", recorded)
    expected = run()
    store = user_store()
    assert store is not None
    assert len(set(asked)) >= 4  # tables, a query, a signature, its code
    attack = pickle.dumps(Attack(tmp_path / "mark"))
    for content in (attack, b"\0" * 8 + attack):
        for key in set(asked):
            store.put(key, content)
        assert run() == expected
    for entry in store.folder.iterdir():
        entry.write_bytes(attack)
    assert run() == expected
    (tmp_path / "tiltpy" / "grammar.tables").write_bytes(attack)
    assert run() == expected
    assert not (tmp_path / "mark").exists()
    assert pickle.loads(attack) is None  # noqa: S301
    assert (tmp_path / "mark").exists()


def test_an_interrupt_leaves_no_litter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    store = DiskStore(folder)
    store.put("key", b"content")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put("other", b"content")
    assert entry_of(folder).exists()
