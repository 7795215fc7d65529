"""`tilt new`: queries for files, which run over them as they are."""

import gzip
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import ROOT
from tests.cli.in_process import Tilt
from tiltpy.limits import MAX_FIELDS


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_trades() -> None:
    rows = [
        f"2024-03-01 09:{n // 60:02}:{n % 60:02},{'AB'[n % 3 > 0]},{n / 8},{n}"
        for n in range(600)
    ]
    Path("trades.csv").write_text("\n".join(["ts,symbol,price,size", *rows]) + "\n")


TRADES = """\
# A query over trades.csv. Run it:
#     tilt run trades.tilt --input trades=trades.csv
#
# The columns, the first row, and what the file says of their types:
#     ts      2024-03-01 09:00:00  timestamp[s]
#     symbol  A                    string
#     price   0                    double
#     size    0                    int64

unit s  # the tick: all times are whole numbers of it

# `point`: a row is there at its own time alone. A price or a state holds on:
# write `until_next`; something that lasts is `duration 5m`.
# `by symbol`: a result for each, from its own rows.
input trades by symbol : { price: f64, size: i64 } time ts point

# The times at which there is a result: every 10s.
g = TDom(-∞, ∞, 10s)

# `[g-10s : g]` is the window after `g - 10s`, up to `g`.
~rows[g] = count(~trades[g-10s : g])
~average[g] = mean(x.price for x in ~trades[g-10s : g])

output ~rows
output ~average
"""


@pytest.mark.parametrize("name", ["cold.csv", "cold.csv.gz"])
@pytest.mark.parametrize(
    ("sign", "point", "options"),
    [
        (";", ",", "--decimal ,"),
        (";", ".", "--delimiter ';'"),
        ("\t", ".", "--delimiter '\\t'"),
        ("|", ",", "--delimiter '|' --decimal ,"),
    ],
)
def test_separators_are_found(
    tilt: Tilt, name: str, sign: str, point: str, options: str
) -> None:
    rows = [("time", "temp", "door")] + [
        (f"2026-03-01 08:0{n}:00", f"-1{point}{n}5", "a;b" if sign == "|" else "a")
        for n in range(9)
    ]
    text = "\n".join(map(sign.join, rows)).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    code, _, err = tilt("new", name, "--output", "cold.tilt")
    command = f"tilt run cold.tilt --input cold={name} {options}"
    assert (code, err) == (0, f"wrote cold.tilt; run it: {command}\n")
    assert f"#     {command}\n" in Path("cold.tilt").read_text()
    code, out, _ = tilt(*shlex.split(command)[1:])
    assert (code, out.split("\n")[0]) == (0, "~rows")


def test_a_query_for_a_file(tilt: Tilt) -> None:
    write_trades()
    assert tilt("new", "trades.csv") == (0, TRADES, "")
    code, out, err = tilt("new", "trades.csv", "--output", "trades.tilt")
    assert (code, out) == (0, "")
    command = "tilt run trades.tilt --input trades=trades.csv"
    assert err == f"wrote trades.tilt; run it: {command}\n"
    assert tilt("fmt", "--check", "trades.tilt")[0] == 0
    assert tilt("new", "trades.csv", "--output", "-") == (0, TRADES, "")
    code, out, err = tilt(*shlex.split(command)[1:])
    assert (code, err) == (0, "")
    assert out.startswith("~rows\nsymbol ")
    assert "is there already" in tilt("new", "trades.csv", "--output", "trades.tilt")[2]


@pytest.mark.parametrize("name", ["AAPL", "flights", "power", "retail", "weather"])
def test_it_runs_over_real_data(tilt: Tilt, name: str) -> None:
    path = ROOT / "examples" / "data" / f"{name}.parquet"
    code, _, err = tilt("new", str(path), "--output", "q.tilt")
    assert code == 0
    code, out, err = tilt(*shlex.split(err.partition("run it: tilt ")[2]))
    assert (code, "snapshots" in out) == (0, True), err


def test_options_of_text_go_into_the_command(tilt: Tilt) -> None:
    Path("x.csv").write_text("Zeit;Wert\n01.03.2024;1,5\n02.03.2024;2,5\n")
    words = ("new", "x.csv", "--decimal", ",", "--output", "x.tilt")
    code, _, err = tilt(*words)
    assert code == 1
    assert "no column is of times; if 'Zeit' is, add --date-format '%d.%m.%Y'" in err
    code, _, err = tilt(*words, "--date-format", "%d.%m.%Y")
    assert code == 0
    assert "unit d" in Path("x.tilt").read_text()
    code, out, err = tilt(*shlex.split(err.partition("run it: tilt ")[2]))
    assert (code, err) == (0, "")
    assert out.endswith("1 snapshot\n") or "2.0" in out


def test_names_and_types_of_any_kind(tilt: Tilt) -> None:
    table = pa.table(
        {
            "end": pa.array([1_500, 2_500, 9_000], pa.timestamp("ms", "Europe/Berlin")),
            'the "price" [$]': pa.array([1, 2, None], pa.float32()),
            "start": pa.array([1, 2, 3], pa.uint8()),
            "ok": [True, None, False],
            "list": [[1], [], None],
            "day": pa.array([1, 2, 3], pa.date32()),
        }
    )
    pq.write_table(table, "2 input.parquet")
    code, _, err = tilt("new", "2 input.parquet", "--output", "q.tilt", "--time", "end")
    assert code == 0
    text = Path("q.tilt").read_text()
    assert "unit ms" in text
    assert (
        'input x2_input : { "the \\"price\\" [$]": f32, start: u8, ok: bool, ' in text
    )
    code, _, err = tilt(*shlex.split(err.partition("run it: tilt ")[2]))
    assert (code, err) == (0, "")
    pq.write_table(pa.table({"time": [3, 7, 9], "v": ["a", "b", "c"]}), "rows.parquet")
    text = tilt("new", "rows.parquet")[1]
    assert "\nunit" not in text
    assert "If they are milliseconds, write\n# `unit ms` here" in text
    assert "input rows_data : { v: string } time time point" in text
    assert "TDom(-∞, ∞, 30)" in text


def test_times_beside_numbers_of_ticks_are_left_out(tilt: Tilt) -> None:
    """A query of plain ticks has no unit in which it could read them."""
    stamps = pa.array([1, 2], pa.timestamp("s"))
    pq.write_table(pa.table({"n": [1, 2], "at": stamps, "v": [1, 2]}), "rows.parquet")
    code, _, err = tilt("new", "rows.parquet", "--time", "n", "--output", "q.tilt")
    assert code == 0
    assert "{ v: i64 } time n point" in Path("q.tilt").read_text()
    assert tilt(*shlex.split(err.partition("run it: tilt ")[2]))[0] == 0


def test_columns_without_a_name_are_left_out(tilt: Tilt) -> None:
    """An index of pandas has none in CSV; times are found without."""
    for header, declared in (
        (",x", "{ x: f64 } point"),
        (",ts,x", "{ x: f64 } time ts point"),
        (f"{'n' * 2000},ts,x", "{ x: f64 } time ts point"),
    ):
        numbers = ["", *("5," for name in header.split(",") if name == "ts")]
        first = numbers[-1]
        rows = [f"{first}2024-03-0{n},{n}.5" for n in range(1, 4)]
        Path("x.csv").write_text("\n".join([header, *rows]))
        Path("q.tilt").unlink(missing_ok=True)
        code, _, err = tilt("new", "x.csv", "--output", "q.tilt")
        assert code == 0, err
        assert declared in Path("q.tilt").read_text()
        code, out, err = tilt(*shlex.split(err.partition("run it: tilt ")[2]))
        assert (code, err) == (0, "")
        assert "2.5" in out


def test_more_columns_than_a_struct_may_have(tilt: Tilt) -> None:
    columns = {f"c{n}": [n] for n in range(MAX_FIELDS + 1)}
    pq.write_table(pa.table({"ts": [1], **columns}), "wide.parquet")
    code, out, err = tilt("new", "wide.parquet")
    assert (code, err) == (0, "")
    assert f"c{MAX_FIELDS - 1}: i64 }}" in out


@pytest.mark.parametrize(
    ("key", "by", "outputs"),
    [
        ("start", "", "rows average"),
        ("end", "", "rows average"),
        ("rows", " by rows", "rows_2 average"),
        ("average", " by average", "rows average_2"),
    ],
)
def test_keys_with_names_of_columns_of_outputs(
    tilt: Tilt, key: str, by: str, outputs: str
) -> None:
    table = {"ts": range(20), key: ["a", "b"] * 10, "x": range(20)}
    pq.write_table(pa.table(table), "q.parquet")
    code, out, err = tilt("new", "q.parquet")
    assert (code, err) == (0, "")
    assert f"input q{by} : {{" in out
    assert out.endswith("".join(f"output ~{name}\n" for name in outputs.split()))
    if not by:
        code, out, err = tilt("new", "q.parquet", "--by", key)
        assert (code, out) == (1, "")
        assert f"column '{key}' is no key" in err


def test_directories_are_datasets(tilt: Tilt) -> None:
    Path("rows").mkdir()
    table = pa.table({"at": pa.array([1, 2], pa.timestamp("s")), "v": [1.5, 2.5]})
    pq.write_table(table, "rows/first.parquet")
    code, _, err = tilt("new", "rows", "--output", "q.tilt")
    assert code == 0
    code, out, err = tilt(*shlex.split(err.partition("run it: tilt ")[2]))
    assert (code, err) == (0, "")
    assert "average" in out


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 2], pa.timestamp("s")).dictionary_encode(),
        pa.array([-(2**63), 0, 2**63 - 1], pa.timestamp("us")),
        pa.array([-(2**63), 0, 2**63 - 1], pa.timestamp("s")),
        pa.array([0, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([-(2**31), 0, 2**31 - 1], pa.date32()),
    ],
    ids=lambda column: str(column.type),
)
def test_times_of_any_kind(tilt: Tilt, column: pa.Array) -> None:
    table = pa.table(
        {
            "ts": column,
            "half": pa.array([1, 2, 3], pa.float16()),
            "view": pa.array(["a", "b", None], pa.string_view()),
            "code": pa.array(["a", "b", None]).dictionary_encode(),
        }
    )
    with (
        pa.OSFile("times.arrow", "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    code, out, err = tilt("new", "times.arrow")
    assert (code, err) == (0, "")
    assert "input times : { half: f32, view: string, code: string } time ts" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("gone.csv", 2, "gone.csv: there is no such file"),
        ("-", 2, "-: is not a file; name one"),
        ("trades.csv --time when", 1, "there is no column 'when'; there is 'ts', "),
        ("trades.csv --time price", 1, "column 'price' is of double; expected times"),
        ("trades.csv --output no/q.tilt", 2, "there is no directory no"),
        (
            "plain.csv",
            1,
            "found no times in 'a', 'b'; name their column: --time",
        ),
        ("times.csv", 1, "it has times and keys, but no column of values"),
        ("twice.csv", 1, "several columns are called 'x'; rename them"),
        ("twice.parquet", 1, "several columns are called 'x'; rename them"),
        ("nothing", 1, "nothing: there are no .parquet files"),
    ],
)
def test_what_is_wrong_is_one_line(
    tilt: Tilt, words: str, code: int, message: str
) -> None:
    write_trades()
    Path("plain.csv").write_text("a,b\n1,2\n")
    Path("times.csv").write_text("time\n1\n")
    Path("twice.csv").write_text("time,x,x\n1,2,3\n")
    twice = pa.Table.from_arrays([pa.array([1])] * 3, ["time", "x", "x"])
    pq.write_table(twice, "twice.parquet")
    Path("nothing").mkdir()
    got, out, err = tilt("new", *words.split())
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert message in err
