"""`tilt live`: what its words mean, and how it ends."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

from tests.cli.in_process import Tilt, command_runner

QUERY = (
    "unit s\ninput x : f64 time t point\ng = TDom(-∞, ∞, 4)\n"
    "~y[g] = sum(~x[g-8 : g])\n~z[t] = count(~x[t-3 : t])\n"
)
ONE = QUERY + "output ~y\n"
TWO = QUERY + "output ~y\noutput ~z\n"


@pytest.fixture
def tilt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Tilt:
    """Runs `tilt` in a folder with queries and rows."""
    monkeypatch.chdir(tmp_path)
    Path("one.tilt").write_text(ONE)
    Path("two.tilt").write_text(TWO)
    draw = np.random.default_rng(3)
    rows = pa.table({"t": np.arange(40), "x": draw.integers(-8, 9, 40) / 8})
    pq.write_table(rows, "x.parquet")
    lines = [json.dumps(row) + "\n" for row in rows.to_pylist()]
    Path("x.jsonl").write_text("".join(lines))
    Path("in").mkdir()
    for number, first in enumerate(range(0, 40, 10)):
        Path(f"in/{number}.jsonl").write_text("".join(lines[first : first + 10]))
    late = [lines[5], lines[20], lines[7], lines[21]]
    Path("late.jsonl").write_text("".join(late))
    return command_runner(capsys)


def expected_of(tilt: Tilt, query: str) -> str:
    """The rows of `tilt run` as JSON lines."""
    words = ("run", query, "--input", "x=x.parquet", "--output", "y=-", "--quiet")
    code, out, err = tilt(*words, "--output-format", "jsonl")
    assert (code, err) == (0, "")
    return out


@pytest.mark.parametrize(
    "source",
    ["x.jsonl", "x=tail:x.jsonl", "folder:in", "folder:in/*.jsonl", "replay:x.parquet",
     "replay:x.parquet@1e9x", "x=x.parquet", "replay:in"],
)  # fmt: skip
def test_every_source_gives_the_rows_of_a_run(source: str, tilt: Tilt) -> None:
    expected = expected_of(tilt, "one.tilt")
    words = ("live", "one.tilt", "--input", source, "--until", "EOF")
    assert tilt(*words) == (0, expected, "")


def test_outputs_go_to_files_that_grow_and_to_folders(tilt: Tilt) -> None:
    expected = [json.loads(line) for line in expected_of(tilt, "one.tilt").splitlines()]
    code, out, err = tilt(
        "live", "two.tilt", "--input", "x.jsonl", "--output", "y=y.arrows", "--output",
        "z=z/", "--state", "state",
    )  # fmt: skip
    assert (code, out) == (0, "")
    written = pi.open_stream(Path("y.arrows").read_bytes()).read_all().to_pylist()
    assert written == expected
    (part,) = Path("z").iterdir()
    count = pq.read_metadata(part).num_rows
    assert err == (
        f"wrote {len(written)} snapshots of ~y to y.arrows\n"
        f"wrote {count} snapshots of ~z to z\n"
    )
    # Once more: the run is over, and nothing is written twice.
    before = Path("y.arrows").read_bytes()
    code, out, err = tilt(
        "live", "two.tilt", "--input", "x.jsonl", "--output", "y=y.arrows", "--output",
        "z=z/", "--state", "state",
    )  # fmt: skip
    assert (code, out) == (0, "")
    assert err.startswith("this run had finished before: nothing was left to do, and ")
    assert "begin anew" in err.lower()
    assert Path("y.arrows").read_bytes() == before


def test_late_rows_are_left_out_collected_or_refused(tilt: Tilt) -> None:
    words = ("live", "one.tilt", "--input", "x=late.jsonl", "--reorder", "2s")
    _, dropped, err = tilt(*words)
    assert err == "1 late row of x left out\n"
    _, out, err = tilt(*words, "--late", "x=side:side.jsonl")
    assert (out, err) == (dropped, "1 late row of x written to side.jsonl\n")
    assert json.loads(Path("side.jsonl").read_text())["t"] == 7
    code, out, err = tilt(*words, "--late", "throw")
    assert (code, out) == (1, "")
    assert err.startswith("error: input 'x'")
    _, out, err = tilt(*words, "--late", "adjust")
    assert err == "1 late row of x moved\n"
    assert out != dropped
    assert tilt(*words, "--reorder", "20s")[0] == 2
    _, out, err = tilt(*words[:-1], "20s")
    assert (out != dropped, err) == (True, "")


@pytest.mark.parametrize("form", ["jsonl", "arrow"])
def test_the_standard_input_is_read_as_it_comes(
    form: str, tilt: Tilt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = expected_of(tilt, "one.tilt")
    content = Path("x.jsonl").read_bytes()
    if form == "arrow":
        stream = io.BytesIO()
        rows = pq.read_table("x.parquet")
        with pi.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=7)
        content = stream.getvalue()
    path = tmp_path / "stdin"
    path.write_bytes(content)
    for more in ((), ("--output-format", "csv")):
        with path.open("rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
            code, out, err = tilt("live", "one.tilt", "--input", "-", *more)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == len(expected.splitlines()) + bool(more)
        if not more:
            assert out == expected


def test_columns_are_named_as_for_a_run(tilt: Tilt) -> None:
    Path("q.tilt").write_text("unit s\ninput x : f64\n~y[t] = ~x[t]\n")
    Path("x.csv").write_text("when;value\n01.02.2026;1,5\n02.02.2026;2,5\n")
    code, out, err = tilt(
        "live", "q.tilt", "--input", "x.csv", "--time", "when", "--column", "value",
        "--lifetime", "point", "--decimal", ",", "--date-format", "%d.%m.%Y",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert [json.loads(line)["y"] for line in out.splitlines()] == [1.5, 2.5]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no source for input 'x'; add --input x=tail:FILE"),
        ("--input gone.csv", "--input x=gone.csv: gone.csv: there is no such file"),
        (
            "--input kafka:topic",
            "there is no source 'kafka:'; use tail:, folder:, repl",
        ),
        ("--input in", "--input x=in: is a directory; write folder:in"),
        ("--input tail:x.parquet", "only text that is not compressed can be followed"),
        ("--input folder:gone", "folder:gone: gone: there is no such directory"),
        ("--input replay:x.parquet@fast", "expected a speed like @60x, found @fast"),
        (
            "--input x.jsonl --late maybe",
            "--late x=maybe: expected drop, adjust, throw",
        ),
        (
            "--input x.jsonl --reorder soon",
            "--reorder soon: expected ticks or a durati",
        ),
        ("--input x.jsonl --idle 5", "--idle 5: expected a duration, like 5s"),
        ("--input x.jsonl --checkpoint 1", "--checkpoint 1: expected a duration, like"),
        (
            "--input x.jsonl --output out.parquet",
            "a Parquet file cannot grow; name a f",
        ),
        ("--input x.jsonl --output out.csv.gz", "is not compressed as a whole; leave"),
        (
            "--input x.jsonl --output gone/out.csv",
            "there is no directory gone; make it",
        ),
        ("--input x.jsonl --output x.jsonl", "that file is in use already (x.jsonl)"),
        ("--input x.jsonl --output-format parquet", "use 'jsonl', 'csv', 'tsv' or"),
        ("--input x.jsonl --until noon", "invalid choice"),
    ],
)
def test_wrong_words_are_refused(words: str, message: str, tilt: Tilt) -> None:
    code, out, err = tilt("live", "one.tilt", *words.split())
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


def test_several_outputs_need_places(tilt: Tilt) -> None:
    code, _, err = tilt("live", "two.tilt", "--input", "x.jsonl")
    assert code == 2
    assert "the outputs are 'y', 'z'; say where they go: --output y=FILE" in err
    code, _, err = tilt(
        "live", "two.tilt", "--input", "x.jsonl", "--output", "y=-", "--output", "z=-"
    )
    assert code == 2
    assert "only one output can go to the standard output" in err


def test_a_wrong_row_is_an_error_with_its_place(tilt: Tilt) -> None:
    Path("x.csv").write_text("t,x\n1,1\n2,two\n")
    code, _, err = tilt("live", "one.tilt", "--input", "x.csv", "--state", "state")
    assert code == 1
    assert "found 'two' at x.csv:3:3, expected an f64" in err
    Path("x.csv").write_text("t,x\n1,1\n2,2\n")
    code, _, err = tilt("live", "one.tilt", "--input", "x.csv", "--state", "state")
    assert (code, err) == (0, "")


def test_words_are_completed(tilt: Tilt) -> None:
    _, out, _ = tilt("--complete", "live", "one.tilt", "--inp")
    assert out.splitlines() == ["--input", "--input-format"]
    _, out, _ = tilt("--complete", "live", "one.tilt", "--input", "")
    assert out.splitlines() == ["x=", "@files"]
    _, out, _ = tilt("--complete", "live", "one.tilt", "--output", "")
    assert out.splitlines() == ["y=", "@files"]


def test_early_rows_need_a_form_that_takes_them_back(tilt: Tilt) -> None:
    code, out, err = tilt("live", "one.tilt", "--input", "x.jsonl", "--early")
    assert (code, out) == (2, "")
    assert (
        "--early: early rows change, and --form append takes no row back; add " in err
    )


def test_changes_and_upserts_add_up_to_the_rows_of_a_run(tilt: Tilt) -> None:
    expected = [json.loads(line) for line in expected_of(tilt, "one.tilt").splitlines()]
    words = ("live", "one.tilt", "--input", "folder:in", "--until", "EOF", "--early")
    code, out, err = tilt(*words, "--checkpoint", "1ms", "--form", "changes")
    assert (code, err) == (0, "")
    changes = [json.loads(line) for line in out.splitlines()]
    left: dict[str, int] = {}
    for row in changes:
        weight = row.pop("weight")
        left[json.dumps(row)] = left.get(json.dumps(row), 0) + weight
    rows = [json.loads(row) for row, weight in left.items() if weight]
    assert sorted(rows, key=lambda row: row["start"]) == expected
    code, out, err = tilt(
        *words, "--checkpoint", "1ms", "--form", "upsert", "--output", "y.csv"
    )
    assert code == 0
    assert err.startswith("wrote ")
    assert " rows to y.csv" in err
    by_start = {}
    for line in Path("y.csv").read_text().splitlines()[1:]:
        start, end, value, operation = line.split(",")
        assert operation in ('"put"', '"delete"')
        if operation == '"put"':
            by_start[int(start)] = int(end), float(value)
        else:
            del by_start[int(start)]
    assert by_start == {r["start"]: (r["end"], r["y"]) for r in expected}
