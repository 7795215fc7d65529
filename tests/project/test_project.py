"""The repository keeps what it says of itself: commands, map, data, first query."""

import re
import subprocess
import tomllib
from pathlib import Path
from textwrap import dedent
from typing import Any

import polars
import pyarrow
import pytest

import tiltpy as tilt
from tests import ROOT
from tiltpy.cli.main import main

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


def test_the_first_query_of_the_readme_is_the_example() -> None:
    query = (ROOT / "examples" / "queries" / "trend.tilt").read_text()
    assert query[query.index("unit d") :] in blocks(README)


def blocks(text: str) -> list[str]:
    """The indented blocks of a Markdown text."""
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    return [dedent(block).strip() + "\n" for block in found if block.strip()]


def test_the_first_query_gives_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    shown = block("~trend\n")
    assert main(block("tilt run examples").replace("\\\n", "").split()[1:]) == 0
    found = capsys.readouterr().out
    assert len(found.splitlines()) == len(shown.splitlines())
    check_shown(found, shown)


def test_the_query_by_key_gives_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "late.tilt").write_text(block("unit m\n"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert main(block("tilt run late").split()[1:]) == 0
    check_shown(capsys.readouterr().out, block("~late\n"))


def block(start: str) -> str:
    """The first block of the readme that starts so."""
    return next(b for b in blocks(README) if b.startswith(start))


def check_shown(printed: str, shown: str) -> None:
    """What is shown is what was printed, or how it begins."""
    for found, said in zip(printed.splitlines(), shown.splitlines(), strict=False):
        *words, value = found.split()
        *expected, number = said.split()
        assert words == expected
        try:
            assert float(value) == pytest.approx(float(number), rel=1e-9)
        except ValueError:
            assert value == number


def test_the_python_of_the_readme_says_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    code = block("import ")
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102
    result, frame = names["result"], names["frame"]
    query = tilt.load(ROOT / "examples" / "queries" / "trend.tilt")
    expected = query.run(stock=tilt.bind(frame, column="AdjClose")).to_arrow()
    assert polars.DataFrame(result).to_arrow()["end"].to_pylist() == (
        pyarrow.table(result)["end"].to_pylist()
    )
    assert pyarrow.table(result) == expected


def test_the_errors_of_the_readme_are_those_of_the_compiler() -> None:
    shown = README[README.index("    error[E0101]") :]
    shown = dedent(shown[: shown.index("\n## ")]).strip()
    text = "unit d\ninput stock : f64 time Date until_next\n\n"
    text += "~above[t] = ~stok[t] > mean(~stock)\n"
    with pytest.raises(tilt.QueryError) as caught:
        tilt.parse(text, name="wrong.tilt")
    assert str(caught.value) == shown


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


def test_the_pictures_are_small_and_those_of_the_makefile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert shown == ["examples/pictures/trend.svg"]
    kept = Path(shown[0]).read_text()
    assert len(kept) < 60_000
    makefile = Path("Makefile").read_text().replace("\\\n", "")
    (command,) = re.findall(
        rf"(plot .*) --output {shown[0]}\n".replace(" ", r"\s+"), makefile
    )
    assert main([*command.split(), "--output", str(tmp_path / "x.svg")]) == 0
    words = re.compile(r">([^<>]+)</text>")
    made = (tmp_path / "x.svg").read_text()
    assert words.findall(made) == words.findall(kept)
    assert {"~stock", "~trend", "Mar"} <= set(words.findall(kept))


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
