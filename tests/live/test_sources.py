"""Sources: every row once and in order, however it came, and on from any position."""

import asyncio
import io
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.errors import DataError, TiltError
from tiltpy.live import sources
from tiltpy.live.sources import file_source, folder_source, tail_source
from tiltpy.live.sources.file_source import FileSource
from tiltpy.live.sources.folder_source import FolderSource
from tiltpy.live.sources.pipe_source import PipeSource, Resume
from tiltpy.live.sources.replay_source import ReplaySource
from tiltpy.live.sources.source import (
    Batch,
    ClosableSource,
    ExpectedInput,
    RowSource,
    TypedSource,
)
from tiltpy.live.sources.tail_source import TailSource
from tiltpy.live.sources.text_pieces import find_end_of_rows
from tiltpy.runtime.arrow.formats import FileFormat
from tiltpy.runtime.ingest.binding import InputBinding

KEYED = "unit s\ninput x by k : f64 time t point\n~y[t] = sum(~x[t-5 : t])\n"
PRICES = "unit s\ninput x : { price: f64, venue: string } time t point\n~y[t] = ~x[t]\n"


def expect(source: RowSource, query: str) -> None:
    """Tell a source which input of a query its rows are for."""
    compiled = tilt.parse(query).query
    assert isinstance(source, TypedSource)
    binding = InputBinding(None)
    source.expect(ExpectedInput(compiled.inputs[0], binding, compiled.unit))


def batches_of(source: RowSource) -> list[Batch]:
    """All batches, with positions as JSON gives them back."""
    return [
        Batch(pa.table(batch.frame), json.loads(json.dumps(batch.position)))
        for batch in source
    ]


def rows_of(batches: list[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in pa.table(batch.frame).to_pylist()]


def check_resumes(make: Callable[[], RowSource]) -> list[dict[str, Any]]:
    """Go on from each position: nothing is missing, and nothing comes twice."""
    batches = batches_of(make())
    for number, batch in enumerate(batches, 1):
        source = make()
        source.seek(batch.position)
        rest = batches_of(source)
        assert rows_of(rest) == rows_of(batches[number:])
    return rows_of(batches)


class Reader:
    """Reads a source in a thread; gives what has come so far."""

    def __init__(self, source: RowSource) -> None:
        self.batches: list[Batch] = []
        self.error: BaseException | None = None
        self._source = source
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for batch in self._source:
                self.batches.append(batch)
        except BaseException as error:
            self.error = error

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many rows have come."""
        for _ in range(6000):
            rows = rows_of(list(self.batches))
            if len(rows) >= count or self.error is not None:
                return rows
            time.sleep(0.01)
        raise AssertionError(f"{len(rows)} of {count} rows came")

    def end(self) -> BaseException | None:
        """Stop the source; the error with which it ended."""
        assert isinstance(self._source, ClosableSource)
        self._source.close()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.error

    def wait_for_error(self) -> str:
        self._thread.join(60)
        assert isinstance(self.error, DataError)
        return str(self.error)


# Frames of the caller


def test_frames_come_from_anything_that_can_be_iterated() -> None:
    tables = [pa.table({"x": [number]}) for number in range(4)]

    def draw() -> Iterator[pa.Table]:
        yield from tables

    async def receive() -> AsyncIterator[pa.Table]:
        for table in tables:
            await asyncio.sleep(0)
            yield table

    reader = pa.RecordBatchReader.from_batches(
        tables[0].schema, [table.to_batches()[0] for table in tables]
    )
    for frames in (tables, draw(), draw, receive(), receive, reader):
        batches = batches_of(sources.frames(frames))
        assert [row["x"] for row in rows_of(batches)] == [0, 1, 2, 3]
        assert [batch.position for batch in batches] == [1, 2, 3, 4]
    assert len(batches_of(sources.frames(tables[0]))) == 1
    check_resumes(lambda: sources.frames(receive))
    with pytest.raises(TiltError, match="expected an iterator of frames, found int"):
        list(sources.frames(3))  # type: ignore[arg-type]


def test_frames_may_carry_promises() -> None:
    given = [Batch(pa.table({"x": [1]}), None, promise=5), Batch(None, None, promise=9)]
    batches = list(sources.frames(given))
    assert [(batch.position, batch.promise) for batch in batches] == [(1, 5), (2, 9)]


# Text that grows


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_a_text_is_the_same_in_pieces_of_any_size(
    size: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_source, "PIECE", size)
    path = tmp_path / name
    if name == "x.csv":
        path.write_text('t,k,x\n1,a,1.5\n2,"b\n""c""",2\n\n3,a,\n4,7,-1\n5,a,2')
    else:
        path.write_text(
            '{"t": 1, "k": "a", "x": 1.5}\n{"t": 2, "k": "b\\n\\"c\\"", "x": 2}\n\n'
            '{"t": 3, "k": "a", "x": null}\n{"x": -1, "k": "7", "t": 4}\n'
            '{"t": 5, "k": "a", "x": 2, "more": [1]}'
        )

    def make() -> RowSource:
        source = sources.tail(path, follow=False)
        expect(source, KEYED)
        return source

    rows = check_resumes(make)
    assert [row["t"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["k"] for row in rows] == ["a", 'b\n"c"', "a", "7", "a"]
    assert [row["x"] for row in rows] == [1.5, 2.0, None, -1.0, 2.0]
    schemas = {str(pa.table(batch.frame).schema) for batch in batches_of(make())}
    assert len(schemas) == 1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (b"a\nb", 2), (b"", 0), (b"a", 0), (b'"a\nb"\nc', 6), (b'x\n"a\nb', 2),
        (b'"a\n""\n"\n"', 8), (b'5"\n6,"\n', 3), (b'5"\n6",7\n"', 8), (b'"a"b\n,\n', 7),
    ],
)  # fmt: skip
def test_rows_end_at_newlines_outside_of_quotes(text: bytes, end: int) -> None:
    assert find_end_of_rows(text, ",") == end


def test_times_have_one_unit_whatever_a_piece_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_source, "PIECE", 1)
    path = tmp_path / "x.jsonl"
    stamps = ["2026-01-01", "2026-01-01T00:00:01", "2026-01-01 00:00:02.000", "3"]
    path.write_text(
        "".join(f'{{"t": "{stamp}", "k": "a", "x": 1}}\n' for stamp in stamps[:3])
    )
    source = sources.tail(path, follow=False)
    expect(source, KEYED)
    tables = [pa.table(batch.frame) for batch in source]
    assert {str(table.schema.field("t").type) for table in tables} == {"timestamp[s]"}
    assert [str(table["t"][0])[-8:] for table in tables] == [
        "00:00:00", "00:00:01", "00:00:02",
    ]  # fmt: skip


def test_a_field_that_no_row_of_a_piece_has_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_source, "PIECE", 1)
    path = tmp_path / "x.jsonl"
    path.write_text('{"t": 1, "price": 2}\n{"t": 2, "venue": "A"}\n{"t": 3}\n')
    source = sources.tail(path, follow=False)
    expect(source, PRICES)
    tables = [pa.table(batch.frame) for batch in source]
    assert pa.concat_tables(tables).select(["t", "price", "venue"]).to_pydict() == {
        "t": [1, 2, 3], "price": [2.0, None, None], "venue": [None, "A", None],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("x.csv", "t,k,x\n1,a,1\n2,a,2\n3,a,no\n", r"found 'no' at .*x\.csv:4:5"),
        ("x.csv", "t,k,x\n1,1,1\n2,2,2\n\n3,b,3\n", r"'b' at .*x\.csv:5:3, .*int64"),
        ("x.csv", "t,k,x\n1,a,1\n2,a\n", r"x\.csv:3: found 2 values, expected 3"),
        ("x.jsonl", '{"t":1,"k":"a","x":1}\n{"t":2,"k":"a","x":"no"}\n',
         r"found 'no' at .*x\.jsonl:2:20"),
        ("x.jsonl", '{"t":1,"k":"a","x":1}\n{"t":2,"k"}\n', r"x\.jsonl:2:11: no JSON"),
        ("x.jsonl", '{"t":1,"k":"a","x":1}\n{"k":"a","x":1}\n', "column 't'"),
    ],
)  # fmt: skip
def test_a_wrong_value_has_its_line_in_the_file(
    name: str,
    text: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail_source, "PIECE", 1)
    path = tmp_path / name
    path.write_text(text)
    source = sources.tail(path, follow=False)
    expect(source, KEYED)
    with pytest.raises(DataError, match=place):
        list(source)


def test_a_tail_waits_for_the_file_and_for_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    source = sources.tail(path)
    expect(source, KEYED)
    reader = Reader(source)
    with path.open("w") as file:
        file.write('{"t": 1, "k": "a", "x": 1}\n{"t": 2, "k": ')
        file.flush()
        assert len(reader.wait_for(1)) == 1
        time.sleep(0.2)
        assert len(reader.wait_for(1)) == 1
        file.write('"a", "x": 2}\n')
        file.flush()
        assert [row["t"] for row in reader.wait_for(2)] == [1, 2]
        file.write('{"t": 3, "k": "a", "x": 1}\n')
    assert [row["t"] for row in reader.wait_for(3)] == [1, 2, 3]
    assert reader.end() is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: os.truncate(path, 5), "was cut to 5 bytes, after 2 lines"),
        (lambda path: path.unlink(), "was removed or renamed, after 2 lines"),
        (lambda path: path.rename(path.with_suffix(".1")), "was removed or renamed"),
        (
            lambda path: (
                path.with_suffix(".new").write_text(""),
                path.with_suffix(".new").replace(path),
            ),
            "was replaced by another file",
        ),
    ],
)
def test_a_file_that_does_not_only_grow_is_an_error(
    change: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("t,x\n1,2\n")
    reader = Reader(sources.tail(path))
    reader.wait_for(1)
    change(path)
    error = reader.wait_for_error()
    assert str(path) in error
    assert message in error
    assert "read that folder" in error


def test_a_tail_goes_on_in_the_same_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("t,x\n1,2\n")
    (batch,) = batches_of(sources.tail(path, follow=False))
    for content, message in (
        ("t,x\n", "found 4 bytes, expected 8"),
        ("t,x\n9,9\n3,4\n", "are not those that were there"),
    ):
        path.write_text(content)
        source = sources.tail(path, follow=False)
        source.seek(batch.position)
        with pytest.raises(DataError, match=message):
            list(source)
    path.unlink()
    source = sources.tail(path)
    source.seek(batch.position)
    with pytest.raises(DataError, match="there is no such file"):
        list(source)


# Folders


def write_parts(folder: Path) -> list[int]:
    """Write a file of each format, and what is not to be read; the stamps in order."""
    folder.mkdir(exist_ok=True)
    stamps = pa.array(range(1, 11))
    table = pa.table({"t": stamps, "k": ["a"] * 10, "x": [0.5] * 10})
    pq.write_table(table.slice(0, 4), folder / "01.parquet", row_group_size=3)
    (folder / "02.csv").write_text("t,k,x\n5,a,1\n6,a,2\n")
    with pi.new_file(folder / "03.arrow", table.schema) as writer:
        writer.write_table(table.slice(6, 2))
    with pa.CompressedOutputStream(str(folder / "04.jsonl.gz"), "gzip") as file:
        file.write(b'{"t": 9, "k": "a", "x": 1}\n{"t": 10, "k": "a", "x": 1}')
    (folder / ".hidden.csv").write_text("t,k,x\n99,a,1\n")
    (folder / "05.csv.tmp").write_text("t,k,x\n99,a,1\n")
    return list(range(1, 11))


def test_a_folder_is_read_in_order_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "ROWS", 1)
    monkeypatch.setattr(file_source, "PIECE", 5)
    monkeypatch.setattr(tail_source, "PIECE", 5)
    stamps = write_parts(tmp_path / "in")

    def make() -> RowSource:
        source = sources.folder(tmp_path / "in", follow=False)
        expect(source, KEYED)
        return source

    assert [row["t"] for row in check_resumes(make)] == stamps
    only = sources.folder(tmp_path / "in", "*.csv", follow=False)
    assert [row["t"] for row in rows_of(batches_of(only))] == [5, 6]


def test_files_that_arrive_are_read_once_they_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a clock of the test: a file is complete ten seconds after its change."""
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now, time=lambda: 0.0)
    monkeypatch.setattr(folder_source, "time", clock)
    folder = tmp_path / "in"
    folder.mkdir()
    source = FolderSource(folder, settled=10)
    reader = Reader(source)

    def wait_until_seen(name: str) -> None:
        size = (folder / name).stat().st_size
        for _ in range(6000):
            if source._sizes.get(name, ())[:1] == (size,):
                return
            time.sleep(0.01)
        raise AssertionError(f"nobody looked at {name}")

    (folder / "1.csv").write_text("t,x\n1,1\n")
    wait_until_seen("1.csv")
    now += 10
    reader.wait_for(1)
    with (folder / "2.csv").open("w") as file:
        file.write("t,x\n2,1\n")
        file.flush()
        pq.write_table(pa.table({"t": [4], "x": [1]}), tmp_path / "3")
        (tmp_path / "3").rename(folder / "3.parquet")
        wait_until_seen("2.csv")
        now += 9
        file.write("3,1\n")
    wait_until_seen("2.csv")
    now += 9
    assert [row["t"] for row in reader.wait_for(1)] == [1]
    now += 1
    assert [row["t"] for row in reader.wait_for(4)] == [1, 2, 3, 4]
    assert reader.end() is None


def test_a_parquet_file_is_complete_when_its_end_is_there(tmp_path: Path) -> None:
    content = io.BytesIO()
    pq.write_table(pa.table({"t": [1], "x": [1]}), content)
    reader = Reader(sources.folder(tmp_path, settled=0))
    (tmp_path / "1.parquet").write_bytes(content.getvalue()[:-10])
    time.sleep(0.3)
    assert reader.wait_for(0) == []
    assert reader.error is None
    (tmp_path / "1.parquet").write_bytes(content.getvalue())
    assert reader.wait_for(1) == [{"t": 1, "x": 1}]
    assert reader.end() is None


def test_a_file_that_is_written_anew_meanwhile_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "1.parquet"
    path.write_bytes(b"some bytes, and PAR1")
    opened = Path.open

    def empty_first(path: Path, mode: str) -> Any:
        os.truncate(path, 0)
        return opened(path, mode)

    source = FolderSource(tmp_path, settled=0)
    monkeypatch.setattr(Path, "open", empty_first)
    assert not source._is_complete(path.name)


def test_a_file_before_those_that_were_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "2.csv").write_text("t,x\n1,1\n")
    reader = Reader(sources.folder(tmp_path, settled=0))
    reader.wait_for(1)
    (tmp_path / "1.csv").write_text("t,x\n1,1\n")
    assert "came after a file with a later name" in reader.wait_for_error()
    # The same where it came while nobody was looking.
    source = sources.folder(tmp_path, follow=False)
    source.seek(reader.batches[-1].position)
    with pytest.raises(DataError, match="came after a file with a later name"):
        list(source)


def test_files_that_were_read_may_go(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"t,x\n{number},1\n")
    batches = batches_of(sources.folder(tmp_path, follow=False))
    (tmp_path / "1.csv").unlink()
    (tmp_path / "3.csv").write_text("t,x\n3,1\n")
    source = sources.folder(tmp_path, follow=False)
    source.seek(batches[-1].position)
    assert [row["t"] for row in rows_of(batches_of(source))] == [3]


# Pipes


def pipe_of(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))


def test_a_pipe_tells_its_format() -> None:
    table = pa.table({"t": [1, 2], "x": [0.5, 1.5]})
    stream = io.BytesIO()
    with pi.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    for content in (
        b'{"t": 1, "x": 0.5}\n{"t": 2, "x": 1.5}',
        b"t,x\n1,0.5\n2,1.5\n",
        stream.getvalue(),
    ):
        source = PipeSource(pipe_of(content), "<stdin>")
        assert rows_of(batches_of(source)) == table.to_pylist()
    broken = PipeSource(pipe_of(stream.getvalue()[:-30]), "<stdin>")
    with pytest.raises(DataError, match="<stdin>: not readable as an Arrow stream"):
        list(broken)
    with pytest.raises(DataError, match="<stdin>: Parquet cannot be read as it comes"):
        list(PipeSource(pipe_of(b"PAR1..."), "<stdin>"))


def test_lines_of_a_pipe_come_as_they_are_written() -> None:
    read, write = os.pipe()
    source = PipeSource(os.fdopen(read, "rb"), "<stdin>")
    reader = Reader(source)
    with os.fdopen(write, "wb", buffering=0) as file:
        file.write(b'{"t": 1}\n{"t"')
        assert reader.wait_for(1) == [{"t": 1}]
        file.write(b": 2}\n")
        assert reader.wait_for(2) == [{"t": 1}, {"t": 2}]
    reader.end()


def test_a_pipe_resumes_as_its_writer_does() -> None:
    content = b"".join(b'{"t": %d}\n' % number for number in range(5))
    ways: list[tuple[Resume, list[int]]] = [
        ("skip", [3, 4]),
        ("continue", [0, 1, 2, 3, 4]),
    ]
    for resume, expected in ways:
        source = PipeSource(pipe_of(content), "<stdin>", resume=resume)
        source.seek({"rows": 3})
        batches = batches_of(source)
        assert [row["t"] for row in rows_of(batches)] == expected
        assert batches[-1].position == {"rows": 3 + len(expected)}
    source = PipeSource(pipe_of(content), "<stdin>")
    source.seek(None)
    source.seek({"rows": 0})
    with pytest.raises(DataError, match="3 rows came before, and a pipe cannot"):
        source.seek({"rows": 3})


# Archives


def test_an_archive_without_pace_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "ROWS", 2)
    stamps = write_parts(tmp_path / "in")

    def make() -> RowSource:
        source = sources.replay(tmp_path / "in", speed=float("inf"))
        expect(source, KEYED)
        return source

    assert [row["t"] for row in check_resumes(make)] == stamps


def test_rows_of_an_archive_come_when_they_are_due(tmp_path: Path) -> None:
    """With a clock of its own that each wait sets forward."""
    path = tmp_path / "x.parquet"
    seconds = np.array([0, 1, 1, 5, 4, 60], np.int64)
    stamps = pa.array(seconds * 1000, pa.timestamp("ms"))
    pq.write_table(pa.table({"t": stamps, "x": seconds}), path)
    now, given = 100.0, []

    class Hand:
        def is_set(self) -> bool:
            return False

        def wait(self, seconds: float) -> None:
            nonlocal now
            now += seconds

    def make() -> ReplaySource:
        archive = FileSource(path, FileFormat("Parquet"))
        source = ReplaySource(archive, 60.0, "t", clock=lambda: now)
        source.stopped = Hand()  # type: ignore[assignment]
        return source

    batches = []
    for batch in make():
        batches.append(batch)
        given.append((round(now - 100, 3), pa.table(batch.frame)["x"].to_pylist()))
    # A row behind a later one is due with it; what is due within 10 ms is one batch.
    assert [rows for _, rows in given] == [[0], [1, 1], [5, 4], [60]]
    assert [moment for moment, _ in given] == pytest.approx(
        [0, 1 / 60, 5 / 60, 1], abs=0.011
    )
    for number, batch in enumerate(batches, 1):
        source = make()
        source.seek(json.loads(json.dumps(batch.position)))
        assert rows_of(list(source)) == rows_of(batches[number:])


def test_a_replay_needs_a_time_column(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"t": [1], "x": [1.0], "k": ["a"]}), path)
    with pytest.raises(DataError, match="name the time column"):
        list(sources.replay(path, speed=2))
    with pytest.raises(DataError, match="no column 'u'; there is t, x"):
        list(sources.replay(path, speed=2, time="u"))
    source = sources.replay(path, speed=2)
    expect(source, KEYED)
    assert len(batches_of(source)) == 1


# What cannot be a source


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: sources.file(path / "no.csv"), "there is no such file"),
        (lambda path: sources.tail(path / "x.parquet"), "only text that is not comp"),
        (lambda path: sources.tail(path / "x.csv.gz"), "only text that is not comp"),
        (lambda path: sources.tail(path / "x"), "a name without suffix"),
        (lambda path: list(sources.tail(path / "no" / "x.csv")), "there is no direct"),
        (lambda path: list(sources.tail(path / "x.csv", follow=False)), "no such file"),
        (lambda path: sources.folder(path / "no"), "there is no such directory"),
        (
            lambda path: sources.replay(path / "no"),
            "there is no such file or directory",
        ),
        (lambda path: sources.replay(path, speed=0), "expected a number above 0"),
    ],
)
def test_what_cannot_be_read_is_refused(
    make: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(TiltError, match=message):
        make(tmp_path)


def test_without_notifications_files_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles", None)
    path = tmp_path / "x.csv"
    path.write_text("t,x\n1,1\n")
    reader = Reader(TailSource(path, FileFormat("CSV")))
    reader.wait_for(1)
    with path.open("a") as file:
        file.write("2,1\n")
    assert [row["t"] for row in reader.wait_for(2)] == [1, 2]
    assert reader.end() is None
    folder = tmp_path / "in"
    folder.mkdir()
    reader = Reader(FolderSource(folder, settled=0))
    path.rename(folder / "1.csv")  # complete at once, unlike one that is written there
    assert reader.wait_for(2) == [{"t": 1, "x": 1}, {"t": 2, "x": 1}]
    assert reader.end() is None
