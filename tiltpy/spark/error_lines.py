"""Errors of Spark in one line: it reports them in pages of stack traces."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tiltpy.errors import DataError, TiltError

OURS = re.compile(r"^(?:\w+\.)*tiltpy\.errors\.\w+: (.+)$", re.MULTILINE)
"""An error that a worker raised on purpose, at the end of its traceback."""
RAISED = re.compile(
    r"\[USER_RAISED_EXCEPTION\] (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE
)
"""An error that an expression of Spark raised for us."""
LOGGED = re.compile(
    r"^(?:\S+ \S+ ERROR [\w.$]+|Exception in thread .*?): (.+)$", re.MULTILINE
)
"""The last line of a JVM that exits."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Run a body whose errors of Spark become errors of ours."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise find_cause(str(error)) from error


def find_cause(text: str, log: str = "") -> TiltError:
    """Find what is behind an error of Spark: its text, and what its JVM has said."""
    for ours in (OURS, RAISED):
        if match := ours.search(text):
            return DataError(match[1].strip())
    if match := LOGGED.search(log):
        return TiltError(f"Spark: {match[1].strip()}")
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    lines = [
        line for line in lines if line and not line.startswith("An error occurred")
    ]
    return TiltError(f"Spark: {next(iter(lines), 'it failed and does not say why')}")
