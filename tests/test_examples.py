"""The examples run, say what they should, and their queries are well written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tiltpy.cli.main import main

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
QUERIES = sorted((EXAMPLES / "queries").glob("*.tilt"))
LONGEST = 60


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_example_asserts_what_it_prints(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout
    assert done.stderr == b""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_example_is_short_and_asserts(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= LONGEST
    assert any(line.strip().startswith("assert ") for line in lines)


def test_examples_are_numbered_without_a_gap() -> None:
    numbers = [re.match(r"(\d\d)_[a-z_]+$", path.stem) for path in PROGRAMS]
    found = [int(match[1]) for match in numbers if match]
    assert found == list(range(1, len(PROGRAMS) + 1))


def test_there_is_a_picture_of_each_application(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, EXAMPLES / "pictures" / "draw.py", tmp_path],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    others = {"figure4", "spread", "trend", "weekly"}
    assert drawn == {path.stem for path in QUERIES} - others
    assert all(b"<svg" in path.read_bytes() for path in tmp_path.glob("*.svg"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_query_is_right(path: Path) -> None:
    assert main(["check", str(path)]) == 0
