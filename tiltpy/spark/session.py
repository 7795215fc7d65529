"""A session of Spark for programs that have none: on a Java that is found; quiet."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryFile

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tiltpy.spark.error_lines import find_cause
from tiltpy.spark.java import find_java

SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""No limit to the bytes of a batch, only to its rows: with one, Spark measures a batch
again for each row that it adds, and rows take twice as long to come to Python."""
ON_THIS_MACHINE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    "spark.sql.shuffle.partitions": str(max(8, 2 * (os.cpu_count() or 1))),
}
"""For a session that stays here: nobody asks for the machine's name, rows come to
Python without the network, and not each of few rows has a partition of its own."""


@contextmanager
def start_session(
    master: str, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Start a session of this process, which has no other yet; stop it in the end.

    `settings` are Spark's, by their names. Python workers run this Python, unless
    PYSPARK_PYTHON names another. What the JVM prints is dropped: its errors are raised.
    """
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = dict(SETTINGS)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen |= ON_THIS_MACHINE
    builder = SparkSession.builder.master(master).appName("tilt")
    for name, value in (chosen | dict(settings or {})).items():
        builder = builder.config(name, value)
    session = _start(builder)
    try:
        yield session
    finally:
        session.stop()


def _start(builder: SparkSession.Builder) -> SparkSession:
    with TemporaryFile() as printed:
        try:
            with _stderr_to(printed.fileno()):
                return builder.getOrCreate()
        except (PySparkException, Py4JError) as error:
            printed.seek(0)
            log = printed.read().decode(errors="replace")
            raise find_cause(str(error), log) from error


@contextmanager
def _stderr_to(file: int) -> Iterator[None]:
    """Send what the JVM that is started here prints there, as long as it lives."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        os.dup2(file, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
