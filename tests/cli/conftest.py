"""Fixtures of the tests of the command line."""

import pytest

from tests.cli.in_process import Tilt, command_runner


@pytest.fixture
def tilt(capsys: pytest.CaptureFixture[str]) -> Tilt:
    """Runs a command line: its exit code, standard output and standard error."""
    return command_runner(capsys)
