"""The `tilt` command: what it prints and writes, and how it says what is wrong."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from tests.cli.in_process import Tilt
from tiltpy.cli import binding, console
from tiltpy.cli.main import main
from tiltpy.notebook.cell_arguments import build_cell_parser
from tiltpy.progress import progress_bar
from tiltpy.runtime.results import file_sink

UP = """\
unit s
input m : f64 time ts point
param k : f64 = 1
output ~up
t = TDom(-∞, ∞, 1)
~up[t] = ~m[t] + k
"""
ROWS = "ts,m\n1970-01-01 00:00:01,10\n1970-01-01 00:00:02,20\n1970-01-01 00:00:05,50\n"
TILT = (sys.executable, "-m", "tiltpy.cli.main")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("up.tilt").write_text(UP)
    Path("m.csv").write_text(ROWS)


def test_run_prints_the_first_rows(tilt: Tilt) -> None:
    code, out, err = tilt("run", "up.tilt", "--input", "m=m.csv")
    assert (code, err) == (0, "")
    assert out == (
        "~up\n"
        "              start                  end  up\n"
        "1970-01-01 00:00:00  1970-01-01 00:00:01  11\n"
        "1970-01-01 00:00:01  1970-01-01 00:00:02  21\n"
        "1970-01-01 00:00:04  1970-01-01 00:00:05  51\n"
        "3 snapshots\n"
    )


def test_a_long_result_is_cut_and_counted(tilt: Tilt) -> None:
    lines = [f"{second},{second}" for second in range(1, 1235)]
    Path("n.csv").write_text("\n".join(["ts,m", *lines]))
    code, out, _ = tilt("run", "up.tilt", "--input", "n.csv")
    assert code == 0
    assert len(out.splitlines()) == 13
    assert out.endswith("\n1,234 snapshots, the first 10 shown\n")


def test_run_writes_every_format(tilt: Tilt) -> None:
    readers: dict[str, Callable[[str], object]] = {
        "up.parquet": pq.read_table,
        "up.csv": pc.read_csv,
        "up.feather": pf.read_table,
        "up.arrow": pf.read_table,
    }
    for name, reader in readers.items():
        words = ("run", "up.tilt", "--input", "m.csv", "--output", name)
        code, out, err = tilt(*words)
        assert (code, out) == (0, "")
        assert err.startswith(f"wrote 3 snapshots to {name} (")
        assert reader(name)["up"].to_pylist() == [11, 21, 51]  # type: ignore[index]


def test_a_result_is_read_back(tilt: Tilt) -> None:
    back = UP.replace("m : f64 time ts point", "up : f64 interval(start, end)")
    Path("back.tilt").write_text(back.replace("~up", "~more").replace("~m[", "~up["))
    for name in ("up.parquet", "up.csv", "up.arrow"):
        tilt("run", "up.tilt", "--input", "m.csv", "--output", name)
        code, out, err = tilt("run", "back.tilt", "--input", name)
        assert (code, err) == (0, "")
        assert [line.split()[-1] for line in out.splitlines()[2:5]] == [
            "12",
            "22",
            "52",
        ]


def test_several_outputs_go_to_several_files(tilt: Tilt) -> None:
    Path("two.tilt").write_text(UP + "~down[t] = ~m[t] - k\noutput ~down\n")
    run = ("run", "two.tilt", "--input", "m.csv")
    code, _, err = tilt(*run, "--output", "x.csv")
    assert code == 2
    assert err == (
        "error: --output x.csv: say for which of 'up', 'down': --output up=x.csv\n"
    )
    assert tilt(*run, "--output", "up=x.csv", "--output", "down=y.csv")[0] == 0
    assert pc.read_csv("y.csv")["down"].to_pylist() == [9, 19, 49]
    for option in ((), ("--memory", "1GB")):
        err = tilt(*run, *option, "--output", "up=x.csv")[2]
        assert "wrote 3 snapshots to x.csv" in err
        assert "~down is not written; to have it, add --output down=FILE\n" in err
    code, out, _ = tilt(*run)
    assert code == 0
    assert "~up\n" in out
    assert "~down\n" in out


def test_parameters_and_the_domain(tilt: Tilt) -> None:
    run = ("run", "up.tilt", "--input", "m.csv", "--output", "x.csv", "--quiet")
    for bounds in (
        ("--start", "1", "--end", "2"),
        ("--start", "1970-01-01T00:00:01", "--end", "1970-01-01T01:00:02+01:00"),
    ):
        assert tilt(*run, "-p", "k=0.5", *bounds) == (0, "", "")
        assert pc.read_csv("x.csv")["up"].to_pylist() == [20.5]


def test_bounds_that_the_query_leaves_open(tilt: Tilt) -> None:
    Path("bound.tilt").write_text(UP.replace("-∞, ∞", "a, ∞"))
    run = ("run", "bound.tilt", "--input", "m.csv", "--output", "x.csv", "--quiet")
    for time_ in ("3", "1970-01-01T00:00:03"):
        assert tilt(*run, "--bound", f"a={time_}") == (0, "", "")
        assert pc.read_csv("x.csv")["up"].to_pylist() == [51]
    code, _, err = tilt(*run)
    assert code != 0
    assert "'a'" in err


def test_names_that_a_run_has_taken(tilt: Tilt) -> None:
    Path("taken.tilt").write_text(
        UP.replace("m : f64", "workers : f64").replace("~m", "~workers")
    )
    code, _, err = tilt("run", "taken.tilt", "--input", "m.csv")
    assert code == 2
    assert "'workers' is an option of every run" in err


def test_whole_numbers_in_a_csv_are_the_declared_type(tilt: Tilt) -> None:
    Path("types.tilt").write_text(
        "input x : { a: f32, b: u8, c: f64 } time ts point\n~y[t] = ~x[t]\n"
    )
    Path("types.csv").write_text("ts,a,b,c\n1,1,255,\n2,,3,\n")
    run = ("run", "types.tilt", "--input", "types.csv", "--output", "x.parquet")
    assert tilt(*run, "--quiet") == (0, "", "")
    found = pq.read_table("x.parquet")
    assert [str(kind) for kind in found.schema.types[2:]] == [
        "float",
        "uint8",
        "double",
    ]
    assert found["a"].to_pylist() == [1.0, None]
    Path("types.csv").write_text("ts,a,b,c\n1,1,256,1\n")
    code, _, err = tilt(*run)
    assert code == 1
    assert "column 'b': found '256' at types.csv:2:5, expected a u8" in err


def test_chunks_and_workers_change_nothing(tilt: Tilt) -> None:
    run = ("run", "up.tilt", "--input", "m.csv")
    plain = tilt(*run)
    assert tilt(*run, "--chunk", "1", "--workers", "2") == plain
    assert tilt(*run, "--chunk", "1m") == plain


def test_what_the_query_leaves_open_is_given(tilt: Tilt) -> None:
    Path("open.tilt").write_text(UP.replace("time ts point", ""))
    Path("w.csv").write_text("a,b,c\n1,2,10\n5,6,50\n")
    run = ("run", "open.tilt", "--input", "w.csv", "--column", "m=c")
    code, out, err = tilt(*run, "--time", "b", "--lifetime", "until_next max 2s")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[2:4]] == [
        ["1", "3", "11"],
        ["5", "6", "51"],
    ]
    code, out, err = tilt(*run, "--lifetime", "m=interval(a, b)", "--order", "c")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[2:4]] == [
        ["1", "2", "11"],
        ["5", "6", "51"],
    ]


KEYED = """\
unit s
input m by symbol, venue : f64 time ts point
input r : f64 time ts until_next
~up[t] = ~m[t] + ~r[t]
"""
KEYED_ROWS = (
    "ts,sym,venue,m\n1970-01-01 00:00:01,b,1,10\n"
    "1970-01-01 00:00:02,a,2,20\n1970-01-01 00:00:03,b,1,30\n"
)


def test_inputs_by_key(tilt: Tilt) -> None:
    Path("keyed.tilt").write_text(KEYED)
    Path("rows.csv").write_text(KEYED_ROWS)
    Path("r.csv").write_text("ts,r\n1970-01-01 00:00:00,1\n1970-01-01 00:00:03,2\n")
    given = ["run", "keyed.tilt", "--input", "m=rows.csv", "--input", "r=r.csv"]
    given += ["--by", "m=sym,venue"]
    code, out, err = tilt(*given)
    assert (code, err) == (0, "")
    shown = out
    assert out == (
        "~up\n"
        "symbol  venue                start                  end  up\n"
        "     a      2  1970-01-01 00:00:01  1970-01-01 00:00:02  21\n"
        "     b      1  1970-01-01 00:00:00  1970-01-01 00:00:01  11\n"
        "     b      1  1970-01-01 00:00:02  1970-01-01 00:00:03  32\n"
        "3 snapshots\n"
    )
    code, out, _ = tilt(*given, "--sort", "time", "--output", "up.csv")
    assert code == 0
    rows = pc.read_csv("up.csv").to_pydict()
    assert rows["symbol"] == ["b", "a", "b"]
    assert list(rows) == ["symbol", "venue", "start", "end", "up"]
    Path("folder").mkdir()
    rows_read = pc.read_csv("rows.csv")
    floats = rows_read["m"].cast("float64")
    rows_read = rows_read.drop_columns(["m"]).append_column("m", floats)
    for place in range(3):  # in no order of time
        pq.write_table(rows_read.slice(2 - place, 1), f"folder/{place}.parquet")
    given[3] = "m=folder"
    code, out, err = tilt(*given)
    assert (code, err) == (0, "")
    assert out.replace(".000", "").split() == shown.split()
    code, out, err = tilt(*given, "--memory", "1GB")
    assert (code, err) == (0, "")
    assert out.replace(".000", "").split() == shown.split()
    code, _, err = tilt(*given, "--memory", "1GB", "--sort", "time")
    assert (code, err.count("\n")) == (2, 1)
    assert "--sort orders all rows at once; leave --memory out" in err
    code, _, err = tilt(*given[:-1], "m=sym")
    assert (code, err.count("\n")) == (1, 1)
    assert "the query declares the keys 'symbol', 'venue', but 'sym' are bound" in err
    assert tilt("check", "keyed.tilt") == (
        0,
        "keyed.tilt: ok: ~m by symbol, venue, ~r -> ~up\n",
        "",
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            "",
            2,
            "say what to do: run, live, plot, check, explain, fmt, new, disorder, "
            "lsp or completion (see tilt --help)",
        ),
        ("walk", 2, "invalid choice: 'walk'"),
        ("run", 2, "the following arguments are required: QUERY (see tilt run --help)"),
        ("run gone.tilt", 2, "gone.tilt: not readable: no such file or directory"),
        ("run up.tilt", 2, "no file for input 'm'; add --input m=FILE"),
        ("run up.tilt --input gone.csv", 2, "gone.csv: there is no such file"),
        ("run up.tilt --input m=", 2, "--input m=: it has no value; give one"),
        ("run up.tilt --input m.xls", 2, "the suffix '.xls' says no format"),
        ("run up.tilt --input mm=m.csv", 2, "there is no 'mm'; did you mean 'm'?"),
        ("run up.tilt --input m.csv --input m.csv", 2, "--input is given twice"),
        ("run up.tilt --input m.csv --output m.csv", 2, "is in use already (m.csv)"),
        ("run up.tilt --input m.csv --output ./m.csv", 2, "is in use already (m.csv)"),
        ("run up.tilt --input m.csv --output no/x.csv", 2, "there is no directory no"),
        ("run up.tilt --input m.csv --output x", 2, "a name without suffix"),
        ("run up.tilt --input m.csv --output .", 2, "."),
        ("run up.tilt --input m.csv --workers 0", 2, "expected a whole number above 0"),
        ("run up.tilt --input m.csv --chunk 0", 2, "expected a length above 0"),
        ("run up.tilt --input m.csv --chunk 1ms", 2, "not a whole number of"),
        ("run up.tilt --input m.csv --start noon", 2, "expected ticks or a stamp"),
        ("run up.tilt --input m.csv --start 9 --end 2", 2, "--start 9 is later than"),
        ("run up.tilt --input m.csv --lifetime long", 2, "expected point, duration"),
        ("run up.tilt --input m.csv --by k", 1, "write input m by k : ..."),
        ("run up.tilt --input m.csv --sort time", 2, "no input by key"),
        ("run up.tilt --input m.csv --sort size", 2, "invalid choice: 'size'"),
        ("run up.tilt --input m.csv -p k", 2, "write -p NAME=VALUE, as in -p w=30s"),
        ("run up.tilt --input m.csv -p q=1", 2, "q"),
        ("run up.tilt --input m.csv -p k=high", 2, "high"),
        ("run up.tilt --input broken.parquet", 1, "not readable as Parquet"),
        ("run up.tilt --input text.csv", 1, "input 'm', column 'm'"),
        ("run up.tilt --input other.csv", 1, "input 'm', column 'ts'"),
        ("check up.tilt bytes.tilt", 2, "bytes.tilt: is not text in UTF-8 (byte 1)"),
        ("fmt gone.tilt", 2, "gone.tilt: not readable"),
    ],
)
def test_whatever_is_wrong_is_one_clear_line(
    tilt: Tilt, words: str, code: int, message: str
) -> None:
    Path("broken.parquet").write_bytes(b"PAR1 no more")
    Path("text.csv").write_text("ts,m\n1,one\n2,two\n")
    Path("other.csv").write_text("when,m\n1,1\n")
    Path("bytes.tilt").write_bytes(b"u\xff")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    got, _, err = tilt(*words.split())
    assert message in err
    assert got == code
    assert err.startswith(("error: ", "error["))
    assert err.startswith("error[") or err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_wrong_queries_are_shown_with_a_caret(tilt: Tilt) -> None:
    Path("wrong.tilt").write_text(UP.replace("~m[t] + k", "~m + kk"))
    for words in ("check", "explain", "fmt --check", "run"):
        code, out, err = tilt(*words.split(), "wrong.tilt")
        if words.startswith("fmt"):
            continue  # It reads: only what it means is wrong.
        assert (code, out) == (2, "")
        assert "error[E0103]" in err
        assert "--> wrong.tilt:6:10" in err
        assert "^^" in err
    assert "error[E0102]" in tilt("check", "wrong.tilt")[2]


def test_check_says_what_goes_in_and_out(tilt: Tilt) -> None:
    assert tilt("check", "up.tilt") == (0, "up.tilt: ok: ~m -> ~up\n", "")


def test_explain_shows_the_stages(tilt: Tilt) -> None:
    code, out, err = tilt("explain", "up.tilt", "--input", "m.csv")
    assert (code, err) == (0, "")
    assert "~up[t]" in out
    assert "define" not in out
    assert "define" in tilt("explain", "up.tilt", "--llvm")[1]
    assert len(tilt("explain", "up.tilt", "--asm")[1]) > len(out)


def test_fmt_rewrites_what_differs(tilt: Tilt) -> None:
    Path("ugly.tilt").write_text(UP.replace("~m[t] + k", "  ~m[ t ]+k"))
    code, out, err = tilt("fmt", "--check", "ugly.tilt")
    assert (code, out, err) == (1, "would reformat ugly.tilt\n", "")
    assert tilt("fmt", "ugly.tilt") == (0, "reformatted ugly.tilt\n", "")
    once = Path("ugly.tilt").read_text()
    assert "~m[t] + k" in once
    assert tilt("fmt", "ugly.tilt") == (0, "", "")
    assert tilt("fmt", "--check", "ugly.tilt") == (0, "", "")
    assert Path("ugly.tilt").read_text() == once


def test_fmt_leaves_wrong_files_alone(tilt: Tilt) -> None:
    Path("wrong.tilt").write_text("output ~\n")
    Path("ugly.tilt").write_text(UP + "\n\n\n\n")
    code, out, err = tilt("fmt", "wrong.tilt", "ugly.tilt")
    assert code == 2
    assert out == "reformatted ugly.tilt\n"
    assert err.startswith("error[")
    assert Path("wrong.tilt").read_text() == "output ~\n"


def _tilt(
    words: Sequence[str], input: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603
        [*TILT, *words], input=input, capture_output=True, check=False, timeout=60
    )


def test_dash_is_the_standard_input() -> None:
    done = _tilt(["fmt", "-"], UP.replace("~m[t] + k", "~m[t]+k").encode())
    assert done.returncode == 0
    assert b"~m[t] + k" in done.stdout
    done = _tilt(["run", "-", "--input", "m.csv"], UP.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    done = _tilt(["check", "-"], b"output ~x\n")
    assert done.returncode == 2
    assert b"--> <stdin>:1:" in done.stderr


def test_version_and_help() -> None:
    assert _tilt(["--version"]).stdout.startswith(b"tilt ")
    done = _tilt(["--help"])
    assert done.returncode == 0
    assert b"--output trend.parquet" in done.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(  # noqa: S603
        [*TILT, "run", "up.tilt", "--input", "m.csv"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("step", ["read_text", "read_source", "make_writer"])
def test_control_c_leaves_no_half_file(
    tilt: Tilt, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    modules = {
        "read_text": console,
        "read_source": binding,
        "make_writer": file_sink,
    }
    module = modules[step]
    whole = getattr(module, step)

    def interrupted(*words: object, **options: object) -> object:
        found = whole(*words, **options)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(module, step, interrupted)
    Path("x.parquet").write_bytes(b"before")
    files = sorted(Path().iterdir())
    code, out, err = tilt("run", "up.tilt", "--input", "m.csv", "--output", "x.parquet")
    assert (code, out, err) == (130, "", "tilt: interrupted\n")
    assert Path("x.parquet").read_bytes() == b"before"
    assert sorted(Path().iterdir()) == files


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_leaves_no_half_file(
    tilt: Tilt, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def terminated(sink: pa.OSFile, *_arguments: object) -> None:
        sink.write(b"half")
        os.kill(os.getpid(), number)
        time.sleep(0.01)

    monkeypatch.setattr(file_sink, "make_writer", terminated)
    files = sorted(Path().iterdir())
    inherited = signal.signal(number, signal.SIG_DFL)  # ignored where nohup runs this
    try:
        code, _, _ = tilt("run", "up.tilt", "--input", "m.csv", "--output", "x.parquet")
    finally:
        signal.signal(number, inherited)
    assert code == 128 + number
    assert sorted(Path().iterdir()) == files


def test_a_waiting_command_can_be_interrupted() -> None:
    program = (
        "from tiltpy.cli.main import main; print(flush=True); raise SystemExit(main())"
    )
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)  # Now it waits for its input, which never ends.
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"tilt: interrupted\n"


@pytest.mark.parametrize(
    "last",
    ["import atexit; atexit.register(say)", "threading.Thread(target=say).start()"],
)
def test_a_command_ends_after_all_that_goes_on(last: str) -> None:
    program = (
        "import threading, time\n"
        "from tiltpy.cli.main import main\n"
        "def say():\n"
        "    time.sleep(0.2); print('last')\n"
        f"{last}; raise SystemExit(main())"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, "explain", "none.tilt"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, b"last\n")


class _Terminal:
    """Standard error as a terminal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read, self.write = pty.openpty()
        self.stream = os.fdopen(self.write, "w")
        monkeypatch.setattr(sys, "stderr", self.stream)

    def text(self) -> str:
        """Text written so far.

        The system hands it over in pieces, some of them later than others, so
        a mark is written behind it and awaited.
        """
        self.stream.write("\0")
        self.stream.flush()
        text = b""
        while not text.endswith(b"\0"):
            text += os.read(self.read, 65536)
        return text[:-1].decode()


@pytest.mark.parametrize("rich", [True, False])
def test_progress_is_shown_on_a_terminal_after_a_while(
    monkeypatch: pytest.MonkeyPatch, rich: bool
) -> None:
    terminal = _Terminal(monkeypatch)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(progress_bar, "PATIENCE", 600.0)
    with progress_bar.ProgressBar() as early:
        early(1, 2)
    assert terminal.text() == ""
    monkeypatch.setattr(progress_bar, "PATIENCE", 0.0)
    with progress_bar.ProgressBar() as late:
        late(1, 4)
    assert ("running" if rich else "25 %") in terminal.text()


def test_progress_is_silent_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_bar, "PATIENCE", 0.0)
    with progress_bar.ProgressBar() as shown:
        shown(1, 2)
    assert capsys.readouterr() == ("", "")


def test_heavy_packages_are_not_imported() -> None:
    code = (
        "import sys; from tiltpy.cli.main import main; "
        "main(['run', 'up.tilt', '--input', 'm.csv', '--output', 'x.csv']); "
        "print({'pandas', 'polars', 'rich', 'pyarrow.dataset'} & set(sys.modules))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60
    )
    assert done.stdout == b"set()\n", done.stderr


def test_runs_by_key_import_nothing_slow(tmp_path: Path) -> None:
    """Nor does reading and writing Parquet, in one piece or in several."""
    stamps = pa.array(np.arange(1, 9001))
    keys = pa.array([f"k{number % 7}" for number in range(9000)])
    table = pa.table({"time": stamps, "k": keys, "x": np.arange(9000) / 8})
    pq.write_table(table, tmp_path / "x.parquet")
    tmp_path.joinpath("keyed.tilt").write_text(
        "input x by k : f64 time time point\n~o[t] = sum(~x[t-9:t])\n"
        "w = TDom(-∞, ∞, 50)\n~p[w] = mean(~x[w-50:w])\n"
    )
    tmp_path.joinpath("plain.tilt").write_text(
        "input x : f64 time time point\n~o[t] = sum(~x[t-9:t])\n"
    )
    code = (
        "import sys; from tiltpy.cli.main import main; "
        "keyed = ['run', 'keyed.tilt', '--input', 'x.parquet', '--column', 'x']; "
        "main([*keyed, '--output', 'o=o.parquet', '--output', 'p=p.parquet']); "
        "plain = ['run', 'plain.tilt', '--input', 'x.parquet', '--column', 'x']; "
        "main([*plain, '--output', 'o=o.parquet', '--memory', '1MB']); "
        "print({'pandas', 'pyarrow.compute'} & set(sys.modules))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout == b"set()\n", done.stderr


@pytest.mark.parametrize("command", ["run", "live", "plot", "explain"])
def test_parameters_are_explained_as_in_cells(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    expected = "the value of a parameter, as in -p w=30s; may be given again"
    for text in (capsys.readouterr().out, build_cell_parser().format_help()):
        assert expected in " ".join(text.split())


def test_a_link_to_itself_is_replaced(tilt: Tilt) -> None:
    Path("loop.csv").symlink_to("loop.csv")
    code, _, err = tilt("run", "up.tilt", "--input", "m.csv", "--output", "loop.csv")
    assert (code, err.startswith("wrote 3 snapshots to loop.csv")) == (0, True)
    assert Path("loop.csv").read_text().startswith('"start","end","up"')
