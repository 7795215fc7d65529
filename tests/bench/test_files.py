"""Files and pieces: all that is measured has the same rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.peers import files as peers
from bench.reports import files, pieces
from bench.workloads.files import FILES, PIECES, FileWorkload, trades

EVENTS = 3000


@pytest.mark.parametrize("peer", peers.PEERS)
@pytest.mark.parametrize("workload", FILES, ids=lambda one: one.name)
def test_peers_write_the_same_rows(
    workload: FileWorkload, peer: str, tmp_path: Path
) -> None:
    table = trades(EVENTS, 1)
    source, target = tmp_path / "trades.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    peers.PEERS[peer](workload.name, str(source), str(target))
    ours = tilt.parse(workload.query).run(trade=table)["out"].to_arrow()
    theirs = pq.read_table(target)
    assert files.same_rows(ours, theirs, cut=True)
    assert not files.same_rows(ours, theirs.slice(1), cut=True)
    codec = pq.ParquetFile(target).metadata.row_group(0).column(0).compression
    assert codec.lower() == peers.CODEC


@pytest.mark.parametrize("workload", PIECES, ids=lambda one: one.name)
def test_streams_have_the_rows_of_runs(workload: FileWorkload) -> None:
    table, query = trades(EVENTS, 2), tilt.parse(workload.query)
    rows = pieces.run(query, table)
    assert files.same_rows(rows, pieces.in_order(pieces.stream(query, table, 700)))


def test_only_first_panes_may_start_later() -> None:
    ours = pa.table({"start": [2, 10], "end": [10, 20]})
    theirs = pa.table({"start": [0, 10], "end": [10, 20]})
    assert files.same_rows(ours, theirs, cut=True)
    assert not files.same_rows(ours, theirs)
    assert not files.same_rows(theirs, ours, cut=True)
    later = pa.table({"start": [2, 11], "end": [10, 20]})
    assert not files.same_rows(later, theirs, cut=True)


def test_tables_have_a_line_for_each_workload(
    monkeypatch: pytest.MonkeyPatch, *, deep: bool
) -> None:
    """A process for each run of a workload and program takes a second or two."""
    written = FILES if deep else FILES[:1]
    monkeypatch.setattr(files, "FILES", written)
    options = BenchOptions(8000, 3, 1, (1,), ("Polars",))
    _, *lines = files.lines(None, options)
    assert [line.split("  ")[0] for line in lines] == [one.name for one in written]
    assert "wrong" not in " ".join(lines)
    _, *lines = pieces.lines(None, options)
    assert [line.split("  ")[0] for line in lines] == [one.name for one in PIECES]
    assert not any("not the rows" in line for line in lines)
