"""The package finds its grammar however it came to be there, wherever it is started."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import ROOT

SHIPPED = (
    "tiltpy", "grammar", "MANIFEST.in", "pyproject.toml", "setup.py", "README.md",
    "LICENSE",
)  # fmt: skip
PROGRAM = """
import tiltpy as tilt
from tiltpy.cli.main import main
query = tilt.parse("input x : f64 time time until_next\\n~o[t] = sma(~x[t], 3)\\n")
assert query.query.outputs == ("o",)
assert main(["--version"]) == 0
print(tilt.__file__)
"""
BUILD = "import sys; from setuptools import build_meta as b; b.{}(sys.argv[1])"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """The last line that a program prints."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(  # noqa: S603
        command,
        cwd=cwd,
        env=plain | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [*done.stdout.splitlines(), ""][-2 if done.stdout else -1]


def package(python: Path, cwd: Path, **environment: str) -> Path:
    """Return where the package lies that a Python imports and parses a query with."""
    return Path(run(python, "-c", PROGRAM, cwd=cwd, **environment)).parent


def environment(folder: Path) -> Path:
    """The Python of a virtual environment with what tiltpy needs, but without it.

    A path in a `.pth` file is no site: what is installed as editable there is not seen.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    site = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=ROOT
    )
    needed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (Path(site) / "needed.pth").write_text("\n".join(needed))
    return python


def clone(folder: Path) -> Path:
    """A copy of what the package is built of: building leaves files beside it."""
    folder.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def install(python: Path, *what: str | Path) -> None:
    """Install without an index, by the pip that runs the tests."""
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", *options)
    run(*pip, "--disable-pip-version-check", *what, cwd=ROOT)


def build(source: Path, what: str, to: Path) -> Path:
    """A wheel or an archive of the sources."""
    run(sys.executable, "-c", BUILD.format(f"build_{what}"), to, cwd=source)
    (built,) = to.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """A wheel of the package; in the long run of the archive of its sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = clone(folder / "clone")
    if request.config.getoption("--deep"):
        shutil.unpack_archive(build(source, "sdist", folder / "sdist"), folder)
        (source,) = folder.glob("tiltpy-*")
    return build(source, "wheel", folder / "dist")


def test_a_wheel_says_what_it_is(wheel: Path) -> None:
    with ZipFile(wheel) as files:
        names = set(files.namelist())
        (metadata,) = (name for name in names if name.endswith("dist-info/METADATA"))
        message = message_from_bytes(files.read(metadata))
    assert {"tiltpy/py.typed", "tiltpy/grammar/tilt.lark"} <= names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "tiltpy"
    }
    assert message["Author"] == "the tiltpy authors"
    assert message["License-Expression"] == "Apache-2.0"
    versions = re.findall(
        r":: (3\.\d+)$", "\n".join(message.get_all("Classifier", [])), re.MULTILINE
    )
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert message["Requires-Python"] == f">={versions[0]}"
    assert message["Description-Content-Type"] == "text/markdown"
    shown = str(message.get_payload())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown.splitlines()[0] == readme.splitlines()[0]
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", readme)
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", shown) == []
    assert len(shown.split()) > 0.9 * len(readme.split())


def test_an_archive_of_the_sources_holds_the_tests_and_builds(
    tmp_path: Path, deep: bool
) -> None:
    if not deep:
        pytest.skip("building an archive takes a while: --deep")
    copy = tmp_path / "copy"
    skipped = shutil.ignore_patterns(
        ".venv", ".git", "__pycache__", "*.egg-info", ".*_cache"
    )
    shutil.copytree(ROOT, copy, ignore=skipped)
    archive = build(copy, "sdist", tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    (source,) = (tmp_path / "unpacked").iterdir()
    for name in ("tests/project/names.py", "docs/index.md", "Makefile", ".ci/run"):
        assert (source / name).is_file()
    assert build(source, "wheel", tmp_path / "wheel").suffix == ".whl"


def test_a_clone_needs_no_installing(tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    assert package(python, ROOT) == ROOT / "tiltpy"
    assert package(python, tmp_path, PYTHONPATH=str(ROOT)) == ROOT / "tiltpy"


def test_an_installed_wheel_works_in_a_clone_and_elsewhere(
    tmp_path: Path, wheel: Path
) -> None:
    python = environment(tmp_path / "venv")
    install(python, wheel)
    assert package(python, ROOT) == ROOT / "tiltpy"
    assert package(python, tmp_path).is_relative_to(tmp_path / "venv")


def test_an_editable_installation_works_elsewhere(tmp_path: Path, deep: bool) -> None:
    source, python = ROOT, Path(sys.executable)  # as `make test` installs it
    if deep:
        source, python = clone(tmp_path / "clone"), environment(tmp_path / "venv")
        install(python, "--editable", source)
    assert package(python, tmp_path) == source / "tiltpy"
