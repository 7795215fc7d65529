"""`tilt run --view`: what a row of an output is, on the screen and in files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.cli.in_process import Tilt

QUERY = """\
unit s
input x : i64 time ts point
g = TDom(-∞, ∞, 10s, left)
~sum[g] = sum(~x[g-10s : g])
~time[t] = ~x[t] > 0 ? ~x[t] : φ
output ~sum, ~time
"""
ROWS = "ts,x\n1970-01-01 00:00:10,1\n1970-01-01 00:00:11,1\n1970-01-01 00:00:35,5\n"
RUN = ("run", "views.tilt", "--input", "x=x.csv")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("views.tilt").write_text(QUERY)
    Path("x.csv").write_text(ROWS)


def test_files_have_the_rows_of_the_views(tilt: Tilt) -> None:
    result = run()
    for words, sums, times, said in (
        ((), result["sum"].to_arrow(), result["time"].to_arrow(), "2 snapshots"),
        (("points",), result["sum"].points(), result["time"].points("end"), "2 points"),
        (("sum=windows",), result["sum"].windows(), result["time"].to_arrow(),
         "3 windows"),
        (("sum=points", "time=coalesced"), result["sum"].points(),
         result["time"].coalesce(), "2 points"),
    ):  # fmt: skip
        views = [word for view in words for word in ("--view", view)]
        outputs = ("--output", "sum=sum.arrow", "--output", "time=time.arrow")
        code, _, err = tilt(*RUN, *views, *outputs)
        assert code == 0
        assert f"wrote {said} of ~sum to sum.arrow" in err
        assert pf.read_table("sum.arrow") == sums
        assert pf.read_table("time.arrow") == times


def run() -> tilt.Result:
    return tilt.load("views.tilt").run(x=pc.read_csv("x.csv"))


def test_the_screen_shows_windows(tilt: Tilt) -> None:
    _, out, _ = tilt(*RUN, "--view", "sum=windows")
    assert out.partition("~time")[0] == (
        "~sum\n"
        "               time  sum\n"
        "1970-01-01 00:00:10    2\n"
        "1970-01-01 00:00:20    φ\n"
        "1970-01-01 00:00:30    5\n"
        "3 windows\n"
    )


def test_a_stream_gives_points_and_refuses_what_needs_all_rows(tilt: Tilt) -> None:
    times = pa.array(range(1, 50), pa.timestamp("s"))
    pq.write_table(pa.table({"ts": times, "x": range(49)}), "x.parquet")
    words = ("run", "views.tilt", "--input", "x.parquet", "--memory", "1MB")
    _, out, _ = tilt(*words, "--view", "points")
    assert "\n5 points\n" in out
    code, _, err = tilt(*words, "--view", "sum=windows")
    assert (code, err) == (
        2,
        "error: --view windows needs all snapshots at once; leave --memory out, bind a "
        "single file, or take --view points\n",
    )


def test_unknown_views_are_named(tilt: Tilt) -> None:
    assert tilt(*RUN, "--view", "window")[2] == (
        "error: --view window: there is no 'window'; did you mean 'windows'?\n"
    )
    assert tilt(*RUN, "--view", "rows=points")[2].startswith(
        "error: --view rows=points: there is no 'rows'"
    )
