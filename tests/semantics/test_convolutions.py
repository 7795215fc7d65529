"""Convolutions of samples against NumPy's, in texts and in Python."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.print.query import format_query
from tiltpy.types import F64

SETTINGS = (
    Setting(vector=True, small=True, chunk=64, optimize=False),
    Setting(chunk=7, workers=2, special_shapes=False, optimize=False),
)


def written(weights: list[float]) -> str:
    return f"[{', '.join(map(repr, weights))}]"


@pytest.mark.covering(1)
@pytest.mark.parametrize("ahead", [0, 20])
@pytest.mark.parametrize("count", [1, 3, 8, 33])
def test_weights_are_those_of_numpy(count: int, ahead: int) -> None:
    random = np.random.default_rng(count)
    weights, values = random.normal(size=count).round(3), random.normal(size=200)
    window = f"~x[t-{10 * count - ahead}ms : t+{ahead}ms]"
    text = f"convolve({window}, {written(weights.tolist())})"
    query = tilt.parse(f"unit ms\ninput x : f64 sampled 10ms\n~o[t] = {text}")
    table = query.run(x=tilt.sampled(values, 0, 10)).to_arrow()
    whole = np.convolve(values, weights, "valid")
    first = max(10 * count - ahead, 10)  # those before the first row are cut
    expected = whole[(first - 10 * count + ahead) // 10 :]
    assert table["end"].cast(pa.int64())[0].as_py() == first
    assert np.allclose(table["o"].to_numpy(), expected, rtol=1e-12, atol=1e-12)


def test_a_missing_sample_leaves_a_gap() -> None:
    squares = "p * p for {v: p} in ~x[t-3 : t]"
    text = f"~o[t] = convolve({squares}, [2, 1, -1])"
    query = parse(f"input x : {{ v: f64 }}\n{text}")
    assert parse(format_query(query)) == query
    random = np.random.default_rng(9)
    values = [None if random.random() < 0.2 else float(v) for v in range(60)]
    events = [Event(i, i + 1, {"v": v}) for i, v in enumerate(values)]
    case = Case(query, {"x": events}, 0, len(values))
    for setting in SETTINGS:
        difference = check(case, setting, exact=True)
        assert difference is None, difference
    (snapshots,) = run_compiled(case, SETTINGS[0]).values()
    found = {s.end: s.value for s in snapshots}
    for end in range(3, len(values) + 1):
        oldest, middle, newest = values[end - 3 : end]
        if oldest is None or middle is None or newest is None:
            assert end not in found
        else:
            assert found[end] == 2 * newest**2 + middle**2 - oldest**2


def test_python_says_what_texts_say() -> None:
    x, t = source("x", F64), TDom()
    ours = build_query(define("o", t, tilt.convolve(x[t - 3 : t], [0.5, 0.25, -1])))
    text = "input x : f64\n~o[t] = convolve(~x[t-3 : t], [0.5, 0.25, -1])"
    assert ours.definitions == parse(text).definitions
