"""Order statistics such as `mode` and `topk`: their meaning and their kernels.

The random queries of `test_properties.py` have them among all else; here are the edges
by hand, and windows too long for the interpreter against other libraries.
"""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.run_everywhere import run_everywhere
from tests.semantics.test_worked_examples import Rows, assert_numbers, check, reduced
from tiltpy.errors import DataError, QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.interpreter import order_statistics as orders
from tiltpy.interpreter.evaluate import Event, Value
from tiltpy.interpreter.scalars import Number
from tiltpy.ir.print.query import format_query
from tiltpy.lowering.vector.sorting_network import select_exchanges
from tiltpy.runtime.execution import visit_bounds

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("scalar", "reduction", "rows", "expected"),
    [
        ("f64", "median", [3.0, 1.0, 2.0], 2.0),
        ("f64", "median", [3.0, 1.0], 2.0),
        ("f64", "median", [0.1, 0.7], (0.1 + 0.7) / 2),
        ("f64", "median", [NAN, 1.0, 2.0], NAN),
        ("f64", "median", [-INF, 5.0], -INF),
        ("f64", "median", [-INF, INF], NAN),
        ("f64", "median", [INF, INF], INF),
        ("f64", "median", [-0.0, -0.0], 0.0),
        ("f64", "median", [-1.7e308, -1.7e308, 1.7e308, 1.7e308], 0.0),
        ("f32", "median", [0.5, 0.25], 0.375),
        ("i64", "median", [1, 2], 1.5),
        ("i64", "median", [2**62 + 1, 2**62 + 3, -1], 2.0**62),
        ("u64", "median", [2**64 - 1, 1, 0], 1.0),
        ("i8", "median", [-128, 127], -0.5),
        ("bool", "median", [True, True, False], 1.0),
        ("bool", "median", [True, False], 0.5),
        ("i64", "mode", [1, 2, 2, 1, 5], 1),
        ("i64", "mode", [5, 2, 2, 1, 1], 2),
        ("i64", "mode", [2**63 - 1, -(2**63), 2**63 - 1], 2**63 - 1),
        ("u64", "mode", [2**64 - 1, 0, 2**64 - 1], 2**64 - 1),
        ("f64", "mode", [NAN, 1.0, NAN], NAN),
        ("f64", "mode", [1.0, -0.0, 0.0], -0.0),
        ("f64", "mode", [1.0, 0.0, -0.0], 0.0),
        ("bool", "mode", [False, True, True], True),
        ("f64", "nunique", [0.0, -0.0, NAN, -NAN, 1.0], 3),
        ("i64", "nunique", [2**53, 2**53 + 1], 2),
        ("f32", "nunique", [0.5, 0.5, -0.5], 2),
        ("bool", "nunique", [True, True], 1),
    ],
)
def test_reductions_of_whole_windows(
    scalar: str, reduction: str, rows: list[Value], expected: Number
) -> None:
    found = reduced(scalar, f"{reduction}(~x[t-50:t])", rows)
    assert_numbers([found], [expected])


@pytest.mark.parametrize(
    ("share", "expected"),
    [("0", 1.0), ("0.25", 1.5), ("q=0.5", 2.0), ("0.9", 4.6), ("1.0", 6.0)],
)
def test_quantiles_lie_between_two_values(share: str, expected: float) -> None:
    found = reduced("f64", f"quantile(~x[t-50:t], {share})", [6.0, 1.0, 2.0])
    expected = 2.0 + 4.0 * (0.9 * 2 - 1) if share == "0.9" else expected
    assert_numbers([found], [expected])


@pytest.mark.parametrize(
    ("scalar", "count", "rows", "expected"),
    [
        ("f64", 3, [1.0, NAN, -0.0, 7.0], [7.0, 1.0, 0.0]),
        ("f64", 4, [NAN, -INF], [-INF, NAN, None, None]),
        ("i64", 2, [-3, 2**62 + 1, 2**62], [2**62 + 1, 2**62]),
        ("u64", 1, [3, 2**64 - 1], [2**64 - 1]),
        ("i8", 2, [-128, -128], [-128, -128]),
        ("bool", 3, [False, True], [True, False, None]),
        ("f32", 1, [0.25, 0.5], [0.5]),
    ],
)
def test_the_greatest_values(
    scalar: str, count: int, rows: list[Value], expected: list[Number | None]
) -> None:
    found = reduced(scalar, f"topk(~x[t-50:t], {count})", rows)
    assert isinstance(found, dict)
    assert list(found) == [f"top{i + 1}" for i in range(count)]
    assert_numbers(list(found.values()), expected)


@pytest.mark.parametrize(
    ("scalar", "count", "rows", "expected"),
    [
        ("i64", 2, [1, 2, 2, 1, 5], [1, 2, 2, 2]),
        ("i64", 3, [5, 2, 2, 1, 1], [2, 2, 1, 2, 5, 1]),
        ("i64", 2, [7, 7], [7, 2, None, None]),
        ("u64", 1, [3, 2**64 - 1, 2**64 - 1], [2**64 - 1, 2]),
        ("f64", 3, [1.0, NAN, -0.0, 0.0, NAN], [NAN, 2, -0.0, 2, 1.0, 1]),
        ("f32", 1, [0.5, 0.25, 0.25], [0.25, 2]),
        ("bool", 2, [False, True, True], [True, 2, False, 1]),
    ],
)
@pytest.mark.parametrize("if_", ["", " if v == ~x[t] || v != ~x[t] || ~x[t] > 0"])
def test_the_most_frequent_values(
    scalar: str, count: int, rows: list[Value], expected: list[Number | None], if_: str
) -> None:
    """Both where elements see the present, and where they do not."""
    if_ = "" if scalar == "bool" else if_
    found = reduced(scalar, f"modes(v for v in ~x[t-50:t]{if_}, {count})", rows)
    assert isinstance(found, dict)
    names = [f"{kind}{i + 1}" for i in range(count) for kind in ("mode", "count")]
    assert list(found) == names
    assert_numbers(list(found.values()), expected)


STAYS: Rows = [(0, 1, 5), (1, 2, 1), (2, 3, 5), (4, 5, 1), (9, 10, 7)]


def test_rows_come_and_go() -> None:
    check(
        """input x : i64
        ~median[t] = median(~x[t-3:t])
        ~mode[t] = mode(~x[t-4:t])
        ~different[t] = nunique(~x[t-3:t])
        ~top[t] = topk(~x[t-3:t], 2)
        ~frequent[t] = modes(~x[t-4:t], 2).count2""",
        {
            "median": [
                (0, 1, 5.0), (1, 2, 3.0), (2, 3, 5.0), (3, 4, 3.0), (4, 5, 3.0),
                (5, 7, 1.0), (9, 12, 7.0),
            ],
            "mode": [
                (0, 1, 5), (1, 2, 5), (2, 4, 5), (4, 5, 1), (5, 6, 5), (6, 8, 1),
                (9, 13, 7),
            ],
            "different": [
                (0, 1, 1), (1, 2, 2), (2, 3, 2), (3, 4, 2), (4, 5, 2), (5, 7, 1),
                (9, 12, 1),
            ],
            "top": [
                (0, 1, {"top1": 5, "top2": None}), (1, 2, {"top1": 5, "top2": 1}),
                (2, 3, {"top1": 5, "top2": 5}), (3, 4, {"top1": 5, "top2": 1}),
                (4, 5, {"top1": 5, "top2": 1}), (5, 7, {"top1": 1, "top2": None}),
                (9, 12, {"top1": 7, "top2": None}),
            ],
            "frequent": [(1, 2, 1), (2, 4, 1), (4, 5, 1), (5, 6, 1)],
        },
        x=STAYS,
        end=13,
    )  # fmt: skip


def test_a_nan_leaves_no_trace() -> None:
    rows: Rows = [(0, 1, 1.0), (1, 2, NAN), (2, 3, 3.0), (3, 4, 5.0)]
    check(
        "input x : f64\n~o[t] = median(~x[t-2:t])",
        {"o": [(0, 1, 1.0), (1, 2, NAN), (2, 3, NAN), (3, 4, 4.0)]},
        x=rows,
    )


def test_elements_with_conditions() -> None:
    rows: Rows = [(0, 1, 4), (1, 2, -9), (2, 3, 2)]
    check(
        "input x : i64\n~o[t] = quantile(v * 2 for v in ~x[t-3:t] if v > 0, 0.5)",
        {"o": [(0, 2, 8.0), (2, 3, 6.0)]},
        x=rows,
        end=3,
    )


def test_events_that_leave_in_another_order() -> None:
    """The first event outlasts all others: of equal counts its value is earliest."""
    rows: Rows = [(0, 9, 3), (1, 2, 8), (2, 4, 8), (3, 5, 1)]
    check(
        "input x : i64\n~o[t] = mode(~x[t-1:t])\n~p[t] = median(~x[t-1:t])",
        {
            "o": [(0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 4, 3), (4, 5, 3), (5, 9, 3)],
            "p": [
                (0, 1, 3.0), (1, 2, 5.5), (2, 3, 5.5), (3, 4, 3.0), (4, 5, 2.0),
                (5, 9, 3.0),
            ],
        },
        x=rows,
    )  # fmt: skip


def test_a_parameter_gives_the_share() -> None:
    text = """param share : f64 = 0.5
    param most : i64 = 2
    input x : f64
    ~o[t] = quantile(~x[t-50:t], share) + topk(~x[t-50:t], most).top2"""
    query = parse(text)
    events = [Event(i, i + 1, float(i)) for i in range(4)]
    last = run_everywhere(query, {"x": events}, end=4)["o"][-1]
    assert last.value == 1.5 + 2.0
    assert "quantile(~x[t-50 : t], 0.5)" in format_query(query)
    assert parse(format_query(query)) == query
    with pytest.raises(QueryErrors, match="in \\[0, 1\\]"):
        tilt.parse(text, params={"share": 2.0})


# Longer windows


def noise(count: int, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(100, 20, count).cumsum()


@pytest.mark.covering(1)
@pytest.mark.parametrize("window", [3, 100, 5000])
@pytest.mark.parametrize("workers", [1, 2])
def test_medians_and_quantiles_agree_with_pandas(window: int, workers: int) -> None:
    values = noise(20_000).astype(np.float32) % 97
    result = tilt.parse(
        f"""input x : f32 sampled 1
        ~median[t] = median(~x[t-{window}:t])
        ~high[t] = quantile(~x[t-{window}:t], 0.9)
        ~most[t] = topk(~x[t-{window}:t], 3).top3"""
    ).run(x=tilt.sampled(values, 0, 1), workers=workers, chunk=6_000)
    series = pd.Series(values.astype(np.float64))
    rolling = series.rolling(window, min_periods=1)
    median = result["median"].to_arrow()["median"].to_numpy()
    high = result["high"].to_arrow()["high"].to_numpy()
    np.testing.assert_array_equal(median, rolling.median())
    np.testing.assert_allclose(high, rolling.quantile(0.9), rtol=1e-14)
    third = series.rolling(window).apply(lambda w: np.sort(w)[-3], raw=True)
    if window == 100:
        most = result["most"].to_arrow()["most"].to_numpy()
        np.testing.assert_array_equal(most[-15_000:], third[-15_000:])


def test_tumbling_windows_agree_with_polars() -> None:
    random = np.random.default_rng(5)
    stamps = np.sort(random.integers(0, 400_000, 50_000))
    values = random.integers(-(2**60), 2**60, 50_000) // 2**56
    frame = pl.DataFrame({"ts": stamps, "x": values})
    result = tilt.parse(
        """input x : i64 time ts point
        t = TDom(-∞, ∞, 1000)
        ~o[t] = {
            mode = mode(~x[t-1000:t])
            return {
                n = nunique(~x[t-1000:t]), q = quantile(~x[t-1000:t], 0.75),
                least = quantile(~x[t-1000:t], 0), m = mode == φ ? 0 : mode
            }
        }"""
    ).run(x=frame)
    meant = frame.group_by((pl.col("ts") + 999) // 1000).agg(
        n=pl.col("x").n_unique().cast(pl.Int64),
        q=pl.col("x").quantile(0.75, "linear"),
        least=pl.col("x").min().cast(pl.Float64),
        m=pl.col("x").mode(),
    )
    found = result.to_polars()
    meant = meant.sort("ts")
    assert found["n"].drop_nulls().to_list() == meant["n"].to_list()
    assert found["q"].drop_nulls().to_list() == meant["q"].to_list()
    assert found["least"].drop_nulls().to_list() == meant["least"].to_list()
    for one, several in zip(found["m"], meant["m"], strict=True):
        assert one in several


@pytest.mark.covering(1)
@pytest.mark.parametrize("reduction", ["median", "mode", "nunique"])
@pytest.mark.parametrize("kind", ["i8", "u16", "i64", "u64", "f32", "f64"])
def test_sorting_takes_any_values(reduction: str, kind: str) -> None:
    """Whole bytes at random, so that each pass of the sort has work."""
    names = {"i": "int", "u": "uint", "f": "float"}
    dtype = np.dtype(names[kind[0]] + kind[1:])
    raw = np.random.default_rng(1).bytes(3000 * dtype.itemsize)
    values = np.frombuffer(raw, dtype)
    values = np.where(np.isfinite(values), values, dtype.type(0))
    values[1500:] = np.random.default_rng(2).choice(values[:1500], 1500)
    text = f"input x : {kind} sampled 1\n~o[t] = {reduction}(~x[t-700:t])"
    found = tilt.parse(text).run(x=tilt.sampled(values, 0, 1), chunk=1000)
    got = found.to_arrow()["o"].to_pylist()
    for at in (0, 1, 699, 700, 1999, 2000, 2999):
        window = values[max(0, at - 699) : at + 1].tolist()
        assert got[at] == by_hand(reduction, window)


def test_the_most_frequent_of_long_windows() -> None:
    """Beside Python's `Counter`, of which equal counts are in order of their first."""
    values = np.random.default_rng(4).zipf(1.3, 6000) % 1000
    text = "input x : i64 sampled 1\n~o[t] = modes(~x[t-2000:t], 5)"
    rows = tilt.parse(text).run(x=tilt.sampled(values, 0, 1), chunk=2500).to_arrow()
    for at in (0, 3, 40, 1999, 2000, 2499, 2500, 5999):
        most = Counter(values[max(0, at - 1999) : at + 1].tolist()).most_common(5)
        flat = [number for pair in most for number in pair]
        found = list(rows.slice(at, 1).to_pylist()[0].values())[2:]
        assert found == flat + [None] * (10 - len(flat)), at


def by_hand(reduction: str, values: Sequence[float]) -> float:
    if reduction == "nunique":
        return len(set(values))
    if reduction == "median":
        ordered = sorted(values)
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
        return float(low) * 0.5 + float(high) * 0.5
    most = max(values.count(value) for value in set(values))
    return next(value for value in values if values.count(value) == most)


def test_explain_names_the_structures() -> None:
    query = tilt.parse(
        """input x : f64 sampled 1
        ~o[t] = median(~x[t-9:t]) + quantile(~x[t-9:t], 0.9) + f64(nunique(~x[t-9:t]))
        ~p[t] = mode(~x[t-9:t])"""
    )
    text = query.explain()
    assert "of ~x: cursors over its values for median, quantile; " in text
    assert "a count for each rank for nunique" in text
    long = "input x : f64\n~o[t] = median(~x[t-9999:t]) + topk(~x[t-9999:t], 2).top2"
    text = tilt.parse(long).explain()
    assert "counts by rank with cursors for median; a tree of counts by rank" in text
    assert "not value_cursors: windows of ~x may have more than 4096 rows" in text
    assert "of ~x: a tournament of ranks for mode" in query.explain()
    with_data = query.explain(inputs={"x": tilt.sampled(np.zeros(9), 0, 1)})
    assert "not vector_kernel: mode of ~x looks at a window as a whole" in with_data


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["f32", "f64", "i16", "u64", "bool"])
@pytest.mark.parametrize("window", [1, 2, 5, 17, 48])
def test_short_windows_of_samples_are_sorted_in_lanes(kind: str, window: int) -> None:
    random = np.random.default_rng(window)
    values = random.integers(0, 2 if kind == "bool" else 500, 5000).astype(
        {"bool": "bool", "i16": "int16", "u64": "uint64"}.get(kind, f"float{kind[1:]}")
    )
    if kind[0] == "f":
        values[700:720] = [NAN, INF, -INF, -0.0] * 5
    query = tilt.parse(
        f"""input x : {kind} sampled 1
        ~o[t] = {{
            a = median(~x[t-{window}:t]), b = quantile(~x[t-{window}:t], 0.1)
        }}"""
    )
    samples = tilt.sampled(values, 0, 1)
    assert "~o: stencil" in query.explain(inputs={"x": samples})
    table = query.run(x=samples).to_arrow()
    each = [values[max(0, i + 1 - window) : i + 1].tolist() for i in range(5000)]
    for name, share in (("a", 0.5), ("b", 0.1)):
        meant = [orders.quantile(one, share) for one in each]
        assert_numbers(table[name].to_pylist(), meant)


@pytest.mark.parametrize("count", range(1, 11))
def test_networks_sort(count: int) -> None:
    """All zeros and ones: what sorts these sorts everything (the 0-1 principle)."""
    for given in product((0, 1), repeat=count):
        for wanted in ((0, 0), (count - 1, count - 1), ((count - 1) // 2, count // 2)):
            values = list(given)
            for low, high, needs_low, needs_high in select_exchanges(count, wanted):
                one, other = values[low], values[high]
                values[low] = min(one, other) if needs_low else 99
                values[high] = max(one, other) if needs_high else 99
            assert [values[at] for at in wanted] == [sorted(given)[at] for at in wanted]


def test_windows_over_one_element_share_the_ranks() -> None:
    text = """input x : f64
    ~o[t] = median(~x[t-9999:t]) + quantile(~x[t-7777:t], 0.9)
    ~p[t] = mode(~x[t-9:t])"""
    assert tilt.parse(text).explain().count("out x.rank.") == 1
    assert (
        "x.rank." not in tilt.parse("input x : f64\n~o[t] = max(~x[t-9:t])").explain()
    )


def test_more_rows_than_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_bounds, "MOST_RANKED", 90)
    query = tilt.parse("input x : f64 sampled 1\n~o[t] = median(~x[t-9:t])")
    values = tilt.sampled(np.zeros(1000), 0, 1)
    with pytest.raises(DataError, match=r"~x could have 1,000 rows .* shorter chunk"):
        query.run(x=values)
    assert query.run(x=values, chunk=50).to_arrow().num_rows > 0


def test_streams_find_the_same() -> None:
    """Batches of any length, each with ranks of its own."""
    values = noise(30_000) % 89
    query = tilt.parse(
        """input x : f64 sampled 1
        ~o[t] = { middle = median(~x[t-700:t]), most = mode(floor(~x[t-50:t])) }"""
    )
    whole = query.run(x=tilt.sampled(values, 0, 1)).to_arrow()
    cuts = [0, 1, 800, 801, 12_000, 30_000]
    pieces = (values[a:b] for a, b in pairwise(cuts))
    parts = query.stream(x=tilt.sampled(pieces, 0, 1), memory="1MB")
    found = pa.concat_tables(part.to_arrow() for part in parts)
    assert found.combine_chunks().equals(whole.combine_chunks())
