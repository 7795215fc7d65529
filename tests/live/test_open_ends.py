"""Final snapshots stay, also where a condition says which ones there are."""

from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.ir.nodes import Query
from tiltpy.passes.analyses.open_ends import find_open_ends

X = "input x : f64 time ts point\n"
KEPT = "~y[t] = sum(~x[t-1 : t+3]) > 0.0 ? 1.0 : φ\n"
MEAN = "~m[t] = mean(~x[t-4 : t+2])\n"
OPEN = {
    "a window of what may vanish": X + KEPT + "~o[t] = count(~y[t-6 : t])",
    "on a grid": X + KEPT + "g = TDom(-∞, ∞, 4)\n~o[g] = count(~y[g-8 : g])",
    "of the past alone": X
    + "~y[t] = sum(~x[t-3 : t]) > 0.0 ? 1.0 : φ\n~o[t] = count(~y[t-6 : t])",
    "whether it is there": X + KEPT + "~o[t] = ~y[t] != φ ? 1 : 0",
    "a look ahead": X + KEPT + "~o[t] = ~y[t+2] + 0.5",
    "an element beside values": X
    + MEAN
    + "~o[t] = count(v for v in ~x[t-6 : t] if v > ~m[t])",
    "since values": X + MEAN + "~b[t] = ~m[t] > 0.0\n~o[t] = count(~x[since ~b : t])",
    "a condition on made values": X
    + MEAN
    + "~o[t] = count(v for v in ~m[t-6 : t] if v > 0.0)",
    "division": X
    + "~n[t] = 12 // count(v for v in ~x[t-4 : t+2] if v > 0.0)\n"
    + "~o[t] = count(~n[t-6 : t])",
    "what depends on it": X + KEPT + "~z[t] = count(~y[t-6 : t])\n~o[t] = ~z[t-1] + 1",
    "the last row": X
    + "g = TDom(-∞, ∞, 4)\n"
    + "~o[g] = count(v for v in ~x[last 1 : g within 12] if v > 0.0)",
    "a window of last rows": X
    + "g = TDom(-∞, ∞, 4)\n"
    + "~y[g] = sum(v for v in ~x[last 1 : g within 12] if v > 0.0)\n"
    + "~o[g] = count(~y[g-8 : g])",
    "hidden rows": "input x : { v: f64, w: f64 } time ts duration 6\n"
    + "~y[t] = ~x[t].v\n~o[t] = count(~y[t-3 : t])",
}
TOLD = {
    "a map": X + "~o[t] = ~x[t] * 2.0",
    "a window": X + "~o[t] = mean(~x[t-6 : t+2])",
    "a condition": X + "~o[t] = sum(~x[t-1 : t+3]) > 0.0 ? 1.0 : φ",
    "a point of what may vanish": X + KEPT + "~o[t] = ~y[t-1]",
    "a window of a window": X + MEAN + "~o[t] = max(~m[t-6 : t])",
    "elements of rows": X + "~o[t] = count(v for v in ~x[t-6 : t] if v > 0.0)",
    "bars": X + "g = TDom(-∞, ∞, 4)\n~o[g] = { h = max(~x[g-4 : g]) }",
    "a chain": X + "~y[t] = ~x[t] - ~x[t-1]\n~o[t] = mean(~y[t-6 : t+1])",
    "both branches": X + "~y[t] = ~x[t] > 0.0 ? ~x[t] : 0.0\n~o[t] = sum(~y[t-4 : t])",
    "given a value": X + "~y[t] = ~x[t] != φ ? 1.0 : 0.0\n~o[t] = sum(~y[t-4 : t])",
    "the end of a row": "input x : f64 time ts until_next\n"
    + "g = TDom(-∞, ∞, 4)\n~o[g] = end(~x[g-1])",
    "the end of a row, through others": "input x : f64 time ts until_next\n"
    + "~y[t] = end(~x[t-2]) - start(~x[t-2])\n~o[t] = max(~y[t-4 : t])",
    "last rows that all count": X + "~o[t] = count(~x[last 2 : t within 9])",
    "since rows": X
    + "e = Rows(~x)\n~b[e] = ~x[e] > 1.0\n~o[t] = count(~x[since ~b : t])",
}


def query_of(text: str) -> Query:
    """Parse a query whose output is `~o`."""
    return tilt.parse(f"{text}\noutput ~o").query


def rows_of(random: Random, *, structs: bool) -> list[pa.Table]:
    """Draw the rows of a session, each a frame."""
    time, frames = 0, []
    for _ in range(12):
        time += random.choice((0, 1, 1, 2, 5))
        value = float(random.randint(-2, 2))
        row = {"ts": [time], "v" if structs else "x": [value]}
        table = pa.table(row)
        if structs:
            null = None if value < 0 else value
            table = pa.table({"ts": [time], "v": pa.array([null], pa.float64())})
            table = table.append_column("w", pa.array([value]))
        frames.append(table)
    return frames


@pytest.mark.filterwarnings("ignore::tiltpy.TiltWarning")
@pytest.mark.parametrize("name", [*OPEN, *TOLD])
def test_what_is_final_stays(name: str, *, deep: bool) -> None:
    """A session's final snapshots are those of a run over all rows."""
    text = {**OPEN, **TOLD}[name]
    query = tilt.parse(f"{text}\noutput ~o")
    for seed in range(1000 if deep else 4):
        frames = rows_of(Random(seed), structs="{ v:" in text)  # noqa: S311
        live = query.live()
        updates = [live.push(x=frame) for frame in frames]
        updates.append(live.finish())
        tables = [each["o"].final.to_arrow() for each in updates]
        some = [table for table in tables if table.num_rows]
        final = pa.concat_tables(some or tables[-1:])
        assert final.equals(query.run(x=pa.concat_tables(frames))["o"].to_arrow()), seed


@pytest.mark.parametrize("name", OPEN)
def test_open_ended(name: str) -> None:
    """The cell behind does not tell whether their last snapshot goes on."""
    assert "o" in find_open_ends(query_of(OPEN[name]))


@pytest.mark.parametrize("name", TOLD)
def test_not_open_ended(name: str) -> None:
    """A window's row is final when it closes."""
    assert "o" not in find_open_ends(query_of(TOLD[name]))


@pytest.mark.parametrize("base", ["~close[t-24]", "last(~close[t-48 : t-24])"])
def test_the_cell_before_waits_for_nothing(base: str) -> None:
    """It ended before the time that refers to it, of whatever length it is."""
    query = tilt.parse(
        X + "day = TDom(-∞, ∞, 24)\n"
        "~close[day] = last(~x[day-24 : day])\n"
        f"~o[t] = ~x[t] - {base}\n"
        "output ~o\n"
    )
    rows = pa.table({"ts": range(1, 51), "x": [float(n) for n in range(1, 51)]})
    expected = query.run(x=rows)["o"].to_arrow()
    with query.live() as session:
        final = session.push(x=rows)["o"].final.to_arrow()
    assert final.equals(expected.slice(0, final.num_rows))
    assert final["end"][-1].as_py() == 49


def test_an_output_that_there_is_not_is_named() -> None:
    with tilt.parse(X + "~total[t] = sum(~x[t-3 : t])").live() as session:
        update = session.result()
        with pytest.raises(KeyError, match=r"no output 'totl'.*did you mean 'total'"):
            update["totl"]
        assert "totl" not in update
