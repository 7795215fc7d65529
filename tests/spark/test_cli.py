"""`tilt run --engine spark`: what it reads, what it writes, and what it says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import tiltpy.spark.session
from tests.cli.in_process import Outcome, Tilt, command_runner
from tests.spark.sessions import environment
from tiltpy.cli.main import main
from tiltpy.spark.java import find_java

QUERY = """\
unit s
input m by who : f64 time ts point
param k : i64 = 1
~twice[t] = ~m[t] * 2
~many[t] = ~m[t] != φ ? count(~m[t-10 : t]) + k : φ
output ~twice, ~many
"""
SPARK = ("--engine", "spark")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.tilt").write_text(QUERY)
    Path("in").mkdir()
    for number, rows in enumerate(
        ([(5, "b", 1.0), (2, "a", 2.0)], [(9, "a", 4.0)], [(3, "b", 8.0)])
    ):
        ts, who, m = zip(*rows, strict=True)
        stamps = pa.array(ts, pa.timestamp("s")).cast(pa.timestamp("us"))
        pq.write_table(
            pa.table({"ts": stamps, "who": who, "m": m}), f"in/[{number}].parquet"
        )


@pytest.fixture
def tilt(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Tilt:
    """Runs a command line in the session of the tests."""

    @contextmanager
    def started(master: str) -> Iterator[SparkSession]:
        assert master == "local[2]"
        yield request.getfixturevalue("spark")

    monkeypatch.setattr(tiltpy.spark.session, "start_session", started)

    return command_runner(capsys, "run")


def rows(path: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(path).to_pylist()
    return sorted(found, key=lambda row: (str(row["who"]), str(row["start"])))


def written(
    engine: Tilt, *words: str, source: str = "in"
) -> dict[str, list[dict[str, object]]]:
    """Return what a run over all rows writes, by output."""
    outputs = [f"--output={name}={name}.parquet" for name in ("twice", "many")]
    run = ("q.tilt", "--input", source, "--quiet")
    assert engine(*run, *outputs, *words) == (0, "", "")
    return {name: rows(f"{name}.parquet") for name in ("twice", "many")}


def test_both_engines_write_the_same(tilt: Tilt) -> None:
    words = ("-p", "k=5", "--start", "1970-01-01T00:00:02", "--chunk", "7")
    pq.write_table(pq.read_table("in"), "all.parquet")
    local = written(tilt, *words, source="all.parquet")
    assert [row["many"] for row in local["many"]] == [7, 6, 7]
    for name in ("all", *local):
        Path(f"{name}.parquet").unlink()
    assert written(tilt, *words, *SPARK, "--master", "local[2]") == local
    assert sorted(path.name for path in Path().iterdir()) == [
        "in", "many.parquet", "q.tilt", "twice.parquet",
    ]  # fmt: skip
    # A dataset takes the place of the last one; the name of a file is no pattern.
    again = written(tilt, *SPARK, "--master", "local[2]", source="in/[0].parquet")
    assert [row["twice"] for row in again["twice"]] == [4.0, 2.0]


def test_without_an_output_the_first_rows_are_printed(tilt: Tilt) -> None:
    """Those of the files that a pattern names."""
    words = ("q.tilt", "--input", "in/[[]0*", *SPARK, "--master", "local[2]")
    code, out, err = tilt(*words)
    assert (code, err) == (0, "")
    first = ["a", "1970-01-01", "00:00:01", "1970-01-01", "00:00:02"]
    second = ["b", "1970-01-01", "00:00:04", "1970-01-01", "00:00:05"]
    assert [line.split() for line in out.splitlines()] == [
        ["~twice"],
        ["who", "start", "end", "twice"],
        [*first, "4"],
        [*second, "2"],
        ["2", "snapshots"],
        ["~many"],
        ["who", "start", "end", "many"],
        [*first, "2"],
        [*second, "2"],
        ["2", "snapshots"],
    ]


def test_a_run_that_fails_says_why_in_a_line_and_leaves_nothing(tilt: Tilt) -> None:
    stamps = pa.array([1, None], pa.timestamp("us"))
    table = pa.table({"ts": stamps, "who": ["a", "a"], "m": [1.0, 2.0]})
    pq.write_table(table, "in/null.parquet")
    words = ("--output", "twice=t.parquet", *SPARK, "--master", "local[2]")
    code, out, err = tilt("q.tilt", "--input", "in", *words)
    assert (code, out) == (1, "")
    assert err == (
        "error: input 'm', column 'ts': the time is null; fill it in, or drop the row\n"
    )
    assert sorted(path.name for path in Path().iterdir()) == ["in", "q.tilt"]


def test_what_spark_cannot_read_is_said_in_a_line(tilt: Tilt) -> None:
    Path("broken.parquet").write_text("PAR1")
    words = (*SPARK, "--master", "local[2]")
    code, out, err = tilt("q.tilt", "--input", "broken.parquet", *words)
    assert (code, out) == (1, "")
    assert err.startswith("error: Spark: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--master", "local[2]"), "--master is Spark's; add --engine spark"),
        ((*SPARK, "--workers", "2"), "--workers is no option of --engine spark"),
        ((*SPARK, "--memory", "2GB"), "--memory is no option of --engine spark"),
        (
            (*SPARK, "--check-reductions"),
            "--check-reductions is no option of --engine spark",
        ),
        (
            (*SPARK, "--output", "twice=t.csv"),
            "--output twice=t.csv: --engine spark reads and writes Parquet",
        ),
        ((*SPARK, "--output", "twice=in/t.parquet"), "in a directory that is read"),
        ((*SPARK, "--output", "twice=no/t.parquet"), "there is no directory no"),
    ],
)
def test_words_that_do_not_go_together(
    tilt: Tilt, words: tuple[str, ...], said: str
) -> None:
    code, out, err = tilt("q.tilt", "--input", "in", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_only_what_spark_wrote_is_replaced(tilt: Tilt) -> None:
    Path("mine.parquet").mkdir()
    Path("mine.parquet/letter").write_text("dear")
    Path("file.parquet").write_text("mine")
    for name, said in (("mine", "that Spark has not written"), ("file", "is a file")):
        output = ("--output", f"twice={name}.parquet", *SPARK)
        code, _, err = tilt("q.tilt", "--input", "in", *output)
        assert code == 1
        assert said in err
    assert Path("mine.parquet/letter").read_text() == "dear"


def test_without_pyspark_it_is_said_how_to_get_it(
    tilt: Tilt, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("tiltpy.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    code, _, err = tilt("q.tilt", "--input", "in", *SPARK)
    assert code == 1
    assert err == (
        "error: --engine spark needs pyspark.sql, which is not installed; "
        "pip install 'tiltpy[spark]'\n"
    )


def test_without_java_it_is_said_what_was_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(find_java, "__defaults__", ({}, ()))
    assert main(["run", "q.tilt", "--input", "in", *SPARK]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: Spark needs Java 17 or later, and none was found: ")


def real(folder: Path, *words: str) -> Outcome:
    """The command in a process of its own, with a session of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tiltpy.cli.main", "run", *words],
        env=os.environ | environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_starts_a_session_of_its_own_and_is_quiet(tmp_path: Path) -> None:
    Path("one.tilt").write_text(QUERY.replace("output ~twice, ~many", "output ~twice"))
    words = ("one.tilt", "--input", "in", *SPARK, "--master", "local[2]")
    code, out, err = real(tmp_path, *words)
    assert (code, err) == (0, "")
    assert out.count("4 snapshots") == 1


def test_a_master_that_there_is_not(tmp_path: Path) -> None:
    words = ("q.tilt", "--input", "in", *SPARK, "--master", "nonsense")
    code, out, err = real(tmp_path, *words)
    assert (code, out) == (1, "")
    assert err.startswith("error: Spark: ")
    assert "aster" in err
    assert err.count("\n") == 1
