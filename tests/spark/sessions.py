"""Sessions of Spark for tests: quiet, on 127.0.0.1, and nothing left behind.

`local_session` is for results: one in a process, in threads of its JVM. `run_program`
runs a program that starts a session of its own over executors that are processes, with
Python workers that are processes too, so that a test can kill either.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests import ROOT
from tests.project.java import found_or_installed

LOCAL = "local[2]"

PATIENCE = 900
"""Seconds that a program over a cluster may take."""

SOON = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=200m"
"""Options of every JVM: it is up soon, rather than fast in the end.

There is room for the code of many queries, or else it is swept and compiled anew.
"""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def environment(folder: Path) -> dict[str, str]:
    """Return what programs of Spark find around them; their files go to the folder.

    A cluster keeps its executors' files in Spark's own directory: the folder has one,
    of links. In it stands what a user may have set for all sessions, also those that a
    program of ours starts.
    """
    home = folder / "spark"
    home.mkdir(exist_ok=True)
    for path in Path(pyspark.__file__).parent.iterdir():
        link = home / path.name
        if path.name not in ("conf", "work") and not link.exists():
            link.symlink_to(path)
    (home / "conf").mkdir(exist_ok=True)
    (home / "conf" / "spark-defaults.conf").write_text(
        f"spark.driver.extraJavaOptions {SOON}\n"
        f"spark.executor.extraJavaOptions {SOON}\n"
    )
    inherited = os.environ.get("PYTHONPATH")
    return {
        "JAVA_HOME": str(found_or_installed().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])]),
        "PYTHONWARNINGS": "ignore:PySpark does not yet fully support:FutureWarning",
        "SPARK_DAEMON_JAVA_OPTS": SOON,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "blocks"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def local_session(folder: Path) -> Iterator[SparkSession]:
    """A session of this process, which may have but one."""
    before = dict(os.environ)
    os.environ.update(environment(folder))
    try:
        session = start(LOCAL, folder)
        try:
            yield session
        finally:
            session.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)


def start(
    master: str, folder: Path, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session in an `environment`, with what it is to be told besides `SETTINGS`."""
    builder = SparkSession.builder.master(master).appName("tiltpy's tests")
    own = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    for name, value in (SETTINGS | own | dict(settings or {})).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_program(
    module: str, folder: Path, *arguments: str, patience: float = PATIENCE
) -> str:
    """Return what a module of the tests prints, run as a program in an `environment`.

    It gets the folder as its first argument. `patience`: the seconds that it may take.
    """
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", module, str(folder), *arguments],
        cwd=ROOT,
        env=os.environ | environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    return done.stdout


@contextmanager
def cluster_of_two_hosts(folder: Path) -> Iterator[str]:
    """A master and two workers of one core on addresses of their own; its name.

    Spark starts a copy of a slow task on another host only.
    """
    environment(folder)
    with ExitStack() as ended, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        ended.enter_context(_daemon(folder, "master.Master", "127.0.0.1", port))
        _await(port)
        name = f"spark://127.0.0.1:{port}"
        for host in ("127.0.0.1", "127.0.0.2"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", f"{folder}/work")
            worker = _daemon(folder, "worker.Worker", host, 0, *size, name)
            ended.enter_context(worker)
        yield name


@contextmanager
def _daemon(
    folder: Path, kind: str, host: str, port: int, *arguments: str
) -> Iterator[None]:
    log = (folder / f"{kind}-{host}.log").open("wb")
    with (
        log,
        subprocess.Popen(  # noqa: S603
            [
                folder / "spark" / "bin" / "spark-class",
                f"org.apache.spark.deploy.{kind}",
                *("--host", host, "--port", str(port), "--webui-port", "0"),
                *arguments,
            ],
            env=os.environ | environment(folder) | {"SPARK_LOCAL_IP": host},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def _await(port: int) -> None:
    """Until somebody listens there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.2)
    raise TimeoutError(f"no master of Spark came up at port {port}")
