"""The `tilt` command in the process of the tests: what it returns and prints."""

from typing import Protocol

import pytest

from tiltpy.cli.main import main

Outcome = tuple[int, str, str]
"""An exit code, the standard output and the standard error."""


class Tilt(Protocol):
    """Runs a command line."""

    def __call__(self, *words: str) -> Outcome: ...


def command_runner(capsys: pytest.CaptureFixture[str], *before: str) -> Tilt:
    """Make what runs command lines that begin with the words `before`."""

    def run(*words: str) -> Outcome:
        code = main([*before, *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run
