"""Moments of `f32` near the limits of the type, in every shape of a kernel.

Squares of values beyond 2^64 or below 2^-64 leave the range of `f32`, roots of them do
not: `std` and `rms` must be what the interpreter says, which computes exactly.
"""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, Value, interpret
from tiltpy.ir.nodes import Query

MAGNITUDES = (
    (3.4e38,), (3.4e38, 1.7e38), (1e38, 1.0), (2e19,), (1e-20,), (1e-27,), (1e-35,)
)  # fmt: skip
WINDOWS = ((2, 1), (3, 1), (4, 1), (8, 1), (17, 1), (50, 1), (150, 1), (40, 40))
SHAPES = {
    "sampled": lambda i: (i, i + 1),
    "spread": lambda i: (3 * i, 3 * i + 2),
    "gaps": lambda i: (i + i // 4, i + i // 4 + 1),
    "points": lambda i: (2 * i + (i % 3 == 0), 2 * i + (i % 3 == 0) + 1),
    "overlapping": lambda i: (2 * i, 2 * i + 5),
}
SETTINGS = (
    Setting(special_shapes=False),
    Setting(),
    Setting(vector=True, small=True, optimize=False),
)
MOMENTS = "std({0}), var = var({0}), rms = rms({0}), sample = std({0}, ddof=1)"
SHAPE = "skew = skew({0}), kurtosis = kurtosis({0})"


def draw(random: Random, shape: str) -> list[Event]:
    magnitudes = random.choice(MAGNITUDES)
    signs = random.choice(((1,), (1, -1)))
    found = []
    for i in range(90):
        size = random.choice(magnitudes) * random.uniform(0.5, 1.0)
        value = float(np.float32(random.choice(signs) * size))
        found.append(Event(*SHAPES[shape](i), value))
    return found


def scaled(snapshots: list[Snapshot]) -> list[Snapshot]:
    """Values with their places before the point, however small they are."""
    return [one._replace(value=_scaled(one.value)) for one in snapshots]


def _scaled(value: Value | None) -> Value:
    """Magnitudes as logarithms: what is compared is a value's own digits."""
    assert isinstance(value, dict)
    return {
        name: float(np.sign(one) * (400 + np.log2(abs(one))))
        if one is not None and np.isfinite(one) and abs(one) > 1e-37
        else (0.0 if one is not None and np.isfinite(one) else one)
        for name, one in value.items()
    }


def check(seed: int, shape: str) -> None:
    random = Random(f"{shape} {seed}")  # noqa: S311 - tests, not secrets
    cells, stride = random.choice(WINDOWS)
    window = f"~x[t-{cells} : t]"
    fields = "std = " + MOMENTS.format(window)
    if random.random() < 0.3:
        fields += ", " + SHAPE.format(window)
    grid = "" if stride == 1 else f"t = TDom(-∞, ∞, {stride})\n"
    query = parse(f"input x : f32\n{grid}~o[t] = {{ {fields} }}")
    case = Case(query, {"x": draw(random, shape)}, None, None, {})
    meant = scaled(interpret(query, case.events)["o"])
    for setting in SETTINGS:
        found = scaled(run_compiled(case, setting)["o"])
        message = differs(found, meant, query)
        assert message is None, f"{seed} {shape} {cells}, {stride}: {setting} {message}"


def differs(found: list[Snapshot], meant: list[Snapshot], query: Query) -> str | None:
    return first_difference(found, meant, query, "o", exact=False)


@pytest.mark.parametrize("shape", SHAPES)
def test_moments_near_the_limits(shape: str, *, deep: bool) -> None:
    for seed in range(300 if deep else 2):
        check(seed, shape)


@pytest.mark.parametrize("magnitude", [3.4e38, 1e-37])
def test_moments_folded_by_key(magnitude: float) -> None:
    number = np.arange(6000)
    values = (magnitude * (0.5 + number % 7 / 14) * (1 - number % 2 * 2)).astype("f4")
    query = tilt.parse(
        "input x by k : f32 time ts point\nh = TDom(-∞, ∞, 1000)\n"
        "~o[h] = { std = std(~x[h-1000 : h]), rms = rms(~x[h-1000 : h]) }"
    )
    rows = pa.table({"k": number % 3, "ts": number + 1, "x": values})
    found = query.run(x=rows).to_arrow().to_pylist()
    assert len(found) == 18
    for row in found:
        inside = (number < row["end"]) & (number >= row["end"] - 1000)
        own = values[inside & (number % 3 == row["k"])].astype(np.float64)
        assert row["std"] == pytest.approx(own.std(), rel=1e-6)
        assert row["rms"] == pytest.approx(np.sqrt((own * own).mean()), rel=1e-6)
