"""A Java for the tests of Spark: `python -m tests.project.java` prints its home.

Where there is none it installs one with `apt-get`, if it may: as root, or by a `sudo`
that asks for no password. Otherwise it says what is missing and exits with 1.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from shutil import which

from tiltpy.spark.java import USUAL, Java, JavaError, find_java

PACKAGES = (
    "openjdk-17-jre-headless",
    "openjdk-21-jre-headless",
    "default-jre-headless",
)
"""What the releases of Debian and Ubuntu have, the first that there is."""


class CannotInstallError(Exception):
    """Why no package can be installed here."""


def main() -> int:
    """Print the home of a Java, or say what is missing."""
    try:
        print(found_or_installed().home)
    except JavaError as error:
        print(f"the tests of Spark cannot run: {error}", file=sys.stderr)
        return 1
    return 0


def found_or_installed(
    environ: Mapping[str, str] = os.environ,
    usual: Sequence[str] = USUAL,
    *,
    root: bool | None = None,
) -> Java:
    """A Java; `root`: whether this is the system's administrator."""
    try:
        return find_java(environ, usual)
    except JavaError as missing:
        try:
            install(environ, root=os.geteuid() == 0 if root is None else root)
        except CannotInstallError as reason:
            raise JavaError(f"{missing}; not installed from here: {reason}") from None
        return find_java(environ, usual)


def install(environ: Mapping[str, str], *, root: bool) -> None:
    """Install a headless Java by the system's packages."""
    command = _apt_get(environ, root=root)
    print("no Java 17 or later is here: installing one", file=sys.stderr)
    updated = _run([*command, "update", "-qq"], environ)
    said = [updated] if updated else []
    for package in PACKAGES:
        options = ["-y", "-qq", "--no-install-recommends"]
        failed = _run([*command, "install", *options, package], environ)
        if failed is None:
            return
        said.append(failed)
    raise CannotInstallError("; ".join(dict.fromkeys(said)))


def _apt_get(environ: Mapping[str, str], *, root: bool) -> list[str]:
    """The beginning of a command that changes the system's packages."""
    path = environ.get("PATH", "")
    program = which("apt-get", path=path)
    if program is None:
        raise CannotInstallError("there is no apt-get on the PATH")
    if root:
        return [program]
    sudo = which("sudo", path=path)
    if sudo is None or _run([sudo, "-n", "true"], environ) is not None:
        raise CannotInstallError("apt-get needs root, or sudo without a password")
    return [sudo, "-n", program]


def _run(command: list[str], environ: Mapping[str, str]) -> str | None:
    """None if it went well, else the last line of what was said."""
    done = subprocess.run(  # noqa: S603
        command,
        env={**environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return None
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"{command[-1]}: exit code {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
