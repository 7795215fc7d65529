"""Files: every format in and out, what is wrong with them, and whole or not at all."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.files import (
    read_table,
    replace_files,
    write_table,
    write_tables,
)
from tiltpy.runtime.arrow.formats import FORMATS, format_of

TABLE = pa.table(
    {
        "stamp": pa.array([0, 1_000_000], pa.timestamp("us")),
        "price": pa.array([1.5, None], pa.float64()),
        "size": pa.array([1, 2], pa.int64()),
    }
)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table{suffix.upper()}"
    write_tables({path: TABLE})
    read = read_table(path)
    assert read.column_names == TABLE.column_names
    assert read["price"].to_pylist() == [1.5, None]
    assert read["stamp"].cast(pa.timestamp("us")) == TABLE["stamp"]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_times_are_written_as_differences(tmp_path: Path) -> None:
    """All other columns as dictionaries, the fields of structs too."""
    ticks = pa.array(range(1000))
    structs = pa.StructArray.from_arrays([ticks, ticks], ["start", "bid"])
    for kind in (pa.int64(), pa.timestamp("us", "UTC")):
        columns = {"k": ticks, "start": ticks.cast(kind), "end": ticks.cast(kind)}
        table = pa.table({**columns, "x": structs})
        path = tmp_path / "x.parquet"
        write_tables({path: table})
        assert pq.read_table(path).equals(table)
        group = pq.ParquetFile(path).metadata.row_group(0)
        encodings = {
            chunk.path_in_schema: chunk.encodings
            for chunk in (group.column(number) for number in range(5))
        }
        for name, found in encodings.items():
            is_time = name in ("start", "end")
            assert ("DELTA_BINARY_PACKED" in found) == is_time
            assert ("RLE_DICTIONARY" in found) != is_time
    write_tables({path: pa.table({"start": pa.array([1], pa.date32())})})
    assert pq.read_table(path).num_rows == 1


def test_arrow_streams_and_feather_are_read(tmp_path: Path) -> None:
    stream, feather = tmp_path / "stream.arrow", tmp_path / "table.feather"
    with pi.new_stream(str(stream), TABLE.schema) as writer:
        writer.write_table(TABLE)
    pf.write_feather(TABLE, str(feather))
    assert read_table(stream) == TABLE
    assert read_table(feather) == TABLE


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("content", [b"", b"\x00\xff broken \xfe" * 9, None])
def test_broken_files_are_one_clear_line(
    tmp_path: Path, suffix: str, content: bytes | None
) -> None:
    path = tmp_path / f"broken{suffix}"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(
        DataError, match=rf"broken{suffix}(:\d|: is empty|: not rea)"
    ) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_cut_off_files_are_errors(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    write_tables({path: TABLE})
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match="not readable"):
            read_table(path)


def test_a_csv_whose_names_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_bytes(b"a\xff,b\n1,2\n")
    with pytest.raises(DataError, match=r"names\.csv:1:2: the byte 0xff"):
        read_table(path)


def test_missing_files_and_unknown_suffixes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.csv: there is no such file"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(DataError, match=r"suffix '\.xls' .* use \.parquet, \.csv"):
        read_table(tmp_path / "table.xls")
    with pytest.raises(DataError, match="without suffix"):
        write_tables({tmp_path / "table": TABLE})


def test_devices_and_pipes_stay(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    table = pa.table({"a": [1]})
    for path in (pipe, Path("/dev/stdout"), Path("/proc/self/fd/1")):
        with pytest.raises(DataError, match=f"{path}: is a device or a pipe"):
            write_table(table, path, format_of(pipe))
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_no_file_is_written_twice(tmp_path: Path) -> None:
    table, path = pa.table({"a": [1]}), tmp_path / "a.csv"
    other = tmp_path / "b.csv"
    other.symlink_to(path)
    with pytest.raises(DataError, match=r"b\.csv: is to be written twice; name"):
        write_tables({path: table, other: table})
    assert list(tmp_path.iterdir()) == [other]


def test_no_directory_is_made_and_none_overwritten(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no directory .*nowhere; make it first"):
        write_tables({tmp_path / "nowhere" / "x.csv": TABLE})
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(DataError, match="is a directory"):
        write_tables({tmp_path / "x.csv": TABLE})


def _full_disk(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _control_c(_descriptor: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("disturb", "raised"), [(_full_disk, DataError), (_control_c, KeyboardInterrupt)]
)
def test_outputs_appear_all_or_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    disturb: Callable[[int], None],
    raised: type[BaseException],
) -> None:
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    old.write_bytes(b"before")
    calls = []

    def second_time(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            disturb(descriptor)

    monkeypatch.setattr(os, "fsync", second_time)
    with pytest.raises(raised):
        write_tables({old: TABLE, new: TABLE})
    assert old.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [old]


def test_a_table_that_a_format_cannot_hold_leaves_nothing(tmp_path: Path) -> None:
    nested = pa.table({"x": pa.array([[1, 2]], pa.list_(pa.int64()))})
    with pytest.raises(DataError, match=r"x\.csv: not written"):
        write_tables({tmp_path / "x.csv": nested})
    assert not list(tmp_path.iterdir())


def test_rights_and_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_tables({link: TABLE})
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert read_table(target).num_rows == 2


def test_the_body_sees_places_beside_the_paths(tmp_path: Path) -> None:
    with replace_files(tmp_path / "a", tmp_path / "b") as places:
        for place in places:
            assert place.parent == tmp_path
            place.write_bytes(b"new")
        assert not (tmp_path / "a").exists()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "a": b"new",
        "b": b"new",
    }
