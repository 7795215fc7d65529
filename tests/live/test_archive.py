"""Accepted rows as they are given back: an archive, and what a run says over it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.live import sinks, sources
from tiltpy.live.run_live import run_live

SUMS = """unit s
input x : f64 time t point
g = TDom(-∞, ∞, 4)
~y[g] = sum(~x[g-8 : g])
output ~y
"""
STAYS = """unit ms
input stay by ward : f64 interval (begin, stop)
~y[t] = sum(~stay[t-5s : t])
output ~y
"""
STAMPS = (3, 9, 7, 8, 15, 2, 14, 21, 19, 30)


def rows(kind: pa.DataType) -> pa.Table:
    times = pa.array(STAMPS, pa.int64()).cast(kind)
    values = [0.1 * stamp for stamp in STAMPS]
    return pa.table({"other": range(len(STAMPS)), "t": times, "x": values})


@pytest.mark.parametrize("late", ["drop", "adjust"])
@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.timestamp("ms", "UTC")])
def test_a_run_over_the_archive_says_what_the_session_said(
    kind: pa.DataType, size: int, late: str
) -> None:
    table = rows(kind) if pa.types.is_integer(kind) else rows(pa.timestamp("s", "UTC"))
    query = tilt.parse(SUMS if not pa.types.is_integer(kind) else SUMS[len("unit s") :])
    ingress = tilt.ingress(reorder=2, late=late, accepted=True)  # type: ignore[arg-type]
    live = query.live(x=ingress)
    updates = []
    for first in range(0, len(STAMPS), size):
        updates.append(live.push(x=table.slice(first, size)))
        if first == 3:
            live = query.live(x=ingress, resume=live.save())
    updates.append(live.finish())
    archive = pa.concat_tables([update.accepted_rows["x"] for update in updates])
    assert archive.column_names == ["t", "x"]
    stamps = archive["t"].cast(table["t"].type).cast(pa.int64()).to_pylist()
    left = [3, 7, 8, 9, 14, 15, 19, 21, 30]
    assert stamps == (left if late == "drop" else [3, 7, 8, 9, 13, 14, 15, 19, 21, 30])
    final = pa.concat_tables([update["y"].final.to_arrow() for update in updates])
    assert query.run(x=archive)["y"].to_arrow().combine_chunks() == (
        final.combine_chunks()
    )


def test_moved_intervals_are_archived_with_their_new_starts() -> None:
    begin = datetime(2026, 3, 1, 8)

    def at(*seconds: int) -> list[datetime]:
        return [begin + timedelta(seconds=each) for each in seconds]

    table = pa.table(
        {
            "begin": at(0, 9, 2, 30),
            "stop": at(4, 12, 20, 31),
            "ward": pa.array(["a", "b", "a", "a"]).dictionary_encode(),
            "stay": [0.1, 0.2, 0.7, 0.4],
        }
    )
    query = tilt.parse(STAYS)
    live = query.live(stay=tilt.ingress(late="adjust", accepted=True))
    updates = [live.push(stay=table.slice(row, 1)) for row in range(4)]
    updates.append(live.finish())
    archive = pa.concat_tables([update.accepted_rows["stay"] for update in updates])
    (moved,) = (row for row in archive.to_pylist() if row["stay"] == 0.7)
    assert [moved["begin"], moved["stop"]] == at(9, 20)
    tables = [update["y"].final.to_arrow() for update in updates]
    order = [("ward", "ascending"), ("start", "ascending")]
    final = pa.concat_tables(tables).sort_by(order).to_pylist()
    end: Any = updates[-1].through  # all keys have one clock
    assert query.run(stay=archive, end=end)["y"].to_arrow().to_pylist() == final


def test_a_moved_time_that_is_a_value_has_no_archive() -> None:
    query = tilt.parse(
        "input x : { ts: i64 } time ts point\n~y[t] = sum(~x[t-5 : t].ts)\n"
    )
    with pytest.raises(tilt.DataError, match="leave out accepted="):
        query.live(
            x=tilt.ingress(
                late="adjust", accepted=True, schema=pa.schema({"ts": pa.int64()})
            )
        )


def test_an_archive_is_a_sink(tmp_path: Path) -> None:
    table = rows(pa.timestamp("s")).drop_columns("other")
    query = tilt.parse(SUMS)
    collected: list[pa.Table] = []
    run_live(
        query,
        sources={"x": sources.frames([table.slice(0, 5), table.slice(5)])},
        into={"y": sinks.call(collected.append)},
        accepted={"x": sinks.folder(tmp_path / "rows")},
        x=tilt.ingress(reorder="2s"),
    )
    archive = pq.read_table(tmp_path / "rows")
    assert archive.num_rows == len(STAMPS) - 1
    final = pa.concat_tables(collected).to_pylist()
    assert query.run(x=archive)["y"].to_arrow().to_pylist() == final


def test_inputs_that_are_not_archived_are_named(tmp_path: Path) -> None:
    query = tilt.parse(SUMS)
    sink = sinks.folder(tmp_path / "rows")
    options = {"sources": {"x": sources.frames([])}, "into": {}}
    with pytest.raises(tilt.TiltError, match="accepted: the query has no 'z'"):
        run_live(query, **options, accepted={"z": sink})  # type: ignore[arg-type]
    with pytest.raises(tilt.TiltError, match=r"ingress\(accepted=True\)"):
        run_live(query.live(), **options, accepted={"x": sink})  # type: ignore[arg-type]
