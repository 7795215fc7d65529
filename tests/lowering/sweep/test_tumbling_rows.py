"""Windows that do not overlap, folded over the rows where they lie.

Against the interpreter, and over more rows against NumPy: rows are many more than fit
one vector, cross the edges of windows, are null, or far from the next one.
"""

from collections.abc import Callable
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import NO_STRATEGIES
from tests.plain import check_engines
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Shape
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.plan.nodes import SweepScan

Rows = list[tuple[int, int, float]]
WINDOW = "w = TDom(-∞, ∞, 100)\n"
QUERIES = {
    "sum": "~o[w] = sum(~x[w-100 : w])",
    "some": "~o[w] = sum(v for v in ~x[w-100 : w] if v > 0)",
    "how many": "~o[w] = count(v for v in ~x[w-100 : w] if v > 3)",
    "all of them": "~o[w] = count(~x[w-100 : w])",
    "ends": "~o[w] = first(~x[w-100 : w]) - last(~x[w-100 : w])",
    "ends of some": "~o[w] = last(v for v in ~x[w-100 : w] if v < 0)",
    "extremes": "~o[w] = max(abs(v) for v in ~x[w-100 : w]) - min(~x[w-100 : w])",
    "product": "~o[w] = product(v > 0 ? 1.0 : -1.0 for v in ~x[w-100 : w])",
    "apart": "~o[w] = sum(~x[w-60 : w-20])",
    "ahead": "~o[w] = sum(~x[w : w+100])",
    "with a point": "~o[w] = ~x[w] - sum(~x[w-100 : w])",
    "own element": "~o[w] = sum(2 * v for v in ~x[w-100 : w] if v != 1)",
    "two windows": "~o[w] = max(~x[w-100 : w]) - min(~x[w-40 : w+60])",
    "one or the other": """\
~o[w] = {
    last = last(~x[w-100 : w])
    return last != φ ? last : sum(~x[w-300 : w-200])
}""",
    "some or zero": "~o[w] = count(~x[w-100 : w]) > 0 ? sum(~x[w-100 : w]) : 0",
    "distinct": "distinct ~o[w] = max(~x[w-100 : w])",
    "read by another": "~s[w] = sum(~x[w-100 : w])\n~o[t] = ~x[t] - ~s[t]",
}


def contiguous(random: Random, count: int) -> Rows:
    rows, time = [], random.randint(-50, 50)
    for _ in range(count):
        end = time + random.choice((1, 1, 2, 3, 9))
        rows.append((time, end, random.randint(-40, 40) / 8))
        time = end
    return rows


def gaps(random: Random, count: int) -> Rows:
    rows, time = [], -120
    for _ in range(count):
        time += random.choice((0, 0, 0, 1, 5, 90 * (random.random() < 0.1)))
        end = time + random.choice((1, 2, 4, 250 if random.random() < 0.03 else 1))
        rows.append((time, end, random.randint(-40, 40) / 8))
        time = end
    return rows


def points(random: Random, count: int) -> Rows:
    return [(e - 1, e, v) for _, e, v in contiguous(random, count)]


def sparse(random: Random, count: int) -> Rows:
    """Points in every cell, then cells without any, a row of one cell or of two."""
    rows, time = [], random.randint(-300, 300)
    for _ in range(count):
        time += random.choice((0, 1, 30, 99, 100, 101, 730, 4000))
        end = time + random.choice((1, 1, 1, 1, 100, 101))
        rows.append((time, end, random.randint(-40, 40) / 8))
        time = end
    return rows


def sparse_points(random: Random, count: int) -> Rows:
    return [(e - 1, e, v) for _, e, v in sparse(random, count)]


STREAMS = {"contiguous": contiguous, "gaps": gaps, "points": points}


@pytest.mark.covering(1)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_windows_of_many_rows(query: str, stream: str) -> None:
    random = Random(f"{query} {stream}")  # noqa: S311
    text = f"input x : f64\n{WINDOW}{QUERIES[query]}\noutput ~o"
    for count in (1, 40, 160):
        check_engines(text, {"x": STREAMS[stream](random, count)})


@pytest.mark.covering(1)
@pytest.mark.parametrize("stream", [sparse, sparse_points])
@pytest.mark.parametrize("query", QUERIES)
def test_windows_of_rows_far_apart(
    query: str, stream: Callable[[Random, int], Rows]
) -> None:
    random = Random(f"{query} {stream.__name__}")  # noqa: S311
    text = f"input x : f64\n{WINDOW}{QUERIES[query]}\noutput ~o"
    for count in (2, 60):
        check_engines(text, {"x": stream(random, count)})


@pytest.mark.parametrize(
    ("body", "skips"),
    [
        ("sum(~x[w-100 : w])", True),
        ("max(~x[w-100 : w]) - first(~x[w-100 : w])", True),
        ("~x[w] - sum(~x[w-100 : w])", True),
        ("count(~x[w-100 : w])", False),  # 0 is a value
        ("count(~x[w-100 : w]) > 0 ? sum(~x[w-100 : w]) : 0", False),
        ("sum(~x[w-100 : w]) - sum(~x[w-200 : w])", False),  # they overlap
    ],
)
def test_cells_without_rows_have_no_visit(body: str, *, skips: bool) -> None:
    text = f"input x : f64\n{WINDOW}~o[w] = {body}"
    layouts = {"x": Layout(TimeLayout.INTERVALS, (False,))}
    (choice,) = QueryKernels(parse(text), layouts, CompileOptions()).choices
    assert isinstance(choice.plan, SweepScan)
    window = choice.plan.operands.skipped_window
    assert window == (choice.windows[0].window if skips else None)


def test_long_rows_and_far_ones_are_one_visit_each() -> None:
    """Windows that hold one row, the same, or none, are one snapshot."""
    rows = [(0, 1000, 1.0), (1040, 1050, 2.0), (10**15, 10**15 + 1, 4.0)]
    for body in ("sum(~x[w-100 : w])", "count(v for v in ~x[w-100 : w] if v > 1)"):
        text = f"input x : f64\n{WINDOW}~o[w] = {body}\noutput ~o"
        frame = pa.table({"start": [r[0] for r in rows], "end": [r[1] for r in rows]})
        table = frame.append_column("x", pa.array([r[2] for r in rows]))
        query = tilt.parse(text.replace("f64", "f64 interval (start, end)"))
        found = query.run(x=table).to_arrow()
        ends = found["end"].to_pylist()
        values = found["o"].to_pylist()
        last = 10**15 + 100
        if body.startswith("sum"):
            assert ends == [1000, 1100, last]
            assert values == [1.0, 2.0, 4.0]
        else:
            assert ends == [1000, 1100, last - 100, last]
            assert values == [0, 1, 0, 1]


NUMPY: dict[str, Callable[[np.ndarray], float]] = {
    "sum": lambda x: float(x.sum()),
    "mean": lambda x: float(x.mean()),
    "std": lambda x: float(x.std()),
    "rms": lambda x: float(np.sqrt((x * x).mean())),
    "max": lambda x: float(x.max()),
    "kurtosis": lambda x: float(((x - x.mean()) ** 4).mean() / x.var() ** 2 - 3),
}


@pytest.mark.parametrize("payload", ["f32", "f64"])
def test_many_rows_as_numpy_has_them(payload: str) -> None:
    random = np.random.default_rng(5)
    ends = np.cumsum(random.integers(1, 11, 50_000))
    x = random.normal(1000, 3, len(ends)).astype(payload.replace("f", "float"))
    columns = ", ".join(f"{name} = {name}(~x[w-1000 : w])" for name in NUMPY)
    text = f"""
        input x : {payload} interval (start, end)
        w = TDom(-∞, ∞, 1000)
        ~o[w] = {{ return {{ {columns} }} }}
        output ~o"""
    starts = np.concatenate([[0], ends[:-1]])
    table = pa.table({"start": starts, "end": ends, "x": x})
    found = tilt.parse(text).run(x=table).to_arrow()
    edges = range(0, int(ends[-1]), 1000)
    assert len(found) == len(edges)
    wide = x.astype(np.float64)
    rows = [wide[(starts < low + 1000) & (ends > low)] for low in edges]
    close = 1e-6 if payload == "f32" else 1e-9
    for name, of in NUMPY.items():
        meant = [of(one) for one in rows]
        np.testing.assert_allclose(found[name].to_numpy(), meant, close, atol=1e-4)


def test_nan_and_equal_values() -> None:
    """A NaN stays in its window; equal values have no deviation at all."""
    ends = np.arange(1, 901) * 2 + np.arange(900) % 2
    x = np.full(900, 0.1)
    x[10] = np.nan
    table = pa.table({"start": np.concatenate([[0], ends[:-1]]), "end": ends, "x": x})
    text = f"""input x : f64 interval (start, end)
        {WINDOW}~o[w] = {{ return {{ s = std(~x[w-100:w]), m = max(~x[w-100:w]) }} }}"""
    found = tilt.parse(text).run(x=table).to_arrow()
    s, m = found["s"].to_numpy(), found["m"].to_numpy()
    assert np.isnan(s[0])
    assert np.isnan(m[0])
    assert (s[1:] == 0).all()
    assert (m[1:] == 0.1).all()


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("sum(~x[w-100 : w])", Shape.ROW_PANES),
        ("sum(~x[w-101 : w])", Shape.SWEEP),  # overlap
        ("sum(~x[w-20 : w])", Shape.SWEEP),  # short
        ("median(~x[w-100 : w])", Shape.ROW_PANES),
        ("topk(~x[w-1600 : w], 3)", Shape.ROW_PANES),  # each anew
        ("median(~x[w-1601 : w])", Shape.SWEEP),
    ],
)
def test_which_windows_are_folded(body: str, shape: Shape) -> None:
    text = f"input x : f64\n{WINDOW}~o[w] = {body}"
    layouts = {"x": Layout(TimeLayout.CONTIGUOUS, (False,))}
    found = QueryKernels(parse(text), layouts, CompileOptions())
    (loop,) = found.sweep_code.signature.loops
    assert loop.shape is shape
    plain = QueryKernels(
        parse(text),
        layouts,
        CompileOptions(disabled_strategies=NO_STRATEGIES),
    )
    (loop,) = plain.sweep_code.signature.loops
    assert loop.shape is Shape.SWEEP
