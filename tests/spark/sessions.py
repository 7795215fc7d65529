"""Sessions of Spark for tests: quiet, on 127.0.0.1, and nothing left behind.

`local_session` is for results: one in a process, in threads of its JVM. `run_program`
runs a program that starts a session of its own over executors that are processes, with
Python workers that are processes too, so that a test can kill either.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests import ROOT
from tests.project.java import found_or_installed

LOCAL = "local[2]"

PATIENCE = 900
"""Seconds that a program over a cluster may take."""

SOON = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=200m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Options of every JVM: it is up soon, rather than fast in the end.

There is room for the code of many queries, or else it is swept and compiled anew.
Spark's own classes are not verified.
"""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.log.level": "ERROR",
    "spark.sql.ansi.enforceReservedKeywords": "true",
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


def start_cluster(folder: Path) -> str:
    """Start a master and two workers in the JVM of this process; return its name.

    Each worker has a core and starts executors, which are processes. It has an address
    of its own: Spark starts a copy of a slow task on another host only.
    """
    SparkContext._ensure_initialized()
    jvm, gateway = SparkContext._jvm, SparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    deploy = jvm.org.apache.spark.deploy
    settings = jvm.org.apache.spark.SparkConf(True)
    settings.set("spark.master.rest.enabled", "false")
    made = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, settings)
    name = f"spark://127.0.0.1:{made._1().address().port()}"
    masters = gateway.new_array(jvm.java.lang.String, 1)
    masters[0] = name
    work, none = str(folder / "work"), jvm.scala.Option.empty()
    for host in ("127.0.0.1", "127.0.0.2"):
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, 1, 1024, masters, work, none, settings, none
        )
    return name
