"""The tests of Spark choose or install a Java, and say so if there is none."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.project import java
from tests.project.java import found_or_installed
from tiltpy.spark.java import JavaError, ask, find_java, version_of

SAID = {
    8: 'java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392)',
    11: 'openjdk version "11.0.21" 2023-10-17\nOpenJDK Runtime Environment (11.0.21)',
    17: 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.15" 2025-04-15',
    21: 'openjdk version "21" 2023-09-19\nOpenJDK Runtime Environment (build 21+35)',
    26: 'openjdk version "26-ea" 2026-03-17\nOpenJDK Runtime Environment',
}


def put(path: Path, lines: str) -> Path:
    """A program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def put_java(home: Path, version: int) -> Path:
    """A Java that says a version, as Java does: on stderr."""
    text = f"Property settings:\n    java.home = {home}\n{SAID[version]}"
    put(home / "bin" / "java", f"/bin/cat >&2 <<'END'\n{text}\nEND")
    return home


@pytest.mark.parametrize("version", SAID)
def test_a_version_is_read_from_what_java_says(version: int) -> None:
    assert version_of(SAID[version]) == version


@pytest.mark.parametrize(
    "text", ["", "Unable to locate a Java Runtime.", 'no version "17"', "version 17"]
)
def test_no_version_is_read_from_anything_else(text: str) -> None:
    assert version_of(text) is None


def test_java_home_goes_before_the_path_before_the_usual_places(tmp_path: Path) -> None:
    named, on_path, usual = (
        put_java(tmp_path / name, version)
        for name, version in (("named", 21), ("path", 26), ("jvm/17", 17))
    )
    put_java(tmp_path / "jvm/21", 21)
    put_java(tmp_path / "jvm/11", 11)
    patterns = [f"{tmp_path}/jvm/*"]
    environ = {"PATH": str(on_path / "bin"), "JAVA_HOME": str(named)}
    assert find_java(environ, patterns).home == named
    environ["JAVA_HOME"] = str(put_java(tmp_path / "old", 8))
    assert find_java(environ, patterns).home == on_path
    environ["PATH"] = ""
    assert find_java(environ, patterns).home == usual
    assert find_java(environ, patterns).version == 17


def test_a_java_that_does_not_answer_is_none(tmp_path: Path) -> None:
    assert ask(put(tmp_path / "java", "echo no runtime >&2; exit 1")) is None
    assert ask(tmp_path / "missing") is None


def test_without_java_it_is_said_what_was_found_and_what_to_do(tmp_path: Path) -> None:
    old = put_java(tmp_path / "jvm/old", 11)
    environ = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / "gone")}
    with pytest.raises(JavaError) as caught:
        find_java(environ, [f"{tmp_path}/jvm/*"])
    assert str(caught.value) == (
        "Spark needs Java 17 or later, and none was found: "
        f"JAVA_HOME has {tmp_path}/gone/bin/java, which does not run, "
        f"PATH names none, {old} has Java 11; "
        "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
        "macOS: brew install openjdk@17), or set JAVA_HOME"
    )


def test_nothing_is_installed_where_there_is_no_apt_get(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"from here: there is no apt-get on the PATH$"):
        found_or_installed({"PATH": str(tmp_path)}, [], root=True)


@pytest.mark.parametrize("sudo", [None, "echo a password is required >&2; exit 1"])
def test_nothing_is_installed_by_those_who_may_not(
    tmp_path: Path, sudo: str | None
) -> None:
    log = tmp_path / "log"
    put(tmp_path / "apt-get", f'echo "$@" >> {log}')
    if sudo is not None:
        put(tmp_path / "sudo", sudo)
    with pytest.raises(JavaError, match=r"needs root, or sudo without a password$"):
        found_or_installed({"PATH": str(tmp_path)}, [], root=False)
    assert not log.exists()


@pytest.mark.parametrize("root", [True, False])
def test_a_headless_java_is_installed_by_those_who_may(
    tmp_path: Path, *, root: bool
) -> None:
    """This system has the second package, not the first."""
    home, log = put_java(tmp_path / "made", 21), tmp_path / "log"
    home.rename(tmp_path / "packed")
    put(
        tmp_path / "bin/apt-get",
        f'echo "$DEBIAN_FRONTEND $@" >> {log}\n'
        f'case "$*" in *17*) echo "E: Unable to locate" >&2; exit 100;; '
        f"*21*) /bin/mv {tmp_path}/packed {home};; esac",
    )
    put(tmp_path / "bin/sudo", 'shift; [ "$1" = true ] || "$@"')
    environ = {"PATH": str(tmp_path / "bin")}
    found = found_or_installed(environ, [f"{tmp_path}/made"], root=root)
    assert (found.home, found.version) == (home, 21)
    options = "install -y -qq --no-install-recommends openjdk"
    assert log.read_text().splitlines() == [
        "noninteractive update -qq",
        f"noninteractive {options}-17-jre-headless",
        f"noninteractive {options}-21-jre-headless",
    ]


def test_an_installation_that_fails_says_why(tmp_path: Path) -> None:
    put(tmp_path / "apt-get", "echo downloading; echo 'E: no network' >&2; exit 100")
    with pytest.raises(JavaError, match=r"not installed from here: E: no network$"):
        found_or_installed({"PATH": str(tmp_path)}, [], root=True)


def test_the_command_prints_a_home_or_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(put_java(tmp_path, 17)))
    assert java.main() == 0
    assert capsys.readouterr().out == f"{tmp_path}\n"

    def missing() -> None:
        raise JavaError("Spark needs Java 17 or later, and none was found: ...")

    monkeypatch.setattr(java, "found_or_installed", missing)
    assert java.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("the tests of Spark cannot run: Spark needs Java 17")


@pytest.mark.parametrize("code", [0, 1])
def test_make_runs_no_tests_without_java(tmp_path: Path, code: int) -> None:
    """A Python that answers `-m tests.project.java`, and prints all other requests."""
    make = shutil.which("make")
    assert make
    put(
        tmp_path / "bin/python",
        f'case "$*" in *tests.project.java*) echo /java; exit {code};; esac; '
        'echo "$JAVA_HOME: $@"',
    )
    for stamp in ("installed-tools", "installed-dev"):
        (tmp_path / stamp).touch()
    done = subprocess.run(  # noqa: S603
        [make, "tests", f"VENV={tmp_path}", f"PYTHON={sys.executable}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (code == 0), done.stderr
    assert ("/java: -m pytest" in done.stdout) == (code == 0)
