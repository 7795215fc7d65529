"""Notices of loops that visit every cell: by `explain`, and before they run."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests import ROOT
from tests.costs import costing, default_costs
from tests.plain import held
from tiltpy.cli.main import main
from tiltpy.costs import RunCosts

EXAMPLES = ROOT / "examples"
POINT = "input x : f64 time t point"
FRAME = pa.table({"t": [1, 4, 10**12], "x": [1.0, 2.0, 3.0]})
EVERY_TICK = "~a[t] = ~x[t] != φ ? t : -t\n~o[t] = ~x[t] + sum(~a[t-10:t])\noutput o"
OWN = """reduction worst(v: f64) {
    init = 0.0
    acc = v > state ? v : state
    result = state
}
"""
MEAN = """reduction lasting(v: f64, start, end) {
    init = 0.0
    acc = state + v * (end - start)
    merge = a + b
    result = state
}
"""


def warning_from(visits: int) -> tilt.CompileOptions:
    """Options by which runs of more visits warn."""
    return costing(run=RunCosts(announced_visits=visits))


def visits(text: str, frame: object) -> str:
    """The section of `explain` about visits."""
    shown = tilt.parse(text).explain(inputs={"x": frame})
    return shown.split("== visits ==\n")[1].split("\n==")[0]


def test_explain_says_how_many_visits_and_why() -> None:
    assert visits(f"{POINT}\n{EVERY_TICK}", FRAME) == (
        "~a: at most 1,000,000,000,009 visits, one for each tick\n"
        "    `t` is used as a number at <query>:2:22\n"
        "~o: at most 19 visits, one for each change of what it refers to\n"
    )


def test_gaps_are_no_visits() -> None:
    """The object is φ, and the loop passes on."""
    shown = visits(f"{POINT}\n~o[t] = ~x[t] * f64(t)", FRAME)
    assert shown.startswith("~o: at most 19 visits, one for each change of")


def test_maps_visit_rows_and_vector_kernels_grid_points() -> None:
    shown = visits("input x : i64\n~o[t] = ~x[t] + 1", held([(0, 5, 1)], "i64"))
    assert shown == "~o: at most 1 visits, one for each row\n"
    rows = pa.table({"t": range(10_000), "x": [1.0] * 10_000})
    text = "input x : f64 time t sampled 1\n~o[t] = mean(~x[t-20 : t])"
    assert "visits, one for each grid point" in visits(text, rows)


def test_reductions_are_named_that_look_at_edges_or_fold_anew() -> None:
    rows = pa.table({"s": [0, 50], "e": [40, 90], "x": [1.0, 2.0]})
    held_rows = "input x : f64 interval (s, e)"
    shown = visits(f"{MEAN}{held_rows}\n~o[t] = lasting(~x[t-10 : t])", rows)
    assert "`lasting` sees where the edges of its window cut rows at <query>" in shown
    shown = visits(f"{OWN}{held_rows}\n~o[t] = worst(~x[t-10 : t])", rows)
    assert "`worst` goes through its window again at each visit at <query>" in shown
    assert "rows in all of their windows" in shown


MADE = "~m[t] = mean(~x[t-5 : t])\n~o[t] = worst(~m[t-100 : t])\noutput o"
FILTERED = MADE.replace("mean(~x[t-5 : t])", "~x[t] > 5.0 ? mean(~x[t-5 : t]) : φ")
JOINED = f"input y : f64 time t point\n{MADE.replace('mean(', '~y[t] + mean(')}"


@pytest.mark.parametrize("by", ["", " by k"])
def test_windows_of_objects_made_on_the_way_are_bounded(
    by: str,
) -> None:
    """But they are announced only where those have as many snapshots as they can."""
    head = f"{OWN}{POINT.replace(' :', f'{by} :')}\n"
    n = 1000
    frame = pa.table({"t": range(n), "x": [1.0] * n, "k": [1] * n})
    given: dict[str, Any] = {"x": tilt.bind(frame, column="x")}
    shown = tilt.parse(head + MADE, options=warning_from(50_000)).explain(inputs=given)
    (rows,) = re.findall(r"at most ([\d,]+) rows in all of their windows", shown)
    assert 100 * n <= int(rows.replace(",", "")) <= 1000 * n
    with pytest.warns(tilt.TiltWarning, match="`worst` goes through its window again"):
        tilt.parse(head + MADE, options=warning_from(50_000)).run(**given)
    other: dict[str, Any] = {
        "y": tilt.bind(pa.table({"t": [5], "y": [1.0]}), column="y")
    }
    for text, more in ((FILTERED, dict[str, Any]()), (JOINED, other)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tilt.parse(head + text, options=warning_from(50_000)).run(**given, **more)


def test_windows_of_objects_made_on_the_way_cut_no_chunks() -> None:
    """Nor are the few peaks of a detector of heartbeats announced."""
    query = tilt.load(EXAMPLES / "queries" / "pan_tompkins.tilt")
    beats = np.sin(np.arange(360 * 300) * np.pi / 150)  # never flat: few peaks
    ecg = (1000 * beats**63 + 100 * beats).astype(np.int16)
    chunks: set[int] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        query.run(
            ecg=tilt.sampled(ecg, 0, 1), progress=lambda _, total: chunks.add(total)
        )
    assert chunks == {1}


@pytest.mark.parametrize("by", ["", " by k"])
def test_a_run_of_many_visits_warns_once(
    by: str,
) -> None:
    text = f"input x{by} : f64 time t point\n{EVERY_TICK}"
    frame = pa.table({"t": [1, 4, 5000], "x": [1.0, 2.0, 3.0], "k": [1, 1, 1]})
    query = tilt.parse(text, options=warning_from(1000))
    with pytest.warns(tilt.TiltWarning) as caught:
        query.run(x=tilt.bind(frame, column="x"))
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert message.startswith("~a may make 5,009 visits, one for each tick: `t` is ")
    assert "at <query>:2:22; to make fewer, give it a coarser grid" in message


def test_a_stream_warns_when_its_spans_add_up() -> None:
    stamps = range(0, 20_000, 10)
    frame = pa.table({"t": stamps, "x": [1.0] * len(stamps)})
    query = tilt.parse(f"{POINT}\n{EVERY_TICK}", options=warning_from(1000))
    with pytest.warns(tilt.TiltWarning, match="one for each tick") as caught:
        list(query.stream(x=frame.to_reader(max_chunksize=100)))
    assert len(caught) == 1


def test_usual_runs_say_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilt.parse(f"{POINT}\n~o[t] = ~x[t] * f64(t)").run(x=FRAME)
        tilt.parse(f"{POINT}\n~o[t] = sum(~x[t-{2**58} : t])").run(x=FRAME)


def test_the_command_says_it_on_stderr(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query, data = tmp_path / "q.tilt", tmp_path / "x.parquet"
    query.write_text(f"{POINT}\n{EVERY_TICK}\n", encoding="utf-8")
    pq.write_table(pa.table({"t": [1, 5000], "x": [1.0, 2.0]}), data)
    with default_costs(announced_visits=1000):
        assert main(["run", str(query), "--input", f"x={data}"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: ~a may make 5,009 visits, one for each tick: ")
    assert said.count("\n") == 1
