"""The repository keeps what it says of itself: commands, map, data."""

import re
import subprocess
import tomllib

import pytest

from tests import ROOT

README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_build_server_runs_what_the_readme_says() -> None:
    assert "    make test " in README
    assert (ROOT / ".ci" / "run").read_text().endswith("exec make test\n")


def test_the_makefile_has_the_targets_of_the_readme() -> None:
    named = set(re.findall(r"^ {4}make (\w+)", README + CONTRIBUTING, re.MULTILINE))
    named |= set(re.findall(r"`make (\w+)`", README + CONTRIBUTING))
    assert {"demo", "test"} <= named
    for target in named:
        done = subprocess.run(  # noqa: S603
            ["make", "--dry-run", target],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_every_module_is_on_the_map() -> None:
    for path in (ROOT / "tiltpy").iterdir():
        name = path.name + "/" * path.is_dir()
        known = name.startswith("__") or name == "py.typed"
        assert known or f"`tiltpy/{name}`" in CONTRIBUTING, name


def test_every_path_on_the_map_is_there() -> None:
    for path in re.findall(r"`(\w+/[\w/]*(?:\.\w+)?)`", CONTRIBUTING):
        assert (ROOT / path).exists(), path


def test_every_package_is_installed() -> None:
    files = (path.relative_to(ROOT) for path in (ROOT / "tiltpy").rglob("*.py"))
    found = {".".join(path.parent.parts) for path in files}
    packages = PROJECT["tool"]["setuptools"]["packages"]
    assert packages == sorted(found | {"tiltpy.grammar"})


def test_every_module_has_a_layer() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["type"] == "layers")
    assert layers["exhaustive"] is True


def test_the_data_is_small_and_its_source_is_told() -> None:
    folder = ROOT / "examples" / "data"
    notice = (folder / "NOTICE").read_text()
    others = ("NOTICE", "full.py", "nexmark.py")  # programs make data, too
    files = [path for path in folder.glob("*.*") if path.name not in others]
    assert files
    assert sum(path.stat().st_size for path in files) < 1_000_000
    for path in files:
        assert path.name in notice


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PROJECT["project"]["license"] == "Apache-2.0"


@pytest.mark.parametrize(
    "folder", ["tiltpy", "tests", "bench", "docs", "examples", "grammar"]
)
def test_nothing_is_left_for_later(folder: str) -> None:
    later = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|NotImplemented" r"Error)\b")
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in (".py", ".tilt", ".lark", ".md"):
            assert not later.search(path.read_text()), path


def test_typed_and_built_for_what_it_says() -> None:
    assert (ROOT / "tiltpy" / "py.typed").exists()
    assert PROJECT["project"]["scripts"] == {"tilt": "tiltpy.cli.main:main"}
    extras = set(PROJECT["project"]["optional-dependencies"])
    assert {"spark", "plot", "dev", "bench"} <= extras
