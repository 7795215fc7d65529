"""The examples over Spark run in the session of the tests, and say what they should."""

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tiltpy.spark.session
from tests.project.test_examples import OVER_SPARK


@pytest.mark.parametrize("path", OVER_SPARK, ids=lambda path: path.stem)
def test_example_over_spark_asserts_what_it_prints(
    path: Path,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def started(master: str) -> Iterator[SparkSession]:
        assert master == "local[2]"
        yield spark

    monkeypatch.setattr(tiltpy.spark.session, "start_session", started)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())
