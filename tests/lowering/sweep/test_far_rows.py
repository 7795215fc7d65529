"""Few visits beside an object of many rows: loops jump to the rows that they read."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import check_engines
from tiltpy.interpreter.evaluate import Value

QUERIES = {
    "point": "~o[t] = ~x[t] - ~u[t]",
    "point ahead": "~o[t] = ~x[t] != φ ? ~u[t+7] : φ",
    "either": "~o[t] = ~x[t] != φ ? ~x[t] : ~u[t-3]",
    "windows": "~o[t] = ~x[t] != φ ? mean(~u[t-9:t]) + max(~u[t-40:t-30]) : φ",
    "ordered": "~o[t] = ~x[t] != φ ? first(~u[t-9:t]) - last(~u[t-30:t+5]) : φ",
    "median": "~o[t] = ~x[t] != φ ? median(~u[t-25:t]) : φ",
    "last look": "~o[t] = ~x[t] != φ ? ~u[last : t] : φ",
    "next look": "~o[t] = ~x[t] != φ ? ~u[t : next] : φ",
    "nearest look": "~o[t] = ~x[t] != φ ? ~u[nearest t within 5] : φ",
    "rows": "e = Rows(~x)\n~o[e] = ~x[e] - sum(~u[e-9:e])",
    "look of rows": "e = Rows(~x)\n~o[e] = ~u[last : e]",
    "last rows": "~o[t] = ~x[t] != φ ? sum(~u[last 3 : t]) : φ",
    "since": (
        "~c[t] = ~u[t] > 1.5 ? true : φ\n"
        "~o[t] = ~x[t] != φ ? count(~u[since ~c : t]) : φ"
    ),
    "coarse": "g = TDom(-∞, ∞, 500)\n~o[g] = ~u[g] + sum(~u[g-3:g])",
}
STEPS = {
    "points": ((1, 2, 5), (1,)),
    "gaps": ((3, 9), (1, 2, 3)),
    "gapless": ((1, 4), ()),
    "overlaps": ((0, 1, 4), (1, 6, 30)),
}
"""Ticks from start to start, and lengths; none: up to the next."""


def dense_rows(kind: str, random: Random) -> list[tuple[int, int, Value]]:
    """Some hundred rows, a tenth of them null."""
    steps, lengths = STEPS[kind]
    starts = [0]
    while len(starts) < random.choice((1, 60, 400)):
        starts.append(starts[-1] + random.choice(steps))
    rows: list[tuple[int, int, Value]] = []
    for start, after in zip(starts, [*starts[1:], starts[-1] + 1], strict=True):
        end = start + random.choice(lengths) if lengths else after
        if kind in ("points", "overlaps") or end <= after or start == starts[-1]:
            rows.append((start, end, random.gauss(0, 1)))
    return [row for row in rows if kind == "gapless" or random.random() > 0.1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("query", QUERIES)
def test_far_rows_are_as_near_ones(query: str, kind: str) -> None:
    random = Random(f"{query} {kind}")  # noqa: S311
    for _ in range(3):
        some = dense_rows(kind, random)
        last = some[-1][1] if some else 0
        stamps = sorted({random.randint(-20, last + 60) for _ in range(5)})
        x: list[tuple[int, int, Value]] = [(s, s + 1, float(s)) for s in stamps]
        text = f"input x : f64\ninput u : f64\n{QUERIES[query]}\noutput ~o"
        check_engines(text, {"x": x, "u": some})


@pytest.mark.few(4)
@pytest.mark.parametrize("query", [name for name in QUERIES if name != "coarse"])
def test_keys_beside_an_input_without_one(query: str) -> None:
    """Each has the rows that it would have alone, though its runs share calls."""
    random = np.random.default_rng(len(query))
    size, keys = 40_000, 300
    times = np.cumsum(random.integers(1, 3, size))
    u = pa.table({"ts": times, "v": random.normal(size=size)})
    stamps = np.unique(random.integers(0, 2 * size, 900))
    codes = random.integers(0, keys, len(stamps))
    x = pa.table({"ts": stamps, "k": codes, "x": random.normal(size=len(stamps))})
    inputs = "input x{} : f64 time ts point\ninput u : f64 time ts point\n"
    body = f"{QUERIES[query]}\noutput ~o"
    found = tilt.parse(inputs.format(" by k") + body).run(x=x, u=u)["o"].to_arrow()
    alone = tilt.parse(inputs.format("") + body)
    for key in random.choice(np.unique(codes), 3, replace=False).tolist():
        of_key = x.filter(pa.array(codes == key)).drop_columns("k")
        meant = alone.run(x=of_key, u=u)["o"].to_arrow()
        mine = found.filter(pa.array(np.asarray(found["k"]) == key)).drop_columns("k")
        assert mine.equals(meant)
