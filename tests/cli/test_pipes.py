"""Data through pipes: the standard input and output, and what their ends do."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

from tiltpy.cli.main import main

QUERY = "unit s\ninput m : f64 time ts point\n~up[t] = ~m[t] + 1\n"
ROWS = "ts,m\n1970-01-01 00:00:01,10\n1970-01-01 00:00:02,20\n1970-01-01 00:00:05,50\n"
TILT = (sys.executable, "-m", "tiltpy.cli.main")
RUN = ("run", "up.tilt", "--input")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("up.tilt").write_text(QUERY)
    Path("m.csv").write_text(ROWS)


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let the standard input have some bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def table_as(form: str) -> bytes:
    table = pc.read_csv("m.csv")
    table = table.set_column(1, "m", table["m"].cast("float64"))
    sink = io.BytesIO()
    match form:
        case "arrow":
            with pi.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        case "arrows":
            with pi.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
        case "parquet":
            pq.write_table(table, sink)
        case "tsv":
            return ROWS.replace(",", "\t").encode()
        case "csv.gz":
            return gzip.compress(ROWS.encode())
        case "jsonl":
            rows = [{"ts": str(r["ts"]), "m": r["m"]} for r in table.to_pylist()]
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        case _:
            return ROWS.encode()
    return sink.getvalue()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "tsv", "jsonl", "arrow", "arrows", "parquet"]
)
def test_data_from_the_standard_input(
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    form: str,
    named: bool,
) -> None:
    give(monkeypatch, table_as(form))
    words = ["--input-format", form] if named else []
    assert main([*RUN, "-", *words]) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""
    assert out.splitlines()[-1] == b"3 snapshots"


def test_outputs_to_the_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    found = {}
    for form in ("csv", "tsv", "jsonl", "arrow", "arrows", "parquet", "csv.gz"):
        assert main([*RUN, "m.csv", "--output", "-", "--output-format", form]) == 0
        found[form], err = capfdbinary.readouterr()
        assert err == b"wrote 3 snapshots to <stdout>\n"
    table = pq.read_table(io.BytesIO(found["parquet"]))
    assert table["up"].to_pylist() == [11, 21, 51]
    stream = pi.open_stream(found["arrow"]).read_all()
    assert stream.cast(table.schema) == table
    assert found["arrow"] == found["arrows"]
    assert [json.loads(one)["up"] for one in found["jsonl"].splitlines()] == [
        11,
        21,
        51,
    ]
    assert gzip.decompress(found["csv.gz"]) == found["csv"]
    assert found["csv"].replace(b",", b"\t") == found["tsv"]
    assert main([*RUN, "m.csv", "--output", "-", "--quiet"]) == 0
    assert capfdbinary.readouterr() == (found["csv"], b"")


def test_one_run_feeds_another() -> None:
    back = QUERY.replace("m : f64 time ts point", "up : f64 interval(start, end)")
    Path("back.tilt").write_text(back.replace("~up[", "~o[").replace("~m[", "~up["))
    for form in ("csv", "jsonl", "arrow"):
        first = [*TILT, *RUN, "m.csv", "--output", "-", "--output-format", form]
        second = [*TILT, "run", "back.tilt", "--input", "-", "--output", "-", "--quiet"]
        with subprocess.Popen(first, stdout=subprocess.PIPE) as process:  # noqa: S603
            done = subprocess.run(  # noqa: S603
                second, stdin=process.stdout, capture_output=True, check=True
            )
        lines = done.stdout.decode().splitlines()[1:]
        assert [float(line.split(",")[-1]) for line in lines] == [12, 22, 52]


def run_until(words: Sequence[str], size: int) -> tuple[int, bytes]:
    """Run a command whose reader leaves after some bytes: exit code and errors."""
    with subprocess.Popen(  # noqa: S603
        [*TILT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(size)
        process.stdout.close()
        err = process.stderr.read()
        return process.wait(timeout=120), err


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "parquet", "csv.gz"])
def test_a_reader_that_leaves_ends_it_quietly(form: str) -> None:
    lines = [f"{second},{second * 7919 % 10007}" for second in range(1, 60_000)]
    Path("n.csv").write_text("\n".join(["ts,m", *lines]))
    Path("both.tilt").write_text(QUERY + "~same[t] = ~m[t]\noutput ~up\noutput ~same\n")
    files = sorted(Path().iterdir())
    words = ["run", "both.tilt", "--input", "n.csv", "--output-format", f"up={form}"]
    outputs = ["--output", "up=-", "--output", "same=same.parquet"]
    assert run_until([*words, *outputs], 10) == (128 + signal.SIGPIPE, b"")
    assert sorted(Path().iterdir()) == files


def test_pieces_of_a_stream_are_limited(capfd: pytest.CaptureFixture[str]) -> None:
    stamps = pa.array(range(1, 50_001), pa.timestamp("s"))
    table = pa.table({"ts": stamps, "m": pa.array(range(50_000), pa.float64())})
    pq.write_table(table, "m.parquet", row_group_size=1000)
    run = [*RUN, "m.parquet", "--memory", "1MB", "--limit", "3"]
    assert main([*run, "--output", "-"]) == 0
    out, err = capfd.readouterr()
    assert err == "wrote 3 snapshots to <stdout>\n"
    assert [line.split(",")[-1] for line in out.splitlines()] == ['"up"', *"123"]
    assert main(run) == 0
    assert capfd.readouterr().out.endswith("\n50,000 snapshots, the first 3 shown\n")


def test_named_pipes_are_read_once() -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(  # noqa: S603
        [*TILT, *RUN, "pipe", "--output", "-", "--quiet"], stdout=subprocess.PIPE
    ) as process:
        Path("pipe").write_text(ROWS)
        assert process.stdout is not None
        assert len(process.stdout.read().splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run - --input -", "--input m=-: the standard input is read already"),
        ("run up.tilt --input m.csv --output-format csv", "nothing is written; add"),
        ("run up.tilt --input m.csv --output x.rar", "'.rar' says no format"),
        ("run up.tilt --input m.csv --output x.json", "is called .jsonl"),
        ("run up.tilt --input m.csv --output x.parquet.gz", "compressed inside"),
        ("run up.tilt --input m.csv --output - --output-format xml", "'xml' is no"),
        ("run up.tilt --input m.csv --limit 0", "--limit 0: expected a whole number"),
        ("run up.tilt --input m.csv --delimiter ;;", "expected a single character"),
        ("run up.tilt --input m.csv --decimal , --delimiter ,", "the decimal point"),
        ("run up.tilt --input m.csv --decimal x", "expected '.' or ','"),
        ("run up.tilt --input m.csv --date-format DD.MM.YY", "a format like '%d.%m"),
        ("explain up.tilt --live", "write --format live"),
        ("run up.tilt --input m.csv --input-format xls", "'xls' is no format"),
    ],
)
def test_wrong_words(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: str,
    message: str,
) -> None:
    give(monkeypatch, QUERY.encode())
    assert main(words.split()) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
