"""Sessions of Spark for tests: quiet, on 127.0.0.1, and nothing left behind.

`local_session` is for results: one in a process, in threads of its JVM.
`run_on_cluster` runs a program of its own over `local-cluster`: executors that are
processes, with Python workers that are processes too, so that a test can kill either.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.java import found_or_installed

ROOT = Path(__file__).parent.parent
LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors of one core and 1024 MB."""

PATIENCE = 240
"""Seconds that a program over a cluster may take."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def environment(folder: Path) -> dict[str, str]:
    """What programs of Spark find around them; their files go to the folder.

    A cluster keeps its executors' files in Spark's own directory: the folder has one,
    of links.
    """
    home = folder / "spark"
    home.mkdir(exist_ok=True)
    for path in Path(pyspark.__file__).parent.iterdir():
        link = home / path.name
        if path.name != "work" and not link.exists():
            link.symlink_to(path)
    inherited = os.environ.get("PYTHONPATH")
    return {
        "JAVA_HOME": str(found_or_installed().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])]),
        "PYTHONWARNINGS": "ignore::FutureWarning:pyspark",
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


def start(master: str, folder: Path, **settings: str) -> SparkSession:
    """A session; the names of settings are Spark's, with `_` for each dot."""
    builder = SparkSession.builder.master(master).appName("tiltpy's tests")
    chosen = SETTINGS | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    chosen |= {name.replace("_", "."): value for name, value in settings.items()}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_on_cluster(program: str, folder: Path, *arguments: str) -> str:
    """What a module of the tests prints, run as a program that starts a cluster.

    It gets the folder as its first argument.
    """
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", program, str(folder), *arguments],
        cwd=ROOT,
        env=os.environ | environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout
