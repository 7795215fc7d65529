"""A push costs the keys of its rows, not those that have rows in reach."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.engines.live.live_part import PromptKeyedPart
from tiltpy.runtime.keyed.key_progress import KeyPlan, KeyProgress

KEYS, PUSHES, ROWS = 200, 60, 3
HEAD = "input x by k : f64 time ts point\ng = TDom(-∞, ∞, 50)\n"
QUERIES = {
    "a window": "~o[t] = sum(~x[t-900 : t])",
    "a lag": "~o[t] = ~x[t-100]",
    "on a grid": "~o[g] = sum(~x[g-900 : g])",
    "a chain": "~a[t] = ~x[t-100] * 2.0\n~o[t] = max(~a[t-700 : t])",
    "values without rows": "~o[t] = count(~x[t-900 : t])",
    "rows": "e = Rows(~x)\n~o[e] = ~x[e] - sum(~x[e-900 : e])",
    "all the past": "~o[t] = max(~x[-∞ : t])",
    "last rows": "~o[t] = sum(~x[last 3 : t within 900])",
    "the last row": "~o[t] = ~x[last : t within 900]",
    "a timeline": "distinct ~o[t] = sum(~x[t-900 : t]) > 0.0",
}


def frames_of(seed: int) -> list[pa.Table]:
    """Make pushes: a row of each key, then rows of a few keys each."""
    random = np.random.default_rng(seed)
    stamps = np.concatenate([np.arange(KEYS), KEYS + np.arange(PUSHES * ROWS) * 7])
    keys = np.concatenate([np.arange(KEYS), random.integers(0, KEYS, PUSHES * ROWS)])
    values = random.integers(-8, 9, len(stamps)) / 8
    table = pa.table({"ts": stamps, "k": keys, "x": values})
    first = [table.slice(0, KEYS)]
    return first + [table.slice(KEYS + n * ROWS, ROWS) for n in range(PUSHES)]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the keys of each plan that sessions make."""
    counts: list[int] = []
    plan = KeyProgress.plan

    def count_keys(self: KeyProgress, *of: object) -> KeyPlan:
        made = plan(self, *of)  # type: ignore[arg-type]
        counts.append(len(made.codes))
        return made

    monkeypatch.setattr(KeyProgress, "plan", count_keys)
    return counts


@pytest.mark.parametrize("name", QUERIES)
def test_quiet_keys_are_left_alone(name: str, planned: list[int]) -> None:
    """Each row has its key computed a few times: as it comes, and as it leaves."""
    query = tilt.parse(f"{HEAD}{QUERIES[name]}\noutput ~o")
    live, frames, said = query.live(), frames_of(len(name)), []
    for number, frame in enumerate(frames):
        update = live.push(x=frame)["o"]
        said.append(update.final.to_arrow())
        if number % 20 == 7:
            so_far = pa.concat_tables([*said, update.open.to_arrow()])
            rows = pa.concat_tables(frames[: number + 1])
            assert isinstance(update.through, int)
            expected = query.run(x=rows, end=update.through)["o"].to_arrow()
            order = [("k", "ascending"), ("start", "ascending")]
            assert so_far.sort_by(order).equals(expected.combine_chunks())
    rows = KEYS + PUSHES * ROWS
    assert sum(planned) <= 6 * rows, f"{sum(planned)} keys of {rows} rows"


@pytest.mark.parametrize("lifetime", ["point", "duration 20", "sampled 12"])
def test_rows_that_nobody_needs_are_dropped_uncomputed(
    lifetime: str, planned: list[int]
) -> None:
    """A key of an output of rows is planned with the rows that come, and no more."""
    head = f"input x by k : f64 time ts {lifetime}\ne = Rows(~x)\n"
    query = tilt.parse(f"{head}~o[e] = ~x[e] - sum(~x[e-900 : e])\noutput ~o")
    live, frames = query.live(), frames_of(3)
    said = [live.push(x=frame)["o"].final.to_arrow() for frame in frames]
    said.append(live.advance(10_000)["o"].final.to_arrow())
    live.advance(20_000)
    (part,) = live._engine.parts
    assert isinstance(part, PromptKeyedPart)
    assert part.state.held_rows() == {"x": 0}
    rows = KEYS + PUSHES * ROWS
    assert sum(planned) <= rows + 2 * len(frames), "the row that waits is planned twice"
    expected = query.run(x=pa.concat_tables(frames))["o"].to_arrow()
    order = [("k", "ascending"), ("start", "ascending")]
    found = pa.concat_tables(said).sort_by(order)
    assert found.equals(expected.combine_chunks())


LATER = {
    "counts": "~o[g] = count(~x[g-100 : g])",
    "sums": "~o[g] = sum(~x[g-100 : g])",
    "ticks": "~o[t] = max(~x[t-70 : t])",
    "rows": "e = Rows(~x)\n~o[e] = ~x[e] - sum(~x[e-90 : e])",
    "other rows": "e = Rows(~x)\n~o[e] = ~x[e] - ~y[e]",
}


@pytest.mark.parametrize("lifetime", ["point", "duration 20", "until_next"])
@pytest.mark.parametrize("name", LATER)
def test_keys_go_on_long_after_their_rows_settled(name: str, lifetime: str) -> None:
    """Compare keys that come again with a run: open snapshots and held rows go on."""
    y = f"input y by k : f64 time ts {lifetime}\n" if "other" in name else ""
    of_x = lifetime if y == "" else "point"
    head = f"input x by k : f64 time ts {of_x}\n{y}g = TDom(-∞, ∞, 50)\n"
    query = tilt.parse(f"{head}{LATER[name]}\noutput ~o")
    random = np.random.default_rng(len(name))
    # Each of 9 keys has rows now and then, 600 ticks apart and more.
    stamps = np.arange(0, 30_000, 35)
    keys = (stamps // 210 + random.integers(0, 2, len(stamps))) % 9
    values = random.integers(-8, 9, len(stamps)) / 8
    rows = pa.table({"ts": stamps, "k": keys, "x": values})
    frames = {"x": rows, "y": rows.rename_columns(["ts", "k", "y"]).slice(0, 200)}
    frames = {each: frames[each] for each in (("x", "y") if y else ("x",))}
    live, said = query.live(), []
    for first in range(0, len(stamps), 4):
        pushed = {each: frame.slice(first, 4) for each, frame in frames.items()}
        update = live.push(**{n: each for n, each in pushed.items() if len(each)})["o"]
        said.append(update.final.to_arrow())
        if first == 400:
            live = query.live(resume=live.save())
        if y and first == 200:
            said.append(live.advance(y=40_000)["o"].final.to_arrow())
    update = live.finish()["o"]
    said.append(update.final.to_arrow())
    order = [("k", "ascending"), ("start", "ascending")]
    found = pa.concat_tables(each for each in said if len(each)).sort_by(order)
    assert isinstance(update.through, int)
    expected = query.run(**frames, end=update.through)["o"].to_arrow()
    assert found.combine_chunks().equals(expected.combine_chunks())


def test_open_snapshots_of_texts_go_on() -> None:
    """Compare texts by key with a run: those of other dictionaries stay open."""
    query = tilt.parse(
        "input x by k : string time ts point\ng = TDom(-∞, ∞, 5)\n"
        "~o[g] = max(~x[g-20 : g])\noutput ~o"
    )
    random, count = np.random.default_rng(3), 900
    texts = [f"text {v}" if v else None for v in random.integers(0, 300, count)]
    rows = pa.table(
        {
            "ts": np.cumsum(random.integers(0, 4, count)),
            "k": random.integers(0, 40, count),
            "x": pa.array(texts),
        }
    )
    live, said = query.live(), []
    for first in range(0, count, 9):
        said.append(live.push(x=rows.slice(first, 9))["o"].final.to_arrow())
        if first == 450:
            live = query.live(resume=live.save())
    update = live.finish()["o"]
    said.append(update.final.to_arrow())
    order = [("k", "ascending"), ("start", "ascending")]
    assert isinstance(update.through, int)
    expected = query.run(x=rows, end=update.through)["o"].to_arrow()
    found = pa.concat_tables(said).sort_by(order)
    assert found.combine_chunks().equals(expected.combine_chunks())


@pytest.mark.parametrize(
    "text",
    [
        "~o[t] = ~x[t]",
        "~o[g] = sum(~x[g-5 : g])",
        "~o[t] = ~x[t] != φ ? max(~x[-∞ : t]) : φ",
        "~o[t] = ~x[last : t]",
        "distinct ~o[t] = ~x[t] > 0.0 ? true : φ",
    ],
)
@pytest.mark.parametrize("promise", [None, -40, -37, 0, 10])
def test_rows_from_before_a_given_start_hold_on(text: str, promise: int | None) -> None:
    """Compare what is open with a run, also of a key that has no other row."""
    query = tilt.parse(
        f"input x by k : f64 time ts until_next\ng = TDom(-∞, ∞, 5)\n{text}\noutput ~o"
    )
    early = pa.table({"ts": [-39, -38], "k": [0, 0], "x": [1.0, 2.0]})
    later = pa.table({"ts": [12, 34, 35], "k": [1, 2, 2], "x": [3.0, 4.0, 5.0]})
    live = query.live(start=10, x=tilt.ingress(reorder=2))
    said = [live.push(x=early)]
    if promise is not None:
        said.append(live.advance(x=promise))
    said.append(live.push(x=later))
    last = said[-1]["o"]
    tables = [each["o"].final.to_arrow() for each in said] + [last.open.to_arrow()]
    found = pa.concat_tables(each for each in tables if len(each))
    rows = pa.concat_tables([early, later])
    assert isinstance(last.through, int)
    expected = query.run(x=rows, start=10, end=last.through)["o"].to_arrow()
    order = [("k", "ascending"), ("start", "ascending")]
    assert found.sort_by(order).equals(expected.combine_chunks())
