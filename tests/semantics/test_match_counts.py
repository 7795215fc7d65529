"""Counts of rows that compare with the present, by hash tables and trees of ranks.

Random counts against the interpreter, with every way to run them; long windows against
a few lines of NumPy, where the structures themselves are at work.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.random.held_rows import with_held_rows
from tests.random.matches import random_match_case
from tests.semantics.test_properties import check
from tiltpy.emit.elements import FoldedElement
from tiltpy.emit.matches import Match, NoMatch
from tiltpy.emit.references import present_folds
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query

RANDOM, BATCH, DEEPER = 5, 5, 640
ROWS, LENGTH = 5000, 3000


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_counts_of_matches(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_match_case(seed)
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            if seed % 4 == 1:
                case = with_held_rows(case, seed)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            if seed % 5:
                setting = replace(setting, special_shapes=True, small=True)
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


def table(*, ties: bool) -> pa.Table:
    """Rows at distinct seconds, or several at one; NaN and null keys among them."""
    random = np.random.default_rng(3)
    stamps = np.arange(ROWS) // (3 if ties else 1) * 2
    price = np.where(random.random(ROWS) < 0.05, np.nan, random.integers(-40, 40, ROWS))
    words = np.array(["a", "b", "", "é"])[random.integers(0, 4, ROWS)]
    return pa.table(
        {
            "time": pa.array(stamps, pa.timestamp("s")),
            "p": price,
            "k": pa.array(words, mask=random.random(ROWS) < 0.1),
            "n": random.integers(0, 50, ROWS),
        }
    )


CONDITIONS = {
    "v.p < ~x[e].p": lambda rows, now: rows["p"] < now["p"],
    "v.p >= ~x[e].p": lambda rows, now: rows["p"] >= now["p"],
    "v.p > ~x[e].p - 3 && v.p <= ~x[e].p + 3 && v.n < 25": lambda rows, now: (
        (rows["p"] > now["p"] - 3) & (rows["p"] <= now["p"] + 3) & (rows["n"] < 25)
    ),
    "v.k == ~x[e].k": lambda rows, now: (rows["k"] == now["k"]) & (now["k"] != "φ"),
    "~x[e].k == v.k && v.n == ~x[e].n": lambda rows, now: (
        (rows["k"] == now["k"]) & (now["k"] != "φ") & (rows["n"] == now["n"])
    ),
}


WINDOWS = {
    f"[e-{LENGTH}s : e]": lambda stamps, row: (
        (stamps > stamps[row] - LENGTH) & (stamps <= stamps[row])
    ),
    "[-∞ : e]": lambda stamps, row: stamps <= stamps[row],
    "[last 3500 : row e]": lambda stamps, row: (
        (np.arange(len(stamps)) <= row) & (np.arange(len(stamps)) > row - 3500)
    ),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_long_windows(condition: str, window: str, *, ties: bool) -> None:
    rows = table(ties=ties)
    text = f"""unit s
        input x : {{ p: f64, k: string, n: i64 }} time time point
        e = Rows(~x)
        ~o[e] = count(v for v in ~x{window} if {condition})"""
    query = tilt.parse(text)
    assert "in a tree" in query.explain() or "in a hash table" in query.explain()
    found = query.run(x=rows).to_arrow()["o"].to_numpy()
    stamps = rows["time"].cast(pa.int64()).to_numpy()
    columns = {
        "p": rows["p"].to_numpy(),
        "k": np.array(rows["k"].fill_null("φ").to_pylist()),
        "n": rows["n"].to_numpy(),
    }
    for row in (*range(0, ROWS, 97), ROWS - 1):
        inside = WINDOWS[window](stamps, row)
        held = {name: column[inside] for name, column in columns.items()}
        now = {name: column[row] for name, column in columns.items()}
        assert found[row] == np.count_nonzero(CONDITIONS[condition](held, now)), row


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("v.p < ~x[t].p || v.n == 3", "do more with the present"),
        ("v.p * ~x[t].p > 2.0", "do more with the present"),
        ("v.p != ~x[t].p", "do more with the present"),
        ("v.p < ~x[t].p && v.n < ~x[t].n", "compare no key alone"),
        ("v.p < ~x[t].p && v.n == ~x[t].n", "compare no key alone"),
        ("~x[t].p > 2.0", "compare no key alone"),
    ],
)
def test_what_matches_by_no_key(condition: str, reason: str) -> None:
    head = "input x : { p: f64, n: i64 }\n"
    query = parse(f"{head}~o[t] = count(v for v in ~x[t-5000 : t] if {condition})")
    ((_, element),) = present_folds(query.definitions[0])
    with pytest.raises(NoMatch, match=reason):
        Match.of(FoldedElement.of(element))


def test_short_windows_are_folded_anew() -> None:
    head = "input x : { p: f64, n: i64 } point\n~o[t] = "
    for window, condition, says in (
        (100, "v.p < ~x[t].p", "not match_counts: windows of ~x are short"),
        (5000, "v.p < ~x[t].p", "counts its rows by rank, in a tree"),
        (100, "v.n == ~x[t].n", "not match_counts: windows of ~x are short"),
        (5000, "v.n == ~x[t].n", "counts its rows by key, in a hash table"),
    ):
        text = f"count(v for v in ~x[t-{window} : t] if {condition})"
        assert says in tilt.parse(head + text).explain()
    shown = tilt.parse(f"{head}sum(v.p - ~x[t].p for v in ~x[t-5000 : t])").explain()
    assert "not match_counts: sum of ~x is no count" in shown
