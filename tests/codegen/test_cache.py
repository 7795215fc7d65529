"""Compiled queries are kept on disk: found by their like alone, never damaged."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests import ROOT
from tests.codegen.cached_kernels import count
from tests.compiled import NO_STRATEGIES
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.codegen import jit
from tiltpy.codegen.cache import compile_cache
from tiltpy.codegen.jit import compile_object, format_optimized
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.disk_store import DiskStore, user_store
from tiltpy.frontend.parse import parse
from tiltpy.ops import FUNCTIONS

FRAME = pa.table({"time": [1, 2, 3, 5], "x": [1.0, 2.0, 4.0, 8.0]})
MEAN = "input x : f64 time time until_next\n~o[t] = mean(~x[t-3 : t])\n"
PAIR = (
    "input x : { a : f64, b : f64 } time time until_next\n~o[t] = ~x[t].a + ~x[t].b\n"
)
SHIFT = PAIR.replace("~x[t].b", "~x[t-2].a")
MADE, FOUND = "1 1 1", "0 0 0"
"""The output of `cached_kernels` for a compiled query, and for a cached one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where kernels are kept; empty so far."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "tiltpy" / "compiled"


@pytest.fixture
def compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return how many kernels were compiled: that of `compile_object`."""
    assert not folder.exists()
    monkeypatch.setattr(jit, "compile_object", compile_object)
    calls: dict[str, int] = {}
    count("compile_object", calls)
    return calls


def mean(options: tilt.CompileOptions | None = None, text: str = MEAN) -> list[float]:
    result = tilt.parse(text, options=options).run(x=FRAME, workers=1)
    found: list[float] = result["o"].to_arrow()["o"].to_pylist()
    return found


def in_process(
    *texts: str, cwd: Path = ROOT, environment: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """Run queries in a fresh process: output of `cached_kernels`, and results."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.codegen.cached_kernels", *texts],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        check=False,
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    calls, *results = done.stdout.splitlines()
    return calls, results


@pytest.mark.few(1)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_fresh_process_finds_kernels_that_call_functions(kind: str) -> None:
    calls = [
        f"{one.name}({', '.join(('~x[t].a', '~x[t].b', '~x[t].a')[: one.arity])})"
        for one in FUNCTIONS.values()
    ]
    calls += ["~x[t].a % ~x[t].b", "~x[t].a // ~x[t].b"]
    fields = ", ".join(f"f{i} = {call}" for i, call in enumerate(calls))
    declared = f"input x : {{ a : {kind}, b : {kind} }} time time until_next\n"
    stages, made = in_process(declared + f"~o[t] = {{ {fields} }}\n")
    assert stages == MADE
    stages, found = in_process(declared + f"~o[t] = {{ {fields} }}\n")
    assert stages == FOUND
    assert found == made


def test_another_text_that_means_the_same_is_found(compiled: dict[str, int]) -> None:
    first = mean()
    assert compiled["compile_object"] == 1
    assert mean(text="\n\n" + MEAN.replace(" : ", "  :  ")) == first
    assert compiled["compile_object"] == 1
    assert mean(text=MEAN.replace("mean", "sum")) != first
    assert compiled["compile_object"] == 2


def test_only_the_like_is_found(compiled: dict[str, int]) -> None:
    ways: list[tilt.CompileOptions | None] = [
        None,
        tilt.CompileOptions(optimize=False),
        tilt.CompileOptions(disabled_strategies=NO_STRATEGIES),
        tilt.CompileOptions(disabled_passes=frozenset({"fuse_operators"})),
    ]
    first = [mean(way) for way in ways]
    assert compiled["compile_object"] == len(ways)
    assert first == [mean(way) for way in ways]
    assert compiled["compile_object"] == len(ways)
    assert mean(text=MEAN.replace("-3", "-2")) != first[0]
    assert compiled["compile_object"] == len(ways) + 1


def test_other_layouts_are_others(compiled: dict[str, int]) -> None:
    query = "input x : f64 interval (start, end)\n~o[t] = sum(~x[t-3 : t])\n"
    for ends, kernels in (([1, 2, 3], 1), ([1, 2, 4], 2), ([1, 2, 3], 2)):
        starts = [0, 1, ends[-1] - 1]
        frame = pa.table({"start": starts, "end": ends, "x": [1.0, 2.0, 3.0]})
        assert tilt.parse(query).run(x=frame, workers=1).num_rows > 0
        assert compiled["compile_object"] == kernels


def test_without_the_option_nothing_is_kept(
    folder: Path, compiled: dict[str, int]
) -> None:
    off = tilt.CompileOptions(cache=False)
    assert mean(off) == mean(off)
    assert compiled["compile_object"] == 2
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "swapped", "gone"])
def test_damaged_entries_are_replaced(
    damage: str, folder: Path, compiled: dict[str, int]
) -> None:
    expected = mean()
    entries = sorted(folder.iterdir())
    contents = [entry.read_bytes() for entry in entries]
    for entry, content, other in zip(
        entries, contents, contents[1:] + contents[:1], strict=True
    ):
        match damage:
            case "cut":
                entry.write_bytes(content[:-1])
            case "empty":
                entry.write_bytes(b"")
            case "flipped":
                entry.write_bytes(
                    content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
                )
            case "swapped":
                entry.write_bytes(other)
            case _:
                entry.unlink()
    assert mean() == expected
    assert compiled["compile_object"] == 2
    assert mean() == expected
    assert compiled["compile_object"] == 2
    assert sorted(folder.iterdir()) == entries


def test_one_part_may_be_missing(folder: Path, compiled: dict[str, int]) -> None:
    expected = mean()
    for made, entry in enumerate(sorted(folder.iterdir())):
        entry.unlink()
        assert mean() == expected, made
    assert compiled["compile_object"] == 2


def test_a_folder_that_others_can_read_is_not_used(
    folder: Path, compiled: dict[str, int]
) -> None:
    folder.mkdir(parents=True, mode=0o700)
    assert len(mean()) > 0
    assert mean() == mean()
    assert compiled["compile_object"] == 1
    folder.chmod(0o755)
    before = sorted(folder.iterdir())
    assert mean(text=MEAN.replace("-3", "-2")) != mean()
    assert compiled["compile_object"] == 3
    assert sorted(folder.iterdir()) == before


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = DiskStore(folder)
    kept.put("key", b"content")
    assert kept.get("key") == b"content"
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert kept.get("key") is None
    kept.put("other", b"content")
    assert len(list(folder.iterdir())) == 1


def test_a_new_folder_is_private(folder: Path) -> None:
    mean()
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "environment",
    [
        {"XDG_CACHE_HOME": "/dev/null"},
        {"XDG_CACHE_HOME": "", "HOME": "/dev/null/nowhere"},
    ],
)
def test_without_a_place_everything_works(
    environment: dict[str, str],
    compiled: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert mean() == mean()
    assert compiled["compile_object"] == 2


def test_a_relative_place_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    found = user_store()
    assert found is not None
    assert found.folder == Path.home() / ".cache" / "tiltpy" / "compiled"


def test_no_home_is_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert user_store() is None
    assert len(mean()) > 0


def test_processes_that_start_together_agree(folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: in_process(PAIR, SHIFT)[1], range(2)))
    assert found == [found[0]] * 2
    assert in_process(PAIR, SHIFT) == (FOUND, found[0])
    assert not list(folder.glob("*.new"))


def test_readers_see_whole_entries_while_others_write(tmp_path: Path) -> None:
    contents = [bytes([i]) * (1 << 12 + i) for i in range(4)]

    def write(content: bytes) -> None:
        for _ in range(100):
            DiskStore(tmp_path / "kept").put("key", content)

    reader = DiskStore(tmp_path / "kept")
    with ThreadPoolExecutor(len(contents)) as pool:
        jobs = [pool.submit(write, content) for content in contents]
        seen = {reader.get("key") for _ in range(500)}
        for job in jobs:
            job.result()
    assert seen <= {None, *contents}
    assert reader.get("key") in contents


def test_the_oldest_entries_go_when_there_are_too_many(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    small, seen = DiskStore(folder, bound=8 * 4096), set[Path]()
    for number in range(64):
        small.put(str(number), b"content")
        (entry,) = set(folder.iterdir()) - seen
        os.utime(entry, (number, number))
        seen.add(entry)
    DiskStore(folder, bound=8 * 4096).put("last", b"content")
    assert small.get("last") == small.get("63") == b"content"
    assert small.get("32") is None
    assert len(list(folder.iterdir())) == 7


def test_another_compiler_finds_nothing(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for package in ("tiltpy", "grammar"):
        shutil.copytree(ROOT / package, copy / package)
    shutil.move(copy / "grammar", copy / "tiltpy" / "grammar")
    path = {"PYTHONPATH": str(ROOT)}
    assert in_process(PAIR, cwd=copy, environment=path)[0] == MADE
    assert in_process(PAIR, cwd=copy, environment=path)[0] == FOUND
    with (copy / "tiltpy" / "lowering" / "lowered.py").open("a") as file:
        file.write("# another\n")
    assert in_process(PAIR, cwd=copy, environment=path)[0] == MADE
    assert folder.exists()


def test_files_newer_than_what_runs_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = compile_cache.sources.__wrapped__()
    assert known is not None
    assert known == compile_cache.sources.__wrapped__()
    monkeypatch.setattr(compile_cache, "_IMPORTED", 0)
    assert compile_cache.sources.__wrapped__() is None


def test_a_query_too_deep_to_keep_runs(folder: Path) -> None:
    terms = " + ".join(["~x[t]"] * 150)
    text = f"input x : f64 time time until_next\n~o[t] = {terms}\n"
    assert mean(text=text) == mean(text=text) == [150.0, 300.0, 600.0, 1200.0]
    assert folder.parent.exists()


def test_what_is_found_is_the_optimised_query(folder: Path) -> None:
    query = parse(MEAN)
    layouts = {"x": Layout(TimeLayout.INTERVALS, (False,))}
    made = QueryKernels(query, layouts, CompileOptions())
    found = QueryKernels(query, layouts, CompileOptions())
    assert found.query == made.query
    assert found.stages == made.stages
    assert found.sweep_code.lower() == made.sweep_code.lower()
    made.sweep_code.code()
    lazy = found.sweep_code
    assert format_optimized(lazy.lower().kernel, lazy.code())
    assert found.seconds == made.seconds
    assert folder.exists()


def test_a_parsed_query_has_the_places_of_its_own_text(
    folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "q.tilt"
    for text, line in ((MEAN, 1), ("\n" + MEAN, 2), (MEAN, 1)):
        file.write_text(text)
        for query in (tilt.parse(text), tilt.load(file), tilt.load(str(file))):
            definition = query.query.definitions[0]
            source = definition.span.source
            assert source.text == text
            assert str(definition.span).endswith(f"{line + 1}:1")
            assert query.query == parse(MEAN)
        assert source.name == str(file)
    assert len(list(folder.iterdir())) == 4
    with pytest.raises(tilt.DataError, match="nothing is bound"):
        query.run()


def test_parameters_and_errors_are_read_anew(folder: Path) -> None:
    text = "param w : duration = 3\n" + MEAN.replace("-3", "-w")
    assert tilt.parse(text).query != tilt.parse(text, params={"w": 2}).query
    for _ in range(2):
        with pytest.raises(tilt.QueryError, match="nowhere"):
            tilt.parse("~o[t] = ~nowhere[t]")
    assert len(list(folder.iterdir())) == 1
