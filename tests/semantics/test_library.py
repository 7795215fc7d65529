"""The library against NumPy and pandas, which know nothing of it, and both its doors.

Each expectation is computed window by window over samples of which some are missing
and one is NaN: the first windows, windows with gaps and windows of gaps are all there.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
import tiltpy.library
from tests import ROOT
from tests.semantics.library_in_python import docs, module
from tests.semantics.reference_pages import FOLDER
from tiltpy.frontend.elaboration.call_targets import is_built_in
from tiltpy.frontend.elaboration.library import library_functions
from tiltpy.inputs import BoundSamples

PAGE = (FOLDER / "library.md").read_text()
NAMES = [function.name.text for function in library_functions()]

Value = float | bool | None
Window = Sequence[float]


def make(seed: int, *, nan: bool) -> list[float | None]:
    """Samples at the ticks 1, 2, ...: `None` where one is missing."""
    rng = np.random.default_rng(seed)
    waves = 2 * np.sin(np.arange(90) / 4 + seed) + rng.integers(-8, 9, 90) / 8
    values: list[float | None] = list(np.round(10 + waves, 3))
    for place in (0, 7, 8, 20, 21, 22, 23, 24, 25, 26, 27, 41, 60, 61, 89):
        values[place] = None
    values[30:40] = [12.5] * 10
    if nan:
        values[70] = math.nan
    return values


X, Y, CLEAN = make(1, nan=True), make(2, nan=False), make(3, nan=False)
TICKS = range(1, len(X) + 1)


def at(values: Sequence[Value], tick: int) -> Value:
    return values[tick - 1] if 1 <= tick <= len(values) else None


def window(values: Sequence[float | None], tick: int, back: int, to: int = 0) -> Window:
    """The values within (tick - back, tick - to]."""
    found = (at(values, one) for one in range(tick - back + 1, tick - to + 1))
    return [one for one in found if one is not None]


def per_tick(table: pa.Table, column: str = "o") -> list[Value]:
    found: dict[int, Value] = {}
    for row in table.to_pylist():
        for tick in range(row["start"] + 1, row["end"] + 1):
            found[tick] = row[column]
    return [found.get(tick) for tick in TICKS]


def run(call: str, **samples: Sequence[float | None]) -> pa.Table:
    """Return what a call is over samples a tick apart, by the text and from Python."""
    inputs = "".join(f"input {name} : f64\n" for name in samples)
    query = tilt.parse(f"{inputs}~o[t] = {call}\noutput ~o\n")
    frames = {
        name: tilt.sampled(pa.array(values, pa.float64()), 0, 1)
        for name, values in samples.items()
    }
    return query.run(start=0, end=len(X), **frames).to_arrow()  # type: ignore[arg-type]


def same(found: Sequence[Value], expected: Sequence[Value]) -> None:
    for tick, a, b in zip(TICKS, found, expected, strict=True):
        if a is None or b is None or isinstance(b, bool | np.bool_):
            assert a == b, (tick, a, b)
        else:
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9, nan_ok=True), tick


def over(
    back: int, fold: Callable[[Window], Value], values: Sequence[float | None] = X
) -> list[Value]:
    """A fold of each window, φ where that is empty."""
    windows = (window(values, tick, back) for tick in TICKS)
    return [fold(one) if one else None for one in windows]


def both(
    a: Sequence[Value], b: Sequence[Value], f: Callable[[float, float], Value]
) -> list[Value]:
    pairs = zip(a, b, strict=True)
    return [None if p is None or q is None else f(p, q) for p, q in pairs]


def shifted(values: Sequence[float | None], ticks: int) -> list[float | None]:
    return [at(values, tick - ticks) for tick in TICKS]


def divided(a: float, b: float) -> float:
    return float(np.float64(a) / np.float64(b))


def zscores(values: Sequence[float | None], means: Sequence[Value]) -> list[Value]:
    return both(values, means, lambda value, mean: value - mean)


def std(values: Window) -> float:
    return float(np.std(values))


def quotients(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
    return both(a, b, lambda p, q: None if q == 0 else p / q)


def tumbling(
    values: Sequence[float | None], length: int, fold: Callable[[Window], Value]
) -> list[Value]:
    found: list[Value] = []
    for tick in TICKS:
        end = -(-tick // length) * length
        inside = window(values, end, length)
        found.append(fold(inside) if inside else None)
    return found


# -- means and spread -----------------------------------------------------------------


def test_sma() -> None:
    same(per_tick(run("sma(~x, 7)", x=X)), over(7, np.mean))


@pytest.mark.parametrize("name", ["ema", "recursive_ema"])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0])
def test_exponential_averages_are_those_of_pandas(name: str, alpha: float) -> None:
    found = per_tick(run(f"{name}(~x, {alpha})", x=CLEAN))
    series = pd.Series(CLEAN, dtype=float)
    adjust = name == "ema"
    expected = series.ewm(alpha=alpha, adjust=adjust, ignore_na=True).mean()
    same(found, [None if math.isnan(v) else v for v in expected])


def by_row(fold: Callable[[Sequence[float]], Value]) -> list[Value]:
    """A fold of all rows so far, at each tick."""
    expected: list[Value] = []
    for tick in TICKS:
        rows = [value for value in CLEAN[:tick] if value is not None]
        expected.append(fold(rows) if rows else None)
    return expected


def wilder(rows: Sequence[float], n: int) -> float | None:
    """The mean of the first n rows, and then Wilder's recursion."""
    if len(rows) < n:
        return None
    mean = float(np.mean(rows[:n]))
    for value in rows[n:]:
        mean = (mean * (n - 1) + value) / n
    return mean


def test_wilder() -> None:
    same(per_tick(run("wilder(~x, 5)", x=CLEAN)), by_row(lambda rows: wilder(rows, 5)))


def test_time_mean() -> None:
    text = "input x : f64 until_next\n~o[t] = time_mean(~x, 6)\noutput ~o"
    stamps, values = [1, 4, 5, 15, 17], [2.0, 8.0, 1.0, None, 4.0]
    frame = pa.table({"time": pa.array(stamps, pa.int64()), "x": values})
    found = per_tick(tilt.parse(text).run(x=frame, start=0, end=30).to_arrow())
    held: list[float | None] = [None] * len(X)
    for stamp, until, value in zip(stamps, [*stamps[1:], 31], values, strict=True):
        held[stamp - 1 : until - 1] = [value] * (until - stamp)
    wanted = over(6, np.mean, held)
    for tick in range(1, 31):
        assert found[tick - 1] == pytest.approx(wanted[tick - 1]), tick


def test_vwap() -> None:
    text = (
        "unit s\ninput q : { price: f64, size: i64 }\n"
        "~o[t] = vwap(~q.price, ~q.size, 4)\noutput ~o"
    )
    price, size = [2.0, 4.0, 8.0, 16.0], [1, 3, 2, 4]
    stamps = [1, 1, 3, 8]  # two trades share a stamp: each counts
    columns = {"time": pa.array(stamps, pa.timestamp("s")), "price": price}
    frame = pa.table(columns | {"size": pa.array(size, pa.int64())})
    table = tilt.parse(text).run(q=tilt.bind(frame, lifetime=tilt.point())).to_arrow()
    first = datetime(1970, 1, 1)
    found = {row["end"]: row["o"] for row in table.to_pylist()}
    assert found[first + timedelta(seconds=2)] == (2 * 1 + 4 * 3) / 4
    assert found[first + timedelta(seconds=4)] == (2 * 1 + 4 * 3 + 8 * 2) / 6
    assert found[first + timedelta(seconds=8)] == 16.0


def test_deviation() -> None:
    same(per_tick(run("deviation(~x, 5)", x=X)), over(5, std))


def test_zscore() -> None:
    expected = quotients(zscores(X, over(6, np.mean)), over(6, std))
    same(per_tick(run("zscore(~x, 6)", x=X)), expected)


def test_normalize() -> None:
    means, stds = tumbling(X, 6, np.mean), tumbling(X, 6, std)
    expected = quotients(zscores(X, means), stds)
    same(per_tick(run("normalize(~x, 6)", x=X)), expected)


def test_rescale() -> None:
    low, high = over(6, np.min), over(6, np.max)
    expected = quotients(zscores(X, low), zscores(high, low))
    same(per_tick(run("rescale(~x, 6)", x=X)), expected)


def test_bollinger() -> None:
    table = run("bollinger(~x, 8, 1.5)", x=X)
    mean, spread = over(8, np.mean), over(8, std)
    same(per_tick(table, "middle"), mean)
    same(per_tick(table, "lower"), both(mean, spread, lambda m, s: m - 1.5 * s))
    same(per_tick(table, "upper"), both(mean, spread, lambda m, s: m + 1.5 * s))


def test_outlier() -> None:
    expected: list[Value] = []
    for tick, value in zip(TICKS, X, strict=True):
        before = window(X, tick, 10, 2)
        if value is None or not before:
            expected.append(None)
        else:
            far = abs(value - np.mean(before)) > 1.25 * np.std(before)
            expected.append(bool(far))
    found = per_tick(run("outlier(~x, 10, 1.25, step=2)", x=X))
    same(found, expected)
    assert {True, False, None} <= set(found)


def test_peak_to_peak() -> None:
    same(per_tick(run("peak_to_peak(~x, 5)", x=X)), over(5, np.ptp))


def test_crest_factor() -> None:
    swing = [None if v is None else v - 10 for v in X]
    swing[30:40] = [0.0] * 10

    def crest(values: Window) -> Value:
        rms = math.sqrt(np.mean(np.square(values)))
        return None if rms == 0 else float(np.max(np.abs(values))) / rms

    same(per_tick(run("crest_factor(~x, 5)", x=swing)), over(5, crest, swing))


def neighbours(values: Sequence[float | None], tick: int, back: int) -> Window:
    """The values within (tick - back, tick], after the last one of as many before."""
    inside = window(values, tick, back)
    return [*window(values, tick, 2 * back, back)[-1:], *inside] if inside else []


def test_zero_crossings() -> None:
    swing = [None if v is None else v - 10 for v in X]
    signs = [None if v is None or not abs(v) > 0 else float(np.sign(v)) for v in swing]
    expected: list[Value] = [
        int(np.count_nonzero(np.diff(neighbours(signs, tick, 9)))) for tick in TICKS
    ]
    found = per_tick(run("zero_crossings(~x, 9)", x=swing))
    same(found, expected)
    assert max(v for v in found if v is not None) > 1


def pairs(tick: int, back: int) -> tuple[list[float], list[float]]:
    ticks = range(tick - back + 1, tick + 1)
    found = [(at(CLEAN, one), at(Y, one)) for one in ticks]
    there = [(a, b) for a, b in found if a is not None and b is not None]
    return [a for a, _ in there], [b for _, b in there]


def test_correlation_and_beta() -> None:
    correlation: list[Value] = []
    beta: list[Value] = []
    for tick in TICKS:
        a, b = pairs(tick, 12)
        flat = not a or np.std(a) == 0 or np.std(b) == 0
        correlation.append(None if flat else float(np.corrcoef(a, b)[0, 1]))
        flat = not b or np.std(b) == 0
        beta.append(None if flat else float(np.cov(a, b, ddof=0)[0, 1] / np.var(b)))
    same(per_tick(run("correlation(~x, ~y, 12)", x=CLEAN, y=Y)), correlation)
    same(per_tick(run("beta(~x, ~y, 12)", x=CLEAN, y=Y)), beta)


# -- change ---------------------------------------------------------------------------


def test_change_and_returns() -> None:
    before = shifted(X, 3)
    same(per_tick(run("change(~x, 3)", x=X)), both(X, before, lambda a, b: a - b))
    expected = both(X, before, lambda a, b: a / b - 1)
    same(per_tick(run("returns(~x, 3)", x=X)), expected)
    expected = both(X, before, lambda a, b: math.log(a / b))
    same(per_tick(run("log_returns(~x, 3)", x=X)), expected)


def test_drawdown() -> None:
    expected = both(X, over(20, np.max), lambda a, b: a / b - 1)
    found = per_tick(run("drawdown(~x, 20)", x=X))
    same(found, expected)
    assert all(v is None or not v > 0 for v in found)


def test_new_high() -> None:
    before = [window(X, tick, 6, 1) for tick in TICKS]
    highest = [float(np.max(one)) if one else None for one in before]
    expected = both(X, highest, lambda a, b: bool(a > b))
    same(per_tick(run("new_high(~x, 6)", x=X)), expected)


def test_increase() -> None:
    counter: list[float | None] = [float(v % 7) for v in range(len(X))]
    counter[20] = counter[21] = None
    expected: list[Value] = []
    for tick in TICKS:
        moves = np.diff(rows := np.array(neighbours(counter, tick, 10)))
        more = np.where(moves < 0, rows[1:], moves).sum()
        expected.append(float(more) if len(moves) else None)
    same(per_tick(run("increase(~x, 10)", x=counter)), expected)


def test_rsi() -> None:
    def index(rows: Sequence[float]) -> Value:
        moves = np.diff(rows)
        up = wilder(np.maximum(moves, 0).tolist(), 14)
        down = wilder(np.maximum(-moves, 0).tolist(), 14)
        if up is None or down is None:
            return None
        return 100 * up / (up + down) if up + down else 50.0

    same(per_tick(run("rsi(~x, 14)", x=CLEAN)), by_row(index))
    flat = per_tick(run("rsi(~x, 3)", x=[5.0] * 9))
    assert flat[:9] == [None] * 3 + [50.0] * 6


def test_macd_is_that_of_pandas() -> None:
    series = pd.Series(np.cumsum(np.random.default_rng(5).normal(size=len(X))))
    line = series.ewm(span=12).mean() - series.ewm(span=26).mean()
    signal = line.ewm(span=9).mean()
    table = run("macd(~x)", x=series.tolist())
    same(per_tick(table, "line"), line.tolist())
    same(per_tick(table, "signal"), signal.tolist())
    same(per_tick(table, "histogram"), (line - signal).tolist())


# -- states ---------------------------------------------------------------------------


def test_crossings() -> None:
    for name, test in (("crossover", float.__gt__), ("crossunder", float.__lt__)):
        above = both(CLEAN, Y, lambda a, b, test=test: test(float(a), float(b)))  # type: ignore[misc]
        expected: list[Value] = []
        for tick in TICKS:
            now, before = at(above, tick), at(above, tick - 1)
            if now is None or before is None:  # three-valued: false settles it
                settled = (now is not None and not now) or before is True
                expected.append(False if settled else None)
            else:
                expected.append(bool(now and not before))
        found = per_tick(run(f"{name}(~x, ~y)", x=CLEAN, y=Y))
        same(found, expected)
        assert found.count(True) > 2
    level = per_tick(run("crossover(~x, 10.5)", x=CLEAN))
    assert level.count(True) == sum(
        a is not None and b is not None and b <= 10.5 < a
        for a, b in zip(CLEAN, shifted(CLEAN, 1), strict=True)
    )


def test_rises_and_steady() -> None:
    high = [None if v is None else v > 10.5 for v in CLEAN]
    rises: list[Value] = []
    steady: list[Value] = []
    for tick, now in zip(TICKS, high, strict=True):
        known = [v for v in (at(high, tick - k) for k in range(4)) if v is not None]
        before = at(high, tick - 1)
        if now is None:
            rises.append(False if before else None)
            steady.append(False if known and not all(known) else None)
        else:
            rises.append(now and not before)
            steady.append(all(known))
    found = per_tick(run("rises(~x[t] > 10.5)", x=CLEAN))
    same(found, rises)
    assert found.count(True) > 1
    same(per_tick(run("steady(~x[t] > 10.5, 4)", x=CLEAN)), steady)


# -- gaps -----------------------------------------------------------------------------


def test_filling() -> None:
    ffill: list[Value] = []
    bfill: list[Value] = []
    for tick, value in zip(TICKS, X, strict=True):
        earlier, later = window(X, tick, 3), window(X, tick + 3, 3)
        ffill.append(earlier[-1] if earlier else None)
        bfill.append(value if value is not None else later[0] if later else None)
    same(per_tick(run("ffill(~x, 3)", x=X)), ffill)
    same(per_tick(run("asof(~x, 3)", x=X)), ffill)
    same(per_tick(run("bfill(~x, 3)", x=X)), bfill)
    expected = pd.Series(CLEAN, dtype=float).ffill(limit=2)
    found = per_tick(run("ffill(~x, 3)", x=CLEAN))
    same(found, [None if math.isnan(v) else v for v in expected])
    ever = pd.Series(CLEAN, dtype=float).ffill()
    for text in ("ffill(~x)", "ffill(~x, ∞)", "asof(~x)", "asof(~x, age=∞)"):
        same(per_tick(run(text, x=CLEAN)), [None if math.isnan(v) else v for v in ever])
    fill = [-1.5 if v is None else v for v in X]
    same(per_tick(run("fill(~x, -1.5)", x=X)), fill)


def test_impute_mean() -> None:
    means = tumbling(X, 10, np.mean)
    expected = [m if v is None else v for v, m in zip(X, means, strict=True)]
    same(per_tick(run("impute_mean(~x, 10)", x=X)), expected)
    assert None not in expected


def test_interpolate_is_that_of_pandas() -> None:
    series = pd.Series(CLEAN, dtype=float)
    expected = series.interpolate(limit_area="inside")
    found = per_tick(run("interpolate(~x, 20)", x=CLEAN))
    same(found, [None if math.isnan(v) else v for v in expected])
    short = per_tick(run("interpolate(~x, 6)", x=CLEAN))
    # 8 samples are missing from tick 21 on: with less than 6 on both sides
    known = [tick for tick in TICKS if short[tick - 1] is not None]
    assert [tick for tick in range(21, 29) if tick in known] == [23, 24, 25]
    assert all(short[tick - 1] == found[tick - 1] for tick in known)


@pytest.mark.parametrize("rate", [3, 4, 7, 20])
def test_resample_linear_is_that_of_numpy(rate: int) -> None:
    period = 5
    values = np.random.default_rng(rate).normal(size=40)
    text = (
        f"input x : f32 sampled {period}\nt = TDom(-∞, ∞, {rate})\n"
        f"~o[t] = resample_linear(~x, {period})\noutput ~o"
    )
    samples = tilt.sampled(values.astype(np.float32), 0, period)
    table = tilt.parse(text).run(x=samples).to_arrow()
    ends = table["end"].to_numpy()
    grid = np.arange(rate, 200 + 1, rate)
    assert ends.tolist() == grid[grid > period].tolist()  # none before the first
    stamps = period * np.arange(1, len(values) + 1)
    expected = np.interp(ends, stamps, values.astype(np.float32).astype(float))
    assert table["o"].to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_age_and_silence() -> None:
    age: list[Value] = []
    silent: list[Value] = []
    begins: list[Value] = []
    for tick, value in zip(TICKS, X, strict=True):
        back = [k for k in range(5) if at(X, tick - k) is not None]
        age.append(float(back[0]) if back else None)
        silent.append(not back)
        before = [k for k in range(1, 6) if at(X, tick - k) is not None]
        begins.append(None if value is None else not before)
    same(per_tick(run("age(~x, 5)", x=X)), age)
    same(per_tick(run("silent(~x, 5)", x=X)), silent)
    same(per_tick(run("session_start(~x, 5)", x=X)), begins)
    assert begins.count(True) == 2


# -- heartbeats -----------------------------------------------------------------------

DATA = ROOT / "examples" / "data"


def ecg(rate: int = 1) -> BoundSamples:
    """Some four and a half minutes at 360 samples a second, `rate` ticks for each."""
    samples = pq.read_table(DATA / "ecg.parquet")["adu"]
    return tilt.sampled(samples, start=0, period=rate)


def beats(call: str, step: int = 1) -> list[tuple[int | None, ...]]:
    query = tilt.parse(f"input ecg : i16\n~o[t] = {call}\noutput ~o\n")
    rows = query.run(ecg=ecg(step)).to_arrow().to_pylist()
    assert all(row["end"] - row["start"] == step for row in rows)
    assert all(row["at"] in (None, row["end"]) for row in rows)
    return [(row["at"], row["missed"]) for row in rows]


def test_pan_tompkins_finds_the_beats_that_another_detector_finds() -> None:
    found = np.array(
        [tick - 1 for pair in beats("pan_tompkins(~ecg, 360)") for tick in pair if tick]
    )
    known = pq.read_table(DATA / "ecg_beats.parquet")["sample"].to_numpy()
    distances = abs(found[:, None] - known)
    assert len(found) == len(known) == 478
    assert (distances.min(axis=0) <= 36).mean() >= 0.98
    assert (distances.min(axis=1) <= 36).mean() >= 0.98


def test_pan_tompkins_at_other_ticks_and_in_python() -> None:
    expected = beats("pan_tompkins(~ecg, 360)")
    found = beats("pan_tompkins(~ecg, 360 * 1000, step = 1000)", 1000)
    assert found == [
        tuple(None if tick is None else 1000 * tick for tick in pair)
        for pair in expected
    ]
    timed = tilt.parse(
        "unit ms\ninput ecg : i16\n~o[t] = pan_tompkins(~ecg, 1080ms, 3ms)\noutput ~o\n"
    )
    table = timed.run(ecg=ecg(3)).to_arrow()
    assert table["missed"].to_pylist() == [m and 3 * m for _, m in expected]

    source, t = tilt.source("ecg", tilt.i16), tilt.TDom()
    o = tilt.define("o", t, tiltpy.library.pan_tompkins(source, 360))
    rows = tilt.compile(o).run(ecg=ecg()).to_arrow().to_pylist()
    assert [(row["at"], row["missed"]) for row in rows] == expected


# -- both doors -----------------------------------------------------------------------


def test_python_has_the_same_functions(update_golden: bool) -> None:
    path = Path(tiltpy.library.__file__)
    if update_golden:
        path.write_text(module())
    assert path.read_text() == module()


def test_every_function_says_what_it_is() -> None:
    assert set(docs()) == set(NAMES)
    assert len(NAMES) == len(set(NAMES))
    assert not [name for name in NAMES if is_built_in(name)]


def test_every_function_has_an_example_and_a_comparison() -> None:
    rows = PAGE[PAGE.index("## The library") :]
    comparisons = Path(__file__).parent.glob("test_library*.py")
    here = "".join(path.read_text() for path in comparisons)
    for name in NAMES:
        assert f"`{name}(~" in rows, name
        assert f"{name}(~" in here or f'"{name}"' in here, name
