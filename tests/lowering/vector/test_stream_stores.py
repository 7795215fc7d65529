"""Tests of what maps over rows keep, where it goes past the caches.

Against the interpreter with basins that are full soon, over payloads of all sizes, from
where nothing is kept to where all is, in chunks and whole; against NumPy over as many
rows as it takes.
"""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import Setting
from tests.lowering.sweep.test_tumbling_rows import STREAMS
from tests.lowering.vector.test_golden_kernels import columns
from tests.plain import check_engines
from tiltpy.codegen.llvm.module import emit_module
from tiltpy.costs import DEFAULT_COSTS

CASTS = ("bool", "u16", "f32", "i64")
KEPT = {"all": -100, "half": 0, "few": 4, "none": 100}
"""Values between -5 and 5 are kept that are larger."""
WAYS = (
    Setting(small=True),
    Setting(small=True, chunk=150, workers=2),
    Setting(small=True, points=True),
)


@pytest.mark.covering(2)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("cast", CASTS)
def test_kept_values(cast: str, kept: str, stream: str) -> None:
    random = Random(f"{cast} {kept} {stream}")  # noqa: S311
    body = f"~x[t] > {KEPT[kept]} ? {cast}(~x[t]) : φ"
    text = f"input x : f64\n~o[t] = {body}\noutput ~o"
    for count in (17, 150):
        rows = STREAMS[stream](random, count)
        check_engines(text, {"x": rows}, settings=WAYS)


@pytest.mark.parametrize("stream", STREAMS)
def test_kept_structs(stream: str) -> None:
    """Each field has a bit of its own."""
    random = Random(stream)  # noqa: S311
    fields = "a = ~x[t], b = ~x[t] > 2 ? i8(~x[t]) : φ, c = ~x[t] < 3"
    text = f"input x : f64\n~o[t] = ~x[t] > -1 ? {{ {fields} }} : φ\noutput ~o"
    rows = STREAMS[stream](random, 200)
    check_engines(text, {"x": rows}, settings=WAYS)


def test_a_loop_that_spills_stores_through_the_caches() -> None:
    """It carries 192 bytes of vectors, and stores as many in each round."""
    kernel = columns().kernel
    for registers, streams in ((0, False), (1, True), (2048, True)):
        text = emit_module(kernel, registers=registers)
        assert ("!nontemporal" in text) is streams


def test_many_rows() -> None:
    """More than go through the caches, some of them several times."""
    count = DEFAULT_COSTS.streamed_bytes // 4
    random = np.random.default_rng(1)
    ends = random.integers(1, 5, count).cumsum()
    starts = ends - random.integers(1, 2, count)
    x = random.integers(-9, 9, count).astype(np.float32)
    query = tilt.parse(
        "input x : f32 interval (start, end)\n~o[t] = ~x[t] > 0 ? ~x[t] * 2 : φ"
    )
    table = pa.table({"start": starts, "end": ends, "x": x})
    for chunk in (None, 10**9):
        found = query.run(x=table, workers=1, chunk=chunk).to_arrow()
        assert np.array_equal(found["start"], starts[x > 0])
        assert np.array_equal(found["end"], ends[x > 0])
        assert np.array_equal(found["o"], x[x > 0] * 2)
