"""Sinks: what is written stays, and after `restore` the same rows give the same bytes.

Each stop is tried: after every flush the sink goes on writing, is cut off without a
close, restored by another object, and given the same tables again.
"""

import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

from tiltpy.errors import DataError, TiltError
from tiltpy.live import sinks
from tiltpy.live.sinks import parquet_folder
from tiltpy.live.sinks.file_sink import FileSink
from tiltpy.live.sinks.parquet_folder import ParquetFolder
from tiltpy.live.sinks.pipe_sink import PipeSink
from tiltpy.live.sinks.sink import CommittingSink, Sink
from tiltpy.runtime.arrow.formats import FileFormat

FILES = ("out.jsonl", "out.csv", "out.tsv", "out.arrows")
PLACES = (*FILES, "out")


def make_tables(count: int, seed: int = 0) -> list[pa.Table]:
    """Tables as a session gives them: strings encoded, structs, times; some empty."""
    draw = random.Random(seed)  # noqa: S311 - tests
    tables = []
    for first in range(0, count * 10, 10):
        rows = draw.choice([0, 1, 3, 7])
        texts = [draw.choice(["a", 'b "quoted", ü', None, "c"]) for _ in range(rows)]
        values = [draw.choice([0.5, -1.25, None]) for _ in range(rows)]
        pair = pa.StructArray.from_arrays(
            [
                pa.array(values, pa.float64()),
                pa.array(texts, pa.string()).dictionary_encode(),
            ],
            ["price", "venue"],
        )
        ticks = pa.array(range(first, first + rows), pa.int64())
        tables.append(
            pa.table(
                {
                    "key": pa.array(texts, pa.string()).dictionary_encode(),
                    "start": ticks.cast(pa.timestamp("s")),
                    "pair": pair,
                }
            )
        )
    return tables


def open_sink(path: Path) -> Sink:
    return sinks.file(path) if path.suffix else sinks.folder(path)


def flush(sink: Sink) -> object:
    """Flush, and commit as a checkpoint does; the position as JSON gives it back."""
    position = json.loads(json.dumps(sink.flush()))
    if isinstance(sink, CommittingSink):
        sink.commit()
    return position


def read_bytes(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


def write_all(path: Path, tables: list[pa.Table], every: int) -> list[object]:
    """Write all tables with a flush after `every` of them; the positions."""
    sink = open_sink(path)
    sink.restore(None)
    positions = [flush(sink)]
    for number, table in enumerate(tables, 1):
        sink.write(table)
        if number % every == 0:
            positions.append(flush(sink))
    flush(sink)
    sink.close()
    return positions


@pytest.mark.parametrize("name", PLACES)
def test_restored_at_any_flush_the_same_tables_give_the_same_bytes(
    name: str, tmp_path: Path
) -> None:
    tables, every = make_tables(12), 3
    whole = tmp_path / "whole" / name
    whole.parent.mkdir()
    positions = write_all(whole, tables, every)
    for stop, position in enumerate(positions):
        for further in range(every):
            path = tmp_path / f"{stop}-{further}" / name
            path.parent.mkdir()
            sink = open_sink(path)
            sink.restore(None)
            flush(sink)
            for number, table in enumerate(tables[: stop * every + further], 1):
                sink.write(table)
                if number % every == 0:
                    flush(sink)
            # No close: the process is dead. Another goes on.
            sink = open_sink(path)
            sink.restore(position)
            for number, table in enumerate(tables[stop * every :], 1):
                sink.write(table)
                if number % every == 0:
                    flush(sink)
            flush(sink)
            sink.close()
            assert read_bytes(path) == read_bytes(whole), (stop, further)


@pytest.mark.parametrize("name", PLACES)
def test_all_rows_are_there_once_and_in_order(name: str, tmp_path: Path) -> None:
    tables = make_tables(12)
    path = tmp_path / name
    write_all(path, tables, 5)
    expected = pa.concat_tables(tables)
    match path.suffix:
        case ".arrows":
            rows = pi.open_stream(path.read_bytes()).read_all()
            assert rows.schema == expected.schema
            assert rows.to_pylist() == expected.to_pylist()
        case "":
            parts = [pq.read_table(file) for file in sorted(path.iterdir())]
            assert pa.concat_tables(parts).to_pylist() == expected.to_pylist()
        case ".jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            assert [line["key"] for line in lines] == expected["key"].to_pylist()
            assert [line["pair"] for line in lines] == expected["pair"].to_pylist()
        case _:
            header, *lines = path.read_text().splitlines()
            assert "pair.price" in header
            assert len(lines) == expected.num_rows


def test_an_arrow_stream_can_be_read_before_its_end(tmp_path: Path) -> None:
    path = tmp_path / "out.arrows"
    sink = open_sink(path)
    sink.restore(None)
    first, second = make_tables(2, seed=5)
    sink.write(first)
    sink.write(second)
    sink.flush()
    rows = pi.open_stream(path.read_bytes()).read_all()
    assert rows.to_pylist() == pa.concat_tables([first, second]).to_pylist()


def test_a_closed_arrow_stream_goes_on_after_restore(tmp_path: Path) -> None:
    path = tmp_path / "out.arrows"
    table = make_tables(3, seed=1)[2]
    sink = open_sink(path)
    sink.restore(None)
    sink.write(table)
    position = sink.flush()
    sink.close()
    sink = open_sink(path)
    sink.restore(position)
    sink.write(table)
    sink.close()
    content = path.read_bytes()
    assert pi.open_stream(content).read_all().num_rows == 2 * table.num_rows
    assert content.count(b"\xff\xff\xff\xff\0\0\0\0") == 1


def test_a_parquet_file_is_seen_when_its_checkpoint_is_safe(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.restore(None)

    def visible() -> list[str]:
        names = (path.name for path in (tmp_path / "out").iterdir())
        return sorted(name for name in names if name[0] != ".")

    sink.write(make_tables(3, seed=1)[2])
    assert visible() == []
    position = sink.flush()
    assert visible() == []
    # Killed before the checkpoint was safe: the file never was.
    other = ParquetFolder(tmp_path / "out")
    other.restore({"files": 0, "bytes": 0})
    assert list((tmp_path / "out").iterdir()) == []
    # Killed after it: the next process publishes the file.
    other.write(make_tables(3, seed=1)[2])
    assert other.flush() == position
    another = ParquetFolder(tmp_path / "out")
    another.restore(position)
    assert visible() == ["part-00000001.parquet"]
    another.flush()
    another.commit()
    assert visible() == ["part-00000001.parquet"]


def test_parquet_files_have_the_bytes_of_their_rows_however_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_folder, "ROW_GROUP", 16)
    rows = pa.table({"start": pa.array(range(100)), "x": pa.array([1.5] * 100)})
    for name, step in (("one", 100), ("several", 7)):
        sink = ParquetFolder(tmp_path / name)
        sink.restore(None)
        for first in range(0, 100, step):
            sink.write(rows.slice(first, step))
        sink.flush()
        sink.commit()
    assert read_bytes(tmp_path / "one") == read_bytes(tmp_path / "several")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_from_outside_is_refused(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    position = write_all(path, make_tables(12), 6)[1]
    content = path.read_bytes()
    for changed, message in (
        (content[:50], "found 50 bytes, expected .* at least: it was cut or replaced"),
        (b"?" * len(content), "bytes before .* are not those that were there"),
    ):
        path.write_bytes(changed)
        with pytest.raises(DataError, match=f"{name}: .*{message}.*; bring the file"):
            open_sink(path).restore(position)
        assert path.read_bytes() == changed
    path.unlink()
    with pytest.raises(DataError, match=f"{name}: is not there any more, but held"):
        open_sink(path).restore(position)


def test_a_file_that_somebody_else_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    table = make_tables(3, seed=1)[2]

    def write(change: Callable[[], object]) -> None:
        sink = open_sink(path)
        sink.restore(None)
        sink.write(table)
        sink.flush()
        change()
        sink.write(table)
        sink.flush()

    with pytest.raises(DataError, match="somebody else changes it"):
        write(lambda: path.open("a").write("{}\n"))
    with pytest.raises(DataError, match="was removed while"):
        write(path.unlink)
    other = tmp_path / "other"
    other.write_text("")
    with pytest.raises(DataError, match="was replaced by another file"):
        write(lambda: other.replace(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.unlink(), "part-00000002.parquet is not there"),
        (lambda file: file.write_bytes(b""), "part-00000002.parquet has another size"),
    ],
)
def test_a_folder_that_was_changed_from_outside_is_refused(
    change: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    position: Any = write_all(tmp_path / "out", make_tables(12), 6)[2]
    assert position == {
        "files": 2,
        "bytes": (tmp_path / "out/part-00000002.parquet").stat().st_size,
    }
    change(tmp_path / "out" / "part-00000002.parquet")
    with pytest.raises(DataError, match=message):
        ParquetFolder(tmp_path / "out").restore(position)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    sink = ParquetFolder(folder)
    sink.restore(None)
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "prices.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"found prices\.parquet, which is not of this"):
        sink.restore(None)


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    path = tmp_path / "out.jsonl"
    path.symlink_to("/dev/full")
    sink = sinks.file(path)
    sink.restore(None)
    with pytest.raises(DataError, match=r"out.jsonl: not written: no space left"):
        sink.write(make_tables(3, seed=1)[2])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/out.jsonl", "there is no directory .*no; make it first"),
        ("folder", "name a suffix|a name without suffix"),
        ("out.jsonl.gz", "is not compressed as a whole; leave '.gz' out"),
        ("out.parquet", "a Parquet file cannot grow; name a folder"),
        ("out.foo", "use .csv, .tsv, .jsonl, .ndjson, .arrows"),
        ("out.arrow", "an Arrow stream can: call it out.arrows"),
    ],
)
def test_places_that_cannot_be_written_to(
    name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TiltError, match=message):
        sinks.file(tmp_path / name).restore(None)


def test_a_folder_in_the_place_of_a_file_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(DataError, match=r"out.csv: is a directory; name a file in it"):
        sinks.file(tmp_path / "out.csv").restore(None)
    (tmp_path / "out").write_text("")
    with pytest.raises(DataError, match=r"out: is a file; Parquet files need a folder"):
        sinks.folder(tmp_path / "out").restore(None)
    with pytest.raises(DataError, match=r"there is no directory .*no; make it first"):
        sinks.folder(tmp_path / "no" / "out").restore(None)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    sink = sinks.file(tmp_path / "out.csv")
    sink.restore(None)
    sink.write(pa.table({"x": [1]}))
    with pytest.raises(TiltError, match=r"found a table with 1 column \(x: double\)"):
        sink.write(pa.table({"x": [1.5]}))


def test_a_pipe_gets_rows_at_once_and_keeps_open() -> None:
    stream = io.BytesIO()
    sink = PipeSink(stream, FileFormat("CSV"))
    sink.restore(None)
    sink.write(pa.table({"x": [1]}))
    assert stream.getvalue() == b'"x"\n1\n'
    assert sink.flush() is None  # type: ignore[func-returns-value]
    sink.write(pa.table({"x": [2]}))
    sink.close()
    assert stream.getvalue() == b'"x"\n1\n2\n'
    arrow = io.BytesIO()
    ending = PipeSink(arrow, FileFormat("Arrow stream"))
    ending.write(pa.table({"x": [1]}))
    ending.close()
    assert pi.open_stream(arrow.getvalue()).read_all().to_pydict() == {"x": [1]}


def test_the_standard_output_of_a_notebook_takes_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    sink = sinks.stdout()
    sink.write(pa.table({"x": ["φ"]}))
    sink.close()
    assert stream.getvalue() == '{"x": "φ"}\n'
    with pytest.raises(TiltError, match="takes text alone"):
        sinks.stdout("arrow")


def test_a_function_is_called_with_tables_that_have_rows() -> None:
    tables: list[pa.Table] = []
    sink = sinks.call(tables.append)
    sink.restore(None)
    sink.write(pa.table({"x": [1]}))
    sink.write(pa.table({"x": pa.array([], pa.int64())}))
    assert sink.flush() is None
    sink.close()
    assert [table.num_rows for table in tables] == [1]
    with pytest.raises(TiltError, match="takes a function"):
        sinks.call(3)  # type: ignore[arg-type]


def test_what_is_flushed_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def record(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    for name, expected in (
        ("out.jsonl", ["out.jsonl", tmp_path.name]),
        ("out", [".part-00000001.parquet", "out"]),
    ):
        synced.clear()
        sink = open_sink(tmp_path / name)
        assert isinstance(sink, FileSink | ParquetFolder)
        sink.restore(None)
        sink.write(make_tables(3, seed=1)[2])
        sink.flush()
        assert synced == expected
