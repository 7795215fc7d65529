"""The package needs nothing that macOS or Windows has not, as far as Linux can show."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tiltpy import disk_store


def test_nothing_is_needed_that_windows_has_not(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.project.as_on_windows", str(tmp_path)]
    done = subprocess.run(  # noqa: S603 - our own
        command, cwd=ROOT, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    *_, store, files = done.stdout.splitlines()
    assert Path(store) == tmp_path / "AppData" / "Local" / "tiltpy" / "compiled"
    written = ["AppData", "late.jsonl", "live", "q.tilt", "state"]
    written += ["x.parquet", "y.csv", "y.parquet", "z.parquet"]
    assert ast.literal_eval(files) == written  # and no drafts


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache"),
        ("linux", {"LOCALAPPDATA": "{}/local"}, "home/.cache"),
        ("darwin", {}, "home/Library/Caches"),
        ("darwin", {"XDG_CACHE_HOME": "{}/xdg"}, "xdg"),
        ("win32", {"LOCALAPPDATA": "{}/local"}, "local"),
        ("win32", {"LOCALAPPDATA": "relative"}, "home/AppData/Local"),
        ("win32", {}, "home/AppData/Local"),
    ],
)
def test_the_cache_is_where_the_system_has_them(
    platform: str,
    variables: dict[str, str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", platform)
    store = disk_store.user_store()
    assert store is not None
    assert store.folder == tmp_path / expected / "tiltpy" / "compiled"


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 matches `(?:...)*+` wrongly, and Debian 12 has 3.11.2."""
    for path in (ROOT / "tiltpy").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\)([*+?]|\{[\d,]+\})\+", text), path


def test_texts_are_read_and_written_in_utf_8() -> None:
    """Without an encoding Windows takes one that has no φ."""
    functions = {"read_text": 0, "write_text": 1}
    for path in (ROOT / "tiltpy").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in functions):
            continue
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name not in functions:
                continue
            named = any(keyword.arg == "encoding" for keyword in call.keywords)
            given = len(call.args) > functions[name]
            assert named or given, f"{path}:{call.lineno}"
