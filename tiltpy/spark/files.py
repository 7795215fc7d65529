"""Parquet in and out by Spark: datasets read, results written whole or not at all."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from glob import glob
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tiltpy.errors import DataError
from tiltpy.spark.error_lines import translate_errors

DONE = "_SUCCESS"
"""The file that Spark leaves in a dataset that it has written."""


def read_frame(session: SparkSession, path: Path) -> DataFrame:
    """Read a Parquet file, a directory of them, or a pattern."""
    # Patterns are read here: Spark's are others, and any name is one to it.
    paths = [str(path)] if path.exists() else sorted(glob(str(path)))  # noqa: PTH207
    names = (str(Path(path).absolute()) for path in paths)
    plain = (re.sub(r"[\\*?\[\]{}]", r"\\\g<0>", name) for name in names)
    with translate_errors():
        return session.read.parquet(*(f"file:{name}" for name in plain))


def read_head(frame: DataFrame, rows: int) -> tuple[int, pa.Table]:
    """Count the rows of a result, and read the first by its keys and times."""
    persisted = frame.persist()
    try:
        head = persisted.orderBy(*persisted.columns)
        return persisted.count(), head.limit(rows).toArrow()
    finally:
        persisted.unpersist()


def check_dataset_path(path: Path) -> None:
    """Refuse to replace anything but a dataset that Spark has written."""
    if not path.exists():
        return
    if not path.is_dir():
        raise DataError(f"{path}: is a file, and Spark writes a directory; remove it")
    if not (path / DONE).exists():
        raise DataError(
            f"{path}: is a directory that Spark has not written; name another"
        )


def write_frames(frames: Mapping[Path, DataFrame]) -> None:
    """Write each as a directory of Parquet files: all of them, or none.

    They are written beside their places, which they take when all are done.
    """
    for path in frames:
        check_dataset_path(path)
    with ExitStack() as left:
        beside = {}
        for path, frame in frames.items():
            made = path.with_name(f".{path.name}.{os.getpid()}")
            left.callback(shutil.rmtree, made, ignore_errors=True)
            with translate_errors():
                frame.write.mode("overwrite").parquet(f"file:{made.absolute()}")
            beside[path] = made
        for path, made in beside.items():
            _replace(path, made)


def _replace(path: Path, made: Path) -> None:
    """Put a directory where another was, which comes back if that fails."""
    old = made.with_suffix(".old")
    if path.exists():
        path.rename(old)
    try:
        made.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
