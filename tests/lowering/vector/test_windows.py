"""Vector kernels at their edges: every length of window, numbers that are none, seams.

Each case runs over all engines there are, and must have gone through a vector kernel.
"""

import math
import platform
from collections.abc import Sequence
from random import Random
from unittest.mock import patch

import numpy as np
import pytest

import tiltpy as tilt
from tests.compare import ROUGH_REDUCTIONS
from tests.compiled import Setting
from tests.costs import costing
from tests.plain import check_engines
from tests.plan.shapes import Census
from tiltpy.codegen import jit
from tiltpy.codegen.machine_code import Target, host
from tiltpy.compiler.options import CompileOptions
from tiltpy.interpreter.evaluate import Snapshot
from tiltpy.interpreter.scalars import Number

GRID = Setting(vector=True, nulls="samples", optimize=False)
SMALL = Setting(vector=True, nulls="samples", optimize=False, small=True)
Rows = list[tuple[int, int, Number]]

SIZES = (1, 2, 16, 17, 31, 33, 64, 65, 127, 128, 130, 255, 257)
FEWER = (1, 3, 33, 128, 145)
LONG = 1000
EXACT = ("sum", "mean", "min", "max", "count")
ROUGH = sorted(ROUGH_REDUCTIONS)
BOOLS = ("sum", "mean", "min", "max", "count", "any", "all")
INTRUDERS = (math.nan, math.inf, -math.inf)


def grid_run(text: str, rows: dict[str, Rows], **named: object) -> list[Snapshot]:
    """Run on all engines, vector kernels among them; return what they agree on."""
    census = Census()
    found: list[Snapshot] = []

    def run() -> None:
        meant = check_engines(text, rows, **named)  # type: ignore[arg-type]
        found.extend(meant["o"])

    census.run(run)
    shapes = census.counts.keys() & {"shape: map", "shape: stencil", "shape: panes"}
    assert shapes, "no vector kernel ran"
    return found


def samples(values: Sequence[Number | None], start: int = 0) -> Rows:
    """A tick each; where there is none the sample is lost."""
    given = enumerate(values, start)
    return [(i, i + 1, value) for i, value in given if value is not None]


def drawn(
    scalar: str, count: int, first: int, size: int, *, nulls: bool
) -> list[Number | None]:
    """Values with NaN and infinities that leave windows from `first` on, or come."""
    random = Random(f"{scalar} {size} {nulls}")  # noqa: S311
    values: list[Number | None] = []
    for _ in range(count):
        eighths = random.randint(-16, 16)
        value: Number = random.choice((-0.0, 0.0, eighths / 8))
        if scalar == "bool":
            value = random.random() < 0.9
        elif scalar == "i32":
            value = random.choice((eighths, 2**31 - 1, -(2**31)))
        values.append(None if nulls and random.random() < 0.3 else value)
    if scalar in ("f32", "f64"):
        for k, intruder in enumerate(INTRUDERS):
            values[first - size + 5 + k] = intruder  # has left soon
            values[first + 18 + 4 * k] = intruder
    return values


BEFORE = 200
LOOKED_AT = 32
"""Cells before those that are looked at, besides windows, and their number."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("scalar", ["f32", "f64", "i32", "bool"])
@pytest.mark.parametrize("part", range(3))
def test_windows_of_every_length(scalar: str, part: int, *, nulls: bool) -> None:
    sizes = SIZES if scalar == "f64" else FEWER
    for size in sizes[part::3]:
        check_window(scalar, size, nulls=nulls)


@pytest.mark.few(1)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_a_very_long_window(scalar: str) -> None:
    check_window(scalar, LONG, nulls=True)


def check_window(scalar: str, size: int, *, nulls: bool) -> None:
    window = f"~x[t-{size}:t]"
    names = BOOLS if scalar == "bool" else EXACT
    fields = [f"{name} = {name}({window})" for name in names]
    if scalar != "bool":
        fields.append(f"product = product(sign(v) for v in {window})")
    rough = [f"{name} = {name}({window})" for name in ROUGH]
    text = f"input x : {scalar}\n~o[t] = {{ {', '.join(fields)} }}\noutput ~o"
    if scalar != "bool":
        text += f"\n~r[t] = {{ {', '.join(rough)} }}\noutput ~r"
    start, end = BEFORE + 2 * size, BEFORE + 2 * size + LOOKED_AT
    values = drawn(scalar, start + 250, start, size, nulls=nulls)
    rows = {"x": samples(values)}
    settings = (GRID, SMALL) if size > 32 else (GRID,)
    found = grid_run(text, rows, settings=settings, start=start, end=end)
    if scalar in ("f32", "f64") and size > 1:
        sums = [s.value["sum"] for s in found]  # type: ignore[index]
        finite = [isinstance(x, float) and math.isfinite(x) for x in sums]
        assert any(finite), "no window without a NaN"
        assert not all(finite), "no window with one"


@pytest.mark.covering(1)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("size", [2, 17, 64, 128, 145, 1000])
def test_equal_values_have_no_variance_at_all(scalar: str, size: int) -> None:
    texts = (
        f"~o[t] = {{ a = var(~x[t-{size}:t]), b = std(~x[t-{size}:t]) }}",
        f"u = TDom(-∞, ∞, {size})\n"
        f"~o[u] = {{ a = var(~x[u-{size}:u]), b = std(~x[u-{2 * size}:u]) }}",
    )
    values = np.full(20_000, 0.1, scalar.replace("f", "float"))
    for text in texts:
        query = tilt.parse(f"input x : {scalar}\n{text}")
        table = query.run(x=tilt.sampled(values, start=0, period=1)).to_arrow()
        assert len(table) > 5
        assert set(table["a"].to_pylist()) == {0.0}
        assert set(table["b"].to_pylist()) == {0.0}


HELD: Rows = [
    (0, 40, 1.0),
    (40, 43, -2.0),
    (45, 110, 3.0),
    (110, 111, -1.0),
    (111, 230, 2.0),
]
HELD += [(230 + i, 231 + i, float(i % 3)) for i in range(30)]
CHUNKS = tuple(
    Setting(chunk, vector=True, optimize=False, small=small)
    for chunk, small in ((1, False), (15, True), (16, True), (17, False), (None, True))
)
SEAMS = {
    "held": "~o[t] = ~x[t] > 0 ? ~x[t] * 2 : φ",
    "filled": "~w[t] = ~x[t] > 0 ? ~x[t] : φ\n~o[t] = ~w[t] != φ ? ~w[t] : 0.0",
    "moved": "~o[t] = ~x[t-3] + ~x[t]",
    "ahead": "~o[t] = ~x[t+5] - ~x[t-40]",
    "window": "~o[t] = sum(~x[t-20:t])",
    "filtered": "~o[t] = count(v for v in ~x[t-50:t] if v > 0)",
    "window ahead": "~o[t] = max(~x[t-3:t+17])",
    "cascade": "~d[t] = ~x[t] - ~x[t-1]\n~s[t] = sum(~d[t-9:t+4])\n"
    "~o[t] = min(~s[t-2:t+20])",
    "long": "~o[t] = sum(~x[t-150:t])",
    "delayed": "~o[t] = sum(~x[t-210:t-190])",
    "hops": "u = TDom(-∞, ∞, 40)\n~o[u] = count(~x[u-40:u])",
    "two loops": "u = TDom(-∞, ∞, 8)\n~a[u] = sum(~x[u-8:u])\n~o[t] = ~a[t] + ~x[t]",
}

OTHER_KERNELS = ("held", "filled", "moved", "ahead", "long", "hops", "two loops")
"""Those of them that rows which are no samples are better served by."""


@pytest.mark.parametrize("name", SEAMS)
def test_snapshots_over_the_seams_of_chunks_and_tiles(name: str) -> None:
    text = f"input x : f64\n{SEAMS[name]}\noutput ~o"
    run = check_engines if name in OTHER_KERNELS else grid_run
    run(text, {"x": HELD}, settings=CHUNKS)
    for start, end in ((1, 2), (43, 200)):
        check_engines(text, {"x": HELD}, settings=CHUNKS, start=start, end=end)


@pytest.mark.parametrize("name", SEAMS)
def test_samples_over_the_seams_of_chunks_and_tiles(name: str) -> None:
    text = f"input x : f64\n{SEAMS[name]}\noutput ~o"
    random = Random(name)  # noqa: S311
    values: list[Number | None] = [random.randint(-9, 9) / 8 for _ in range(1800)]
    rows: dict[str, Rows] = {"x": samples(values, 3)}
    found = grid_run(text, rows, settings=CHUNKS[1:], start=800, end=881)
    assert found[0].start == 800


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", [7, 133])
@pytest.mark.parametrize("name", ["kurtosis", "var", "max", "count"])
def test_a_constant_of_every_snapshot(name: str, size: int) -> None:
    """Parts of a state that are the same in every cell."""
    text = f"input x : f64\n~o[t] = {name}(1.208357883578266 for v in ~x[t-{size} : t])"
    values = drawn("f64", 1300, 5, size, nulls=False)
    rows: dict[str, Rows] = {"x": samples(values)}
    grid_run(f"{text}\noutput ~o", rows, settings=(GRID,), start=900, end=1000)


CONSTANTS = """
reduction mixed(v: i64) {
    init = { sum = 0, rows = 0, much = 0, top = 0, power = 1 }
    acc = {
        sum = state.sum + v, rows = state.rows + 1,
        much = state.much + 4611686018427387905, top = max(state.top, 7),
        power = state.power * 3
    }
    merge = {
        sum = a.sum + b.sum, rows = a.rows + b.rows, much = a.much + b.much,
        top = max(a.top, b.top), power = a.power * b.power
    }
    result = {
        mean = state.sum // state.rows, rows = state.rows, much = state.much,
        top = state.top, power = state.power
    }
}
input x : i64
"""


@pytest.mark.parametrize(("size", "nulls"), [(40, True), (133, False)])
def test_constants_of_user_defined_states(size: int, *, nulls: bool) -> None:
    """Those that `merge` adds up are constants in blocks, and wrap; others are not."""
    text = f"{CONSTANTS}~o[t] = mixed(~x[t-{size}:t])\noutput ~o"
    values = drawn("i32", 420, 5, size, nulls=nulls)
    rows: dict[str, Rows] = {"x": samples(values)}
    grid_run(text, rows, settings=(SMALL,), start=200, end=300)


CHAIN = """
~sum[t] = sum(~x[t-6 : t])
~low[t] = sum(~sum[t-6 : t])
~high[t] = ~low[t-16] - sum(~low[t-32 : t]) * 0.125
~slope[t] = 2.0 * ~high[t] - ~high[t-3]
~o[t] = sum(~slope[t-30 : t])
output ~o, ~low"""


@pytest.mark.parametrize("nulls", [False, True])
def test_a_long_chain_of_objects_in_step(*, nulls: bool) -> None:
    """Each is computed of what the one before it was a round ago."""
    values = drawn("f64", 1200, 5, 1200, nulls=nulls)
    rows: dict[str, Rows] = {"x": samples(values)}
    text = f"input x : f64{CHAIN}"
    grid_run(text, rows, settings=(GRID, SMALL), start=500, end=900)


def test_outputs_of_different_precision() -> None:
    text = (
        "input x : f64\nu = TDom(-∞, ∞, 4)\nw = TDom(-∞, ∞, 32)\n"
        "~a[t] = ~x[t] - mean(~x[t-7:t])\n~b[u] = max(~a[u-4:u])\n"
        "~o[w] = sum(~x[w-32:w])\noutput ~a, ~b, ~o"
    )
    random = Random(1)  # noqa: S311
    values: list[Number | None] = [random.randint(-9, 9) / 8 for _ in range(1500)]
    settings = [Setting(c, vector=True, small=True) for c in (None, 32, 64, 320)]
    grid_run(text, {"x": samples(values)}, settings=settings, start=500, end=700)


CPUS = ("x86-64", "x86-64-v2", "x86-64-v3")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names its processors")
@pytest.mark.parametrize("cpu", CPUS)
def test_other_processors_give_the_same_bits(cpu: str) -> None:
    text = (
        "input x : f32\n~d[t] = ~x[t] - ~x[t-3]\n"
        "~o[t] = { a = mean(~d[t-37:t]), b = std(~x[t-200:t]), "
        "n = ~x[t] > 0 ? 1 : φ }\n"
        "u = TDom(-∞, ∞, 50)\n~p[u] = kurtosis(~x[u-50:u])\n"
        "~w[t] = ~x[t] > mean(~x[t-9:t]) ? ~x[t] : φ\noutput ~o, ~p, ~w"
    )
    values = np.random.default_rng(1).normal(0, 1, 20_000).astype(np.float32)

    def run() -> list[object]:
        query = tilt.parse(text, options=CompileOptions(cache=False))
        result = query.run(x=tilt.sampled(values, start=0, period=1))
        return [result[name].to_arrow().to_pydict() for name in "opw"]

    expected = repr(run())
    with patch.object(jit, "host", lambda: Target(HOST.triple, cpu, "")):
        assert repr(run()) == expected


HOST = host()


@pytest.mark.few(3)
@pytest.mark.parametrize("first", [2, 40, 600, 4090])
def test_means_of_singles_round_once(first: int) -> None:
    """The sums have no error here: the quotient is the nearest `f32` there is."""
    draws = np.random.default_rng(first)
    values = draws.integers(-2048, 2048, 9000).astype(np.float32)
    sizes = range(first, first + 9)
    fields = ", ".join(f"m{n} = mean(~x[t-{n}:t])" for n in sizes)
    query = tilt.parse(f"input x : f32 sampled 1\n~o[t] = {{ {fields} }}")
    table = query.run(x=tilt.sampled(values, start=0, period=1)).to_arrow()
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    for n in sizes:
        expected = ((sums[n:] - sums[:-n]) / n).astype(np.float32)
        assert (table[f"m{n}"].to_numpy()[n - 1 :] == expected).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("bound", ["0.0", "-0.0", "1.5", "-2.0"])
def test_limits_let_nan_through_and_know_zeros(scalar: str, bound: str) -> None:
    some = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5, -2.0, 3.0, -3.0]
    values = np.array(some * 200, scalar.replace("f", "float"))
    query = tilt.parse(
        f"input x : {scalar} sampled 1\n~o[t] = {{ a = max(~x[t], {bound}), "
        f"b = max({bound}, ~x[t]), c = min(~x[t], {bound}), d = min({bound}, ~x[t]) }}"
    )
    table = query.run(x=tilt.sampled(values, start=0, period=1)).to_arrow()
    limit = float(bound)

    def in_order(value: float) -> tuple[float, float]:
        return value, math.copysign(1.0, value)

    for choose, names in ((max, "ab"), (min, "cd")):
        expected = [
            one if math.isnan(one) else choose(one, limit, key=in_order) for one in some
        ]
        for name in names:
            found = table[name].to_pylist()
            assert [repr(one) for one in found] == [repr(x) for x in expected * 200]


COARSER = {
    "two cells of one": "u = TDom(-∞, ∞, 80)\n~a[u] = sum(~x[u-80:u])\n"
    "~o[t] = ~x[t] + ~a[t] * ~a[t-80]",
    "what is missing": "u = TDom(-∞, ∞, 80)\n~a[u] = min(~x[u-80:u])\n"
    "~o[t] = ~x[t] != φ ? ~x[t] : ~a[t]",
    "a gap of its own": "u = TDom(-∞, ∞, 96)\n"
    "~a[u] = max(v for v in ~x[u-96:u] if v > 0)\n~o[t] = ~a[t] + 1",
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", COARSER)
@pytest.mark.parametrize("nulls", [False, True])
def test_a_tile_is_one_cell_of_a_coarser_object(name: str, *, nulls: bool) -> None:
    random = Random(name)  # noqa: S311
    values: list[Number | None] = [random.randint(-9, 9) / 8 for _ in range(1500)]
    for first in (160, 485, 700):  # some cells in which there is nothing at all
        length = 200 if first == 485 else 96
        values[first : first + length] = [None if nulls else -1.0] * length
    if nulls:
        values = [None if random.random() < 0.2 else value for value in values]
    text = f"input x : f32\n{COARSER[name]}\noutput ~o"
    settings = (SMALL, Setting(480, vector=True, nulls="samples", small=True))
    grid_run(text, {"x": samples(values, 3)}, settings=settings)


@pytest.mark.few(2)
@pytest.mark.parametrize("longest", [0, 1, 15, 16])
def test_costs_never_make_blocks_of_less_than_a_vector(longest: int) -> None:
    """A block of no vectors has no end: its kernel wrote beyond its arrays."""
    text = "input x : f64\nt = TDom(-∞, ∞, 1)\n" + "".join(
        f"~o{size}[t] = max(~x[t-{size} : t])\n"
        for size in (*range(1, 36, 5), 15, 17, 32, 33)
    )
    values = np.random.default_rng(1).integers(-99, 99, 20_000).astype(np.float64)
    x = tilt.sampled(values, 0, 1)
    options = costing(longest_tree=longest, longest_narrow_tree=longest)
    found = tilt.parse(text, options=options).run(x=x)
    meant = tilt.parse(text).run(x=x)
    for name, output in meant.items():
        assert found[name].to_arrow().equals(output.to_arrow()), name
