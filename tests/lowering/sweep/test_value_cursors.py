"""Cursors over the values of a window, against the sorted values of each."""

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.semantics.test_worked_examples import assert_numbers
from tiltpy.interpreter import order_statistics as orders
from tiltpy.interpreter.scalars import Number

ROWS = 2000
WINDOWS = 37, 300, 900
"""Rows of windows: those of the last two collect the values near a quantile."""
SHARES = 0.5, 0.9, 0.0, 0.37
NAN, INF = math.nan, math.inf
Random = np.random.Generator
Values = np.ndarray[tuple[int], np.dtype[np.generic]]


def _two_heaps(random: Random) -> Values:
    noise = random.normal(size=ROWS)
    return np.where(random.random(ROWS) < 0.5, noise, 1e6 + noise)


def _ties_beside_noise(random: Random) -> Values:
    return np.where(random.random(ROWS) < 0.6, 0.0, random.normal(size=ROWS))


def _edges(random: Random) -> Values:
    edges = [NAN, INF, -INF, -0.0, 0.0, 5e-324, 1.7e308, -1.7e308]
    noise = random.normal(size=ROWS)
    return np.where(random.random(ROWS) < 0.4, random.choice(edges, ROWS), noise)


def _far_integers(random: Random) -> Values:
    return random.choice([-(2**63), 2**63 - 1, 2**62, 2**62 + 1, 0, -1, 1], ROWS)


def _jumps(random: Random) -> Values:
    heights = np.repeat(random.normal(size=ROWS // 250) * 1e9, 250)
    return heights + random.normal(size=ROWS)


SERIES: dict[str, Callable[[Random], Values]] = {
    "noise": lambda random: random.normal(size=ROWS),
    "singles": lambda random: random.normal(size=ROWS).astype("f4"),
    "walk": lambda random: random.normal(size=ROWS).cumsum(),
    "rise": lambda _: np.arange(ROWS) * 0.5,
    "fall": lambda _: np.arange(ROWS)[::-1],
    "one value": lambda _: np.full(ROWS, 7),
    "few values": lambda random: random.integers(0, 5, ROWS).astype("u1"),
    "heavy tails": lambda random: random.standard_cauchy(ROWS),
    "two heaps": _two_heaps,
    "ties beside noise": _ties_beside_noise,
    "edges": _edges,
    "far integers": _far_integers,
    "far unsigned integers": lambda random: random.integers(0, 2**64, ROWS, "u8"),
    "jumps": _jumps,
    "bools": lambda random: random.random(ROWS) < 0.4,
}
BROKEN = {"two heaps", "ties beside noise", "jumps"}
"""Series with gaps between values, so that the next one is not nearby."""
KINDS = {"f8": "f64", "f4": "f32", "i8": "i64", "u1": "u8", "u8": "u64", "b1": "bool"}


def _fields(window: str, condition: str) -> str:
    element = (
        f"(v for v in ~x[{window}] if {condition}" if condition else f"(~x[{window}]"
    )
    parts = (f"q{n} = quantile{element}, {share})" for n, share in enumerate(SHARES))
    return f"{{ {', '.join(parts)} }}"


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", SERIES)
def test_quantiles_of_samples(kind: str, window: int) -> None:
    values = SERIES[kind](np.random.default_rng(window))
    scalar = KINDS[values.dtype.str[1:]]
    fields = _fields(f"t-{window} : t", "")
    query = tilt.parse(f"input x : {scalar} sampled 1\n~o[t] = {fields}\noutput ~o")
    text = query.explain()
    assert "cursors over its values for quantile" in text
    assert (".near.scratch" in text) is (window > 256)
    table = query.run(x=tilt.sampled(values, 0, 1), chunk=700).to_arrow()
    every = range(0, ROWS, 1 if kind in BROKEN else 37)
    rows = [_numbers(values[max(0, i + 1 - window) : i + 1]) for i in every]
    for number, share in enumerate(SHARES):
        found = table[f"q{number}"].take(list(every)).to_pylist()
        assert_numbers(found, [orders.quantile(each, share) for each in rows])


def _numbers(values: Values) -> list[Number]:
    return sorted(number + 0.0 if number == 0 else number for number in values.tolist())


@pytest.mark.parametrize("window", ["t-5000 : t", "last 400 : t", "t-900 : t-200"])
@pytest.mark.parametrize("kind", ["noise", "walk", "edges", "ties beside noise"])
@pytest.mark.parametrize("condition", ["", "v > 0.25 || v < -1"])
def test_quantiles_of_events_that_leave_several_at_once(
    kind: str, window: str, condition: str
) -> None:
    random = np.random.default_rng(5)
    values = SERIES[kind](random)
    gaps = random.choice([1, 2, 30, 900, 4000], ROWS, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    stamps = gaps.cumsum()
    text = f"""input x : f64 time ts point
    ~o[t] = ~x[t] != φ ? {_fields(window, condition)} : φ
    output ~o
    """
    query = tilt.parse(text)
    frame = pa.table({"ts": stamps, "x": values})
    table = query.run(x=frame, chunk=20_000).to_arrow()
    ends = {int(end): row for row, end in enumerate(table["end"].to_pylist())}
    low, high = _bounds(window)
    for i in range(0, ROWS, 61):
        time = int(stamps[i])
        inside = (stamps > time + low) & (stamps <= time + high)
        seen = values[inside][-400:] if "last" in window else values[inside]
        left = [v for v in _numbers(seen) if not condition or v > 0.25 or v < -1]
        if time not in ends:
            assert not left
            continue
        for number, share in enumerate(SHARES):
            found = table[f"q{number}"][ends[time]].as_py()
            meant = orders.quantile(left, share) if left else None
            assert_numbers([found], [meant])


def _bounds(window: str) -> tuple[float, float]:
    if "last" in window:
        return -INF, 0
    low, _, high = window.partition(" : ")
    return float(low[1:]), float(high[1:] or 0)
