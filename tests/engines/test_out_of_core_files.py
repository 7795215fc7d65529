"""Parquet datasets in, files out: in order of time, whole or not at all."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.costs import default_span_costs
from tests.datasets import joined, prices, write_dataset
from tiltpy.cli.main import main
from tiltpy.memory_sizes import size_of

ORDERED = "unit s\ninput x : f64 {lifetime} time time order seq\n"
BODIES = (
    "~o[t] = mean(~x[t-9:t]) > mean(~x[t-30:t]) ? ~x[t] : φ",
    "t = TDom(-∞, ∞, 20)\n~o[t] = sum(~x[t-60:t])",
    "~o[t] = ~x[t+25] - ~x[t-3]",
    "~o[t] = ~x[t] + 1",
)


@pytest.mark.parametrize("lifetime", ["point", "duration 5", "until_next", "sampled 2"])
@pytest.mark.parametrize("body", BODIES)
def test_parquet_datasets(tmp_path: Path, lifetime: str, body: str) -> None:
    """Several files and row groups, ties over their edges, one column of three."""
    table = prices(5000)
    folder = write_dataset(tmp_path / "data", table, files=4, group=300)
    query = tilt.parse(ORDERED.format(lifetime=lifetime) + body)
    whole = tilt.bind(table, column="price")
    scan = tilt.bind(tilt.scan_parquet(folder), column="price")
    expected = query.run(x=whole).to_arrow().combine_chunks()
    parts = query.stream(x=scan, memory="1MB")
    assert joined(parts).equals(expected)
    expected = query.run(x=whole, start=3000, end=4321).to_arrow().combine_chunks()
    parts = query.stream(x=scan, memory="1MB", start=3000, end=4321)
    assert joined(parts).equals(expected)


def test_row_groups_before_the_start_are_not_read(tmp_path: Path) -> None:
    """They may as well be broken."""
    table = prices(5000)
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, row_group_size=500, compression="none")
    query = tilt.parse(QUERY)
    x = tilt.bind(tilt.scan_parquet(path), column="price")
    expected = joined(query.stream(x=x, start=6000))
    data = bytearray(path.read_bytes())
    data[10 : len(data) // 2] = b"\xff" * (len(data) // 2 - 10)
    path.write_bytes(data)
    assert joined(query.stream(x=x, start=6000)).equals(expected)
    with pytest.raises(tilt.DataError, match="not readable as Parquet"):
        joined(query.stream(x=x))


def test_runs_read_the_columns_that_they_want(tmp_path: Path) -> None:
    """Strings come as dictionaries, of each row group its own."""
    table = prices(5000)
    keys = pa.array([f"k{number % 11 + number // 1000}" for number in range(5000)])
    folder = write_dataset(
        tmp_path / "data", table.append_column("k", keys), files=2, group=300
    )
    scan = tilt.scan_parquet(folder)
    read = scan.read(["time", "k"])
    assert read.column_names == ["time", "k"]
    assert pa.types.is_dictionary(read["k"].type)
    query = tilt.parse(
        "unit s\ninput x by k : { price: f64, k: string } time time order seq point\n"
        "~o[t] = { sum = sum(~x[t-60:t].price), newest = last(~x[t-60:t].k) }"
    )
    expected = query.run(x=table.append_column("k", keys)).to_arrow()
    assert query.run(x=scan).to_arrow().equals(expected)


def test_files_with_other_keys_are_refused(tmp_path: Path) -> None:
    for number, each in enumerate((pa.string(), pa.int64())):
        keys = pa.array(["1", "2"]).cast(each)
        columns = {"time": pa.array([1, 2]), "k": keys, "x": pa.array([1.0, 2.0])}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    query = tilt.parse("input x by k : f64 time time point\n~o[t] = ~x[t]")
    with pytest.raises(tilt.DataError, match=r"1\.parquet: the column is .* is string"):
        query.run(x=tilt.bind(tilt.scan_parquet(tmp_path), column="x"))


# Files out


QUERY = "unit s\ninput x : f64 until_next time time\n~o[t] = ~x[t] - mean(~x[t-99:t])"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_results_in_files(tmp_path: Path, suffix: str) -> None:
    table = prices(20_000)
    folder = write_dataset(tmp_path / "data", table, files=3, group=2000)
    query = tilt.parse(QUERY)
    path = tmp_path / f"out{suffix}"
    x = tilt.bind(tilt.scan_parquet(folder), column="price")
    counts = query.run_to(path, x=x, memory="1MB")
    expected = query.run(x=tilt.bind(table, column="price")).to_arrow()
    assert counts == {"o": expected.num_rows}
    if suffix == ".parquet":
        assert pq.read_table(path).equals(expected)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data", path.name]


def test_a_scan_is_a_frame_for_everybody(tmp_path: Path) -> None:
    table = prices(1000)
    folder = write_dataset(tmp_path / "data", table, files=2, group=100)
    query = tilt.parse(QUERY)
    x = tilt.bind(tilt.scan_parquet(folder / "*.parquet"), column="price")
    assert (
        query.run(x=x).num_rows
        == query.run(x=tilt.bind(table, column="price")).num_rows
    )


def test_the_command_line_streams_datasets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory, a pattern, or one file with a bound."""
    folder = write_dataset(tmp_path / "data", prices(5000), files=3, group=400)
    one = tmp_path / "one.parquet"
    pq.write_table(prices(5000), one)
    query, out = tmp_path / "q.tilt", tmp_path / "out.parquet"
    query.write_text(QUERY)
    common = ["run", str(query), "--column", "price"]
    assert main([*common, "--input", str(one)]) == 0
    shown = capsys.readouterr().out
    for given in (
        [str(folder)],
        [f"{folder}/*.parquet"],
        [str(one), "--memory", "1MB"],
    ):
        assert main([*common, "--input", *given]) == 0
        assert capsys.readouterr().out == shown
        assert main([*common, "--output", str(out), "--input", *given]) == 0
        assert f"{pq.read_table(out).num_rows:,} snapshots" in shown
    assert main([*common, "--input", str(folder), "--memory", "many"]) == 2
    assert "expected bytes, or a size like" in capsys.readouterr().err
    assert main([*common, "--input", f"{folder}/no*.parquet"]) == 2
    inside = ["--input", str(folder), "--output", str(folder / "out.parquet")]
    assert main([*common, *inside]) == 2


def test_files_that_are_incomplete_or_no_rows_are_left_out(tmp_path: Path) -> None:
    """A job that failed leaves `_temporary`; Spark calls directories `.parquet`."""
    folder = tmp_path / "data"
    for name in (
        "rows.parquet/part-0.parquet",
        "_day=2/part-1.parquet",
        "_temporary/0/part-2.parquet",
        ".rows.parquet/part-3.parquet",
        "_metadata.parquet",
        ".part-4.parquet",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(prices(3), path)
    names = ["part-0.parquet", "part-1.parquet"]
    assert sorted(path.name for path in tilt.scan_parquet(folder).paths) == names
    pattern = tilt.scan_parquet(f"{folder}/rows*/**")
    assert [path.name for path in pattern.paths] == names[:1]
    with pytest.raises(tilt.DataError, match=r"there are no \.parquet files"):
        tilt.scan_parquet(f"{folder}/rows*")


def test_the_command_line_sorts_datasets_that_overlap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = pa.array(range(1000), pa.timestamp("s"))
    table = pa.table({"time": times, "price": [n % 7 / 8 for n in range(1000)]})
    query, one, folder = (tmp_path / name for name in ("q.tilt", "one.parquet", "two"))
    query.write_text(QUERY)
    folder.mkdir()
    pq.write_table(table, one)
    pq.write_table(table.take([*range(0, 1000, 2)]), folder / "a.parquet")
    pq.write_table(table.take([*range(1, 1000, 2)]), folder / "b.parquet")
    run = ["run", str(query), "--column", "price", "--input"]
    assert main([*run, str(one)]) == 0
    shown = capsys.readouterr().out
    assert main([*run, str(folder)]) == 1
    assert "run() in Python, --sort time on the" in capsys.readouterr().err
    assert main([*run, str(folder), "--sort", "time"]) == 0
    assert capsys.readouterr().out == shown


# Errors


def refused(message: str, x: object, **given: object) -> tilt.DataError:
    query = tilt.parse(QUERY)
    bound = tilt.bind(x, column="price")
    with pytest.raises(tilt.DataError, match=message) as caught:
        for _ in query.stream(x=bound, **given):  # type: ignore[arg-type]
            pass
    return caught.value


def test_rows_out_of_order_name_the_file_and_the_row(tmp_path: Path) -> None:
    table = prices(1000)
    folder = write_dataset(tmp_path / "data", table, files=2, group=100)
    first = table.slice(0, 500)
    swapped = first.take([*range(300), 310, *range(300, 310), *range(311, 500)])
    pq.write_table(swapped, folder / "part-2.parquet", row_group_size=100)
    error = refused("part-2.parquet: the time is before", tilt.scan_parquet(folder))
    assert (error.input, error.column, error.row) == ("x", "time", 301)


def test_files_that_overlap_in_time_are_refused(tmp_path: Path) -> None:
    table = prices(1000)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(table.slice(0, 600), paths[0])
    pq.write_table(table.slice(400), paths[1])
    error = refused("b.parquet: the time is before", tilt.scan_parquet(paths))
    assert error.row == 0


def test_another_schema_is_refused(tmp_path: Path) -> None:
    table = prices(100)
    folder = write_dataset(tmp_path / "data", table, files=2, group=100)
    odd = table.slice(50).set_column(2, "price", [pa.array([1] * 50)])
    pq.write_table(odd, folder / "part-2.parquet")
    error = refused(
        "part-2.parquet: the column is int64, but", tilt.scan_parquet(folder)
    )
    assert error.column == "price"
    odd = odd.drop_columns(["price"])
    pq.write_table(odd, folder / "part-2.parquet")
    refused("part-2.parquet: the column is missing", tilt.scan_parquet(folder))
    batches = iter([table, odd])
    assert refused("has no such column", batches).row == 100


@pytest.mark.parametrize("breakage", ["footer", "pages"])
def test_a_broken_file_leaves_no_output(tmp_path: Path, breakage: str) -> None:
    folder = write_dataset(tmp_path / "data", prices(90_000), files=3, group=5000)
    path = folder / "part-1.parquet"
    data = bytearray(path.read_bytes())
    if breakage == "footer":
        data[-40:] = b"x" * 40
    else:
        data[: len(data) * 2 // 3] = b"\xff" * (len(data) * 2 // 3)
    path.write_bytes(data)
    out = tmp_path / "out.parquet"
    out.write_text("before")
    x = tilt.bind(tilt.scan_parquet(folder), column="price")
    with pytest.raises(tilt.DataError, match=r"part-1\.parquet: not readable as"):
        tilt.parse(QUERY).run_to(out, x=x, memory="1MB")
    assert out.read_text() == "before"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data", "out.parquet"]


def test_what_looks_back_too_far_is_refused() -> None:
    query = tilt.parse("input x : f64 sampled 1\n~o[t] = sum(~x[t-1000000:t])")
    arrays = (np.ones(10_000) for _ in range(200))
    with pytest.raises(tilt.DataError, match="MB of rows must be held at once"):
        list(query.stream(x=tilt.sampled(arrays, 0, 1), memory="4MB"))


def test_what_is_no_source(tmp_path: Path) -> None:
    refused("the iterator gave no table", iter([]))
    refused("found an int; rows come in a table", iter([1]))
    with pytest.raises(tilt.DataError, match="no such file or directory"):
        tilt.scan_parquet(tmp_path / "nothing")
    with pytest.raises(tilt.DataError, match=r"there are no \.parquet files"):
        tilt.scan_parquet(tmp_path)
    with pytest.raises(tilt.DataError, match="no Parquet file is given"):
        tilt.scan_parquet([])
    with pytest.raises(tilt.TiltError, match="expected bytes, or a size like"):
        tilt.parse(QUERY).stream(x=iter([]), memory="lots")
    assert [size_of(one) for one in ("500MB", "2 GiB", "1.5kb", 7)] == [
        500_000_000, 2 << 30, 1500, 7,
    ]  # fmt: skip


# Interruptions


ENDLESS = """
import signal, sys
import numpy as np
import tiltpy as tilt

signal.signal(signal.SIGINT, signal.default_int_handler)

def arrays():
    print("on", flush=True)
    while True:
        yield np.ones(10_000)

query = tilt.parse("input x : f64 sampled 1\\n~o[t] = ~x[t] + 1")
try:
    query.run_to(sys.argv[1], x=tilt.sampled(arrays(), 0, 1), memory="8MB")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", ENDLESS, str(tmp_path / "out.parquet")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        while not any(tmp_path.iterdir()):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert rest == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("disorder", [False, True])
def test_long_files_are_read_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, disorder: bool
) -> None:
    """Rows out of order are no error: then the whole file is read."""
    table = prices(5000)
    if disorder:
        table = pa.concat_tables([table.slice(0, 4000), table.slice(3990)])
        rows = np.arange(len(table))
        rows[[4200, 4300]] = rows[[4300, 4200]]
        table = table.take(pa.array(rows))
    path, target = tmp_path / "x.parquet", tmp_path / "o.parquet"
    pq.write_table(table, path, row_group_size=700)
    text = "unit s\ninput x : { price: f64 } point time time order seq\n"
    for body in BODIES:
        source = tmp_path / "q.tilt"
        source.write_text(
            text + body.replace("]", "].price").replace("t].price =", "t] =")
        )
        query = tilt.load(source)
        expected = query.run(x=table).to_arrow()
        with default_span_costs(file_rows=1), monkeypatch.context() as patch:
            if not disorder:
                patch.setattr("tiltpy.prepared_query.plan_parts", None)
            code = main(
                ["run", str(source), "--input", f"{path}", "--output", f"{target}"]
            )
        assert code == 0
        assert pq.read_table(target).equals(expected)
