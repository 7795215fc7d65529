"""The Java that Spark runs on: of JAVA_HOME, of the PATH, or of a usual directory."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which

from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

USUAL = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
"""Patterns of the directories that packages put a Java into."""

PATIENCE = 60
"""Seconds that a Java has to say its version."""

WAY_OUT = (
    "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17), or set JAVA_HOME"
)


class JavaError(TiltError):
    """There is no Java that Spark can run on."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that has answered: its directory (a JAVA_HOME) and its version."""

    home: Path
    version: int


def find_java(
    environ: Mapping[str, str] = os.environ, usual: Sequence[str] = USUAL
) -> Java:
    """Find the Java to run Spark on.

    JAVA_HOME's if it is new enough, else the PATH's, else the oldest of the usual
    places, being what Spark is tested with most. A `JavaError` says what was looked at.
    """
    seen = []
    for origin, program in _candidates(environ):
        java = None if program is None else ask(program)
        if java is not None and java.version >= OLDEST:
            return java
        seen.append(f"{origin} {_failure(program, java)}")
    javas = [
        java
        for program in _default_candidates(usual)
        if (java := ask(program)) is not None
    ]
    fit = [java for java in javas if java.version >= OLDEST]
    if fit:
        return min(fit, key=lambda java: (java.version, java.home))
    seen += [f"{java.home} has Java {java.version}" for java in javas]
    raise JavaError(
        f"Spark needs Java {OLDEST} or later, and none was found: {', '.join(seen)}; "
        f"{WAY_OUT}"
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """List where people say which Java they mean, and the program there if any."""
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", None if not home else Path(home) / "bin" / "java"
    program = which("java", path=environ.get("PATH", ""))
    yield "PATH", None if program is None else Path(program)


def _failure(program: Path | None, java: Java | None) -> str:
    if program is None:
        return "names none"
    return f"has {program}, " + (
        "which does not run" if java is None else f"which is Java {java.version}"
    )


def _default_candidates(patterns: Sequence[str]) -> Iterator[Path]:
    """List the programs in the usual directories, each once."""
    programs = {
        (home / "bin" / "java").resolve()
        for pattern in patterns
        for home in Path("/").glob(pattern.lstrip("/"))
        if (home / "bin" / "java").is_file()
    }
    yield from sorted(programs)


def ask(program: Path) -> Java | None:
    """Ask a `java` what it is; None if it says nothing (macOS has such)."""
    try:
        said = subprocess.run(  # noqa: S603
            [program, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = version_of(said.stderr)
    if said.returncode != 0 or version is None:
        return None
    home = re.search(r"^ *java\.home = (.+)$", said.stderr, re.MULTILINE)
    return Java(Path(home[1]) if home else program.resolve().parents[1], version)


def version_of(text: str) -> int | None:
    """Read the version of `java -version`: 8 of `1.8.0_392`, 25 of `25-ea`."""
    match = re.search(r'^(?:java|openjdk) version "(?:1\.)?(\d+)', text, re.MULTILINE)
    return None if match is None else int(match[1])
