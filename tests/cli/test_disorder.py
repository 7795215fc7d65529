"""`tilt disorder`: the disorder of rows in files, and the effects of latencies."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.in_process import Tilt


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_rows(**columns: list[object]) -> None:
    pq.write_table(pa.table(columns), "rows.parquet")


SHOWN = """\
rows.parquet: 8 rows, time (int64)

inversions   11  pairs of rows in the wrong order
distance      7  rows between two of a pair, at most
runs          4  of successive rows in order
interleaved   3  sources in order, at least

reorder  late rows          waiting rows, at most
0                5  62.50%                      1
1                4  50.00%                      3
10               1  12.50%                      7
100              0   0.00%                      8
"""


def test_ticks(tilt: Tilt) -> None:
    write_rows(time=[100, 101, 100, 110, 105, 106, 107, 10])
    assert tilt("disorder", "rows.parquet") == (0, SHOWN, "")


def test_clocks_of_keys(tilt: Tilt) -> None:
    write_rows(time=[5, 1, 6, 2, 7, 3], key=["a", "b"] * 3)
    out = tilt("disorder", "rows.parquet")[1]
    assert "inversions   6 " in out
    assert out.splitlines()[-1].split() == ["4", "0", "0.00%", "4"]
    out = tilt("disorder", "rows.parquet", "--by", "key")[1]
    assert "rows.parquet: 6 rows, time (int64), 2 keys by key" in out
    assert "inversions   0 " in out
    assert out.splitlines()[-1].split() == ["0", "0", "0.00%", "2"]


@pytest.mark.parametrize(
    ("times", "latencies"),
    [
        (["10:00:00", "10:00:00"], ["0"]),
        (["10:00:01", "10:00:00"], ["0", "1s"]),
        (["10:02:00", "10:00:00"], ["0", "2m"]),
        (["11:00:00", "10:59:55", "10:00:15"], ["0", "10s", "3585s"]),
    ],
)
def test_latencies_of_stamps(
    tilt: Tilt, times: list[str], latencies: list[str]
) -> None:
    lines = ["at,x", *(f"2026-03-01 {time},1" for time in times)]
    Path("rows.csv").write_text("\n".join(lines))
    out = tilt("disorder", "rows.csv")[1]
    table = out[out.index("reorder") :].splitlines()[1:]
    assert [line.split()[0] for line in table] == latencies


def test_dates_of_text_and_pipes(tilt: Tilt) -> None:
    Path("rows.txt").write_text("when;x\n02.03.2026;1\n01.03.2026;2\n")
    words = ["--input-format", "csv", "--delimiter", ";", "--date-format", "%d.%m.%Y"]
    out = tilt("disorder", "rows.txt", *words)[1]
    assert out.splitlines()[-1].split() == ["1d", "0", "0.00%", "2"]


def test_times_in_a_dictionary(tilt: Tilt) -> None:
    stamps = pa.array([1, 3, 2], pa.timestamp("s")).dictionary_encode()
    table = pa.table({"ts": stamps})
    with (
        pa.OSFile("rows.arrow", "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    code, out, err = tilt("disorder", "rows.arrow")
    assert (code, err) == (0, "")
    assert "inversions   1 " in out


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        ("gone.parquet", "gone.parquet: there is no such file", 2),
        ("rows.parquet --time at", "there is no column 'at'; there is 'time', 'x'", 1),
        ("rows.parquet --by at", "there is no column 'at'", 1),
        ("rows.parquet --time x", "column 'x' is of string; expected timestamps", 1),
        ("far.parquet", "column 'time' has times beyond ±2**62, which no query", 1),
        ("null.parquet", "column 'time' has no time in 1 row; fill them in", 1),
        ("empty.parquet", "empty.parquet: there are no rows", 1),
        (".", ".: is a directory; name a file in it", 2),
        ("twice.parquet", "several columns are called 'ts'; rename them", 1),
        ("twice.parquet --time x --by ts", "several columns are called 'ts'", 1),
    ],
)
def test_mistakes(tilt: Tilt, words: str, message: str, code: int) -> None:
    write_rows(time=[1, 2], x=["a", "b"])
    empty = pa.schema([("time", pa.int64())]).empty_table()
    pq.write_table(empty, "empty.parquet")
    far = pa.array([1, 2**64 - 1], pa.uint64())
    pq.write_table(pa.table({"time": far}), "far.parquet")
    pq.write_table(pa.table({"time": pa.array([1, None])}), "null.parquet")
    twice = pa.Table.from_arrays([pa.array([1])] * 3, ["ts", "x", "ts"])
    pq.write_table(twice, "twice.parquet")
    got, out, err = tilt("disorder", *words.split())
    assert (got, out) == (code, "")
    assert message in err
